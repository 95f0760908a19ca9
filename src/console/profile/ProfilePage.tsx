import { languages, timeZones } from "../../access/Profile.ts"
import type { SessionRow } from "../../access/UsersRepo.ts"
import { roleWords } from "../../model/Role.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { Facts, FieldMisfit, fieldState, type Misfit, NewPassword } from "../Field.tsx"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { paths } from "../Paths.ts"

const Preferences = ({ visitor }: { readonly visitor: Visitor }) => (
  <section aria-labelledby="preferences">
    <h2 id="preferences">Preferences</h2>
    <form method="post" action={paths.profile} class="sheet fields">
      <HiddenFields csrf={visitor.csrf} />
      <label>
        Language
        <select name="language" aria-describedby="language-rule">
          <option value="">Not chosen</option>
          {languages.map(({ name, tag }) => (
            <option key={tag} value={tag} lang={tag} selected={tag === visitor.language}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <p id="language-rule" class="quiet">
        It is saved for a translation of the pages, which are in English today.
      </p>
      <label>
        Time zone
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
        <button type="submit">Save</button>
      </div>
    </form>
  </section>
)

/**
 * `field`: the name of the field in a problem. It distinguishes the two forms of the page, whose inputs have the same
 * name.
 */
const CurrentPassword = ({ field, misfit }: { readonly field: string; readonly misfit: Misfit | undefined }) => (
  <>
    <label>
      Current password
      <input
        type="password"
        name="current"
        autocomplete="current-password"
        required
        maxLength={200}
        {...fieldState(misfit, field)}
      />
    </label>
    <FieldMisfit field={field} misfit={misfit} />
  </>
)

const Password = ({ misfit, visitor }: { readonly visitor: Visitor; readonly misfit: Misfit | undefined }) => (
  <section aria-labelledby="password">
    <h2 id="password">Password</h2>
    <form method="post" action={paths.ownPassword} class="sheet fields">
      <HiddenFields csrf={visitor.csrf} />
      <label>
        E-mail
        <input type="email" name="email" value={visitor.email} autocomplete="username" readOnly />
      </label>
      <CurrentPassword field="current" misfit={misfit} />
      <NewPassword state={fieldState(misfit, "password", "password-rule")} />
      <FieldMisfit field="password" misfit={misfit} />
      <p id="password-rule" class="quiet">
        10 to 200 characters. It ends your other sessions.
      </p>
      <div class="buttons">
        <button type="submit">Change the password</button>
      </div>
    </form>
  </section>
)

const SecondFactor = ({
  codesLeft,
  misfit,
  state,
  visitor
}: {
  readonly visitor: Visitor
  readonly state: "off" | "pending" | "on"
  readonly codesLeft: number
  readonly misfit: Misfit | undefined
}) => (
  <section aria-labelledby="factor">
    <h2 id="factor">Second factor</h2>
    {state === "on" ? (
      <form method="post" action={paths.disableSecondFactor} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <p>
          It is on: sign-in asks for a code of your authenticator app. {codesLeft} of your recovery codes{" "}
          {codesLeft === 1 ? "is" : "are"} left.
        </p>
        <CurrentPassword field="factor" misfit={misfit} />
        <div class="buttons">
          <button type="submit" class="danger">
            Switch off
          </button>
        </div>
      </form>
    ) : (
      <form method="post" action={paths.secondFactor} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <p>
          It is off. With it, sign-in also asks for a code of an authenticator app, so that a stolen password is not
          enough.
        </p>
        <FieldMisfit field="factor" misfit={misfit} />
        <div class="buttons">
          <button type="submit">Set up an authenticator app</button>
        </div>
      </form>
    )}
  </section>
)

const SessionList = ({
  now,
  sessions,
  visitor
}: {
  readonly visitor: Visitor
  readonly sessions: ReadonlyArray<SessionRow>
  readonly now: number
}) => (
  <section aria-labelledby="sessions">
    <h2 id="sessions">Sessions</h2>
    <ul class="records">
      {sessions.map(({ createdAt, hash, lastSeenAt }) => {
        const isThis = hash === visitor.sessionHash
        return (
          <li class="sheet" key={hash}>
            <div>
              <h3>{isThis ? "This browser" : "Another browser"}</h3>
              <Facts
                of={[
                  ["Signed in", <Time at={createdAt} />],
                  ["Last seen", <Ago at={lastSeenAt} now={now} />]
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
                  aria-label={`End the session that began ${createdAt.slice(0, 10)} ${createdAt.slice(11, 19)} UTC`}
                >
                  End
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
          End all other sessions
        </button>
      </form>
    )}
  </section>
)

export interface ProfileContent {
  readonly misfit?: Misfit | undefined
  readonly note?: string | undefined
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
  readonly factor: { readonly state: "off" | "pending" | "on"; readonly codesLeft: number }
  readonly now: number
}) => (
  <Frame title="Profile" visitor={visitor} current={paths.profile}>
    {note !== undefined && <Note>{note}</Note>}
    {misfit?.field === "" && (
      <Alert>
        <p>{misfit.message}</p>
      </Alert>
    )}
    <div class="sheet">
      <Facts
        of={[
          ["E-mail", visitor.email],
          ["Account", <bdi>{visitor.accountName}</bdi>],
          ["Role", roleWords[visitor.role].name]
        ]}
      />
    </div>
    <Preferences visitor={visitor} />
    <Password visitor={visitor} misfit={misfit} />
    <SecondFactor visitor={visitor} misfit={misfit} {...factor} />
    <SessionList visitor={visitor} sessions={sessions} now={now} />
  </Frame>
)
