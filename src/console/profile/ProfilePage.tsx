import { languages, timeZones } from "../../access/Profile.ts"
import type { SessionRow } from "../../access/Sessions.sql.ts"
import { roleWords } from "../../model/Role.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { Facts, FieldMisfit, fieldState, type Misfit, NewPassword } from "../Field.tsx"
import { secretInput } from "../Fields.ts"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import type { Saying, Words } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { timeIn } from "../Times.ts"
import { useWords } from "../Viewer.tsx"
import { CodeField } from "./SecondFactorPages.tsx"

const Preferences = ({ visitor }: { readonly visitor: Visitor }) => {
  const t = useWords()
  return (
    <section aria-labelledby="preferences">
      <h2 id="preferences">{t("Preferences")}</h2>
      <form method="post" action={paths.profile} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <label>
          {t("Language")}
          <select name="language" aria-describedby="language-rule">
            <option value="">{t("Not chosen")}</option>
            {languages.map(({ name, tag }) => (
              <option key={tag} value={tag} lang={tag} selected={tag === visitor.language}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <p id="language-rule" class="quiet">
          {t("Without a choice, the pages are in the language that your browser prefers.")}
        </p>
        <label>
          {t("Time zone")}
          <select name="time_zone">
            <option value="">UTC</option>
            {timeZones.map((zone) => (
              <option key={zone} value={zone} selected={zone === visitor.timeZone}>
                {zone}
              </option>
            ))}
          </select>
        </label>
        <div class="buttons">
          <button type="submit">{t("Save")}</button>
        </div>
      </form>
    </section>
  )
}

/**
 * `field`: the name of the field in a problem. It distinguishes the two forms of the page, whose inputs have the same
 * name.
 */
const CurrentPassword = ({ field, misfit }: { readonly field: string; readonly misfit: Misfit | undefined }) => {
  const t = useWords()
  return (
    <>
      <label>
        {t("Current password")}
        <input
          {...secretInput("current")}
          autocomplete="current-password"
          required
          maxLength={200}
          {...fieldState(misfit, field)}
        />
      </label>
      <FieldMisfit field={field} misfit={misfit} />
    </>
  )
}

const Password = ({ misfit, visitor }: { readonly visitor: Visitor; readonly misfit: Misfit | undefined }) => {
  const t = useWords()
  return (
    <section aria-labelledby="password">
      <h2 id="password">{t("Password")}</h2>
      <form method="post" action={paths.ownPassword} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <label>
          {t("E-mail")}
          <input type="email" name="email" value={visitor.email} autocomplete="username" readOnly />
        </label>
        <CurrentPassword field="current" misfit={misfit} />
        <NewPassword state={fieldState(misfit, "password", "password-rule")} />
        <FieldMisfit field="password" misfit={misfit} />
        <p id="password-rule" class="quiet">
          {t("10 to 200 characters. It ends your other sessions.")}
        </p>
        <div class="buttons">
          <button type="submit">{t("Change the password")}</button>
        </div>
      </form>
    </section>
  )
}

/** Tells password managers whose password a form asks for. */
const UserName = ({ visitor }: { readonly visitor: Visitor }) => {
  const t = useWords()
  return (
    <input
      type="email"
      name="email"
      value={visitor.email}
      aria-label={t("E-mail")}
      autocomplete="username"
      hidden
      readOnly
    />
  )
}

const SecondFactor = ({
  codesLeft,
  isRequired,
  misfit,
  state,
  visitor
}: {
  readonly visitor: Visitor
  readonly state: "off" | "pending" | "on"
  readonly codesLeft: number
  readonly isRequired: boolean
  readonly misfit: Misfit | undefined
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="factor">
      <h2 id="factor">{t("Second factor")}</h2>
      {state === "on" ? (
        <>
          <form method="post" action={paths.renewRecoveryCodes} class="sheet fields">
            <HiddenFields csrf={visitor.csrf} />
            <p>
              {t(
                "It is on: sign-in asks for a code of your authenticator app. {left, plural, one {# of your recovery codes is} other {# of your recovery codes are}} left.",
                { left: codesLeft }
              )}
            </p>
            <CodeField misfit={misfit} rule="codes-rule" />
            <p id="codes-rule" class="quiet">
              {t("New recovery codes replace all old ones. Enter a code of your app, or one of your recovery codes.")}
            </p>
            <div class="buttons">
              <button type="submit">{t("Make new recovery codes")}</button>
            </div>
          </form>
          <form method="post" action={paths.disableSecondFactor} class="sheet fields">
            <HiddenFields csrf={visitor.csrf} />
            {isRequired && (
              <p>
                {t(
                  "Your account requires a second factor of all its users. When you switch it off, for example to change to another phone, you set up a new one at once."
                )}
              </p>
            )}
            <UserName visitor={visitor} />
            <CurrentPassword field="factor" misfit={misfit} />
            <div class="buttons">
              <button type="submit" class="danger">
                {t("Switch off")}
              </button>
            </div>
          </form>
        </>
      ) : (
        <form method="post" action={paths.secondFactor} class="sheet fields">
          <HiddenFields csrf={visitor.csrf} />
          <p>
            {t(
              "It is off. With it, sign-in also asks for a code of an authenticator app, so that a stolen password is not enough."
            )}
          </p>
          <UserName visitor={visitor} />
          <CurrentPassword field="factor" misfit={misfit} />
          <div class="buttons">
            <button type="submit">{t("Set up an authenticator app")}</button>
          </div>
        </form>
      )}
    </section>
  )
}

/** "Firefox on Windows". */
const browserOf = (t: Words, { browser, system }: SessionRow) =>
  browser !== null && system !== null
    ? t("{browser} on {system}", { browser, system })
    : (browser ?? system ?? t("Unknown browser"))

const SessionList = ({
  now,
  sessions,
  visitor
}: {
  readonly visitor: Visitor
  readonly sessions: ReadonlyArray<SessionRow>
  readonly now: number
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">{t("Sessions")}</h2>
      <ul class="records">
        {sessions.map((session) => {
          const { createdAt, hash, lastSeenAt } = session
          const isThis = hash === visitor.sessionHash
          const browser = browserOf(t, session)
          return (
            <li class="sheet" key={hash}>
              <div>
                <h3>
                  {browser}
                  {isThis && <span class="quiet"> {t("(this session)")}</span>}
                </h3>
                <Facts
                  of={[
                    [t("Signed in"), <Time at={createdAt} />],
                    [t("Last seen"), <Ago at={lastSeenAt} now={now} />]
                  ]}
                />
              </div>
              {!isThis && (
                <form method="post" action={paths.endSession}>
                  <HiddenFields csrf={visitor.csrf} />
                  <input type="hidden" name="session" value={hash} />
                  <button
                    type="submit"
                    class="plain"
                    aria-label={t("End the session of {browser} that began {time}", {
                      browser,
                      time: timeIn(createdAt, visitor)
                    })}
                  >
                    {t("End")}
                  </button>
                </form>
              )}
            </li>
          )
        })}
      </ul>
      {sessions.length > 1 && (
        <form method="post" action={paths.endOtherSessions}>
          <HiddenFields csrf={visitor.csrf} />
          <button type="submit" class="danger">
            {t("End all other sessions")}
          </button>
        </form>
      )}
    </section>
  )
}

export interface ProfileContent {
  readonly misfit?: Misfit | undefined
  readonly note?: Saying | undefined
}

export const ProfilePage = ({
  factor,
  misfit,
  note,
  now,
  sessions,
  visitor
}: ProfileContent & {
  readonly visitor: Visitor
  readonly sessions: ReadonlyArray<SessionRow>
  readonly factor: {
    readonly state: "off" | "pending" | "on"
    readonly codesLeft: number
    readonly isRequired: boolean
  }
  readonly now: number
}) => {
  const t = useWords()
  return (
    <Frame title={t("Profile")} visitor={visitor} current={paths.profile}>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      {misfit?.field === "" && (
        <Alert>
          <p>{t.say(misfit.message)}</p>
        </Alert>
      )}
      <div class="sheet">
        <Facts
          of={[
            ["E-mail", visitor.email],
            [t("Account"), <bdi>{visitor.accountName}</bdi>],
            [t("Role"), t.say(roleWords[visitor.role].name)]
          ]}
        />
      </div>
      <Preferences visitor={visitor} />
      <Password visitor={visitor} misfit={misfit} />
      <SecondFactor visitor={visitor} misfit={misfit} {...factor} />
      <SessionList visitor={visitor} sessions={sessions} now={now} />
    </Frame>
  )
}
