import type { Delivery } from "../../access/Mailer.ts"
import { type User, userState } from "../../access/User.ts"
import { Role, roleWords } from "../../model/Role.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { CopyText, Facts, FieldMisfit, fieldState, type Misfit } from "../Field.tsx"
import { Alert, Frame, Hidden, HiddenFields, Note } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { type ShownLog, TeamChanges } from "./TeamChanges.tsx"

/** `id`: a random text by which the form is recognised when it is sent twice. */
export interface InviteForm {
  readonly id: string
  readonly email: string
  readonly role: Role
}

export const newInvite = (): InviteForm => ({ id: crypto.randomUUID(), email: "", role: "view" })

/** A new link, which is shown only once. `mail`: whether it was sent by mail; `repeated`: the same form was sent before. */
export interface NewLink {
  readonly email: string
  readonly url: string
  readonly days: number
  readonly mail: Delivery | { readonly state: "repeated" }
}

const mailWords = {
  sent: "It was sent by mail. You can also pass it on yourself.",
  waiting:
    "The mail server did not accept the mail yet ({reason}). It is sent again automatically. You can also pass the link on yourself.",
  refused: "The mail was not delivered ({reason}). Pass the link on yourself.",
  off: "Pass it on to them.",
  repeated: "The form was sent twice; its mail is sent once. You can also pass the link on yourself."
} as const satisfies Readonly<Record<NewLink["mail"]["state"], Sentence>>

/** Why the mail with the user's link was not delivered. */
const MailProblem = ({ user: { isMailWaiting, mailProblem } }: { readonly user: User }) => {
  const t = useWords()
  if (mailProblem === null) return null
  const reason = <bdi>{t.say(mailProblem)}</bdi>
  return (
    <p class="wrong">
      {t.rich(
        isMailWaiting
          ? "The mail with the link is not delivered yet ({reason}). It is sent again automatically."
          : "The mail with the link was not delivered ({reason}). Make a new link and pass it on yourself.",
        { reason }
      )}
    </p>
  )
}

const LinkNote = ({ link: { days, email, mail, url } }: { readonly link: NewLink }) => {
  const t = useWords()
  return (
    <Note>
      <p>
        {t.rich(
          "Link for {email} to set a password. It is valid once, for {days, plural, one {one day} other {# days}}.",
          {
            email: (
              <strong>
                <bdi>{email}</bdi>
              </strong>
            ),
            days
          }
        )}{" "}
        {t(mailWords[mail.state], "reason" in mail ? { reason: t.say(mail.reason) } : {})}
      </p>
      <CopyText id="new-link" label={t("Link (shown only once)")} text={url} />
    </Note>
  )
}

const RoleChoices = ({ chosen }: { readonly chosen: Role }) => {
  const t = useWords()
  return (
    <fieldset>
      <legend>{t("Role")}</legend>
      {Role.literals.map((role) => (
        <label class="choice" key={role}>
          <input type="radio" name="role" value={role} checked={role === chosen} />
          <strong>{t.say(roleWords[role].name)}</strong> <span class="quiet">{t.say(roleWords[role].meaning)}</span>
        </label>
      ))}
    </fieldset>
  )
}

const Invite = ({
  form,
  misfit,
  visitor
}: {
  readonly visitor: Visitor
  readonly form: InviteForm
  readonly misfit: Misfit | undefined
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="invite">
      <h2 id="invite">{t("Invite a colleague")}</h2>
      <form method="post" action={paths.team} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} />
        <input type="hidden" name="form" value={form.id} />
        <label>
          {t("E-mail")}
          <input
            type="email"
            name="email"
            value={form.email}
            autocomplete="off"
            required
            maxLength={254}
            {...fieldState(misfit, "email")}
          />
        </label>
        <FieldMisfit field="email" misfit={misfit} />
        <RoleChoices chosen={form.role} />
        <div class="buttons">
          <button type="submit">{t("Invite")}</button>
        </div>
      </form>
    </section>
  )
}

/** A button that changes a user. `ask`: it opens a page that asks for confirmation. */
const UserButton = ({
  ask = false,
  email,
  form,
  id,
  name,
  path,
  visitor
}: {
  readonly visitor: Visitor
  readonly id: User["id"]
  /** By what the form is recognised when it is sent twice. */
  readonly form?: string | undefined
  readonly email: string
  readonly name: Sentence
  readonly path: string
  readonly ask?: boolean
}) => {
  const t = useWords()
  return (
    <form method={ask ? "get" : "post"} action={path}>
      {ask ? <input type="hidden" name="id" value={id} /> : <HiddenFields csrf={visitor.csrf} id={id} />}
      <Hidden of={[["form", form]]} />
      <button type="submit" class={ask ? "danger" : "plain"} aria-label={`${t(name)}: ${email}`}>
        {t(name)}
      </button>
    </form>
  )
}

const stateWords = { invited: "Invited", active: "Active", disabled: "Disabled" } as const satisfies Readonly<
  Record<string, Sentence>
>

const Member = ({
  lastEvent,
  now,
  user,
  visitor
}: {
  readonly visitor: Visitor
  readonly user: User
  readonly lastEvent: string | undefined
  readonly now: number
}) => {
  const t = useWords()

  const state = userState(user)
  const isOwn = user.id === visitor.userId
  const button = { visitor, id: user.id, email: user.email }
  return (
    <li class="sheet">
      <div>
        <h3>
          <bdi>{user.email}</bdi>
          {isOwn && <span class="quiet"> {t("(you)")}</span>}
        </h3>
        <Facts
          of={[
            [t("State"), t(stateWords[state])],
            [t("Last seen"), user.lastSeenAt === null ? t("never") : <Ago at={user.lastSeenAt} now={now} />],
            state === "invited" &&
              (user.linkExpiresAt === null
                ? [t("Invitation"), t("has expired")]
                : [t("Invitation ends"), <Ago at={user.linkExpiresAt} now={now} />]),
            [t("Second factor"), user.hasSecondFactor ? t("on") : t("off")]
          ]}
        />
        <MailProblem user={user} />
        <form method="post" action={paths.teamRole} class="line">
          <HiddenFields csrf={visitor.csrf} id={user.id} />
          <label>
            {t("Role")}
            <select name="role" aria-label={t("Role of {user}", { user: user.email })}>
              {Role.literals.map((role) => (
                <option key={role} value={role} selected={role === user.role}>
                  {t.say(roleWords[role].name)}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" class="plain" aria-label={t("Save the role of {user}", { user: user.email })}>
            {t("Save")}
          </button>
        </form>
      </div>
      <div class="buttons">
        {state === "disabled" ? (
          <UserButton {...button} name="Enable" path={paths.enableUser} />
        ) : (
          !isOwn && (
            <UserButton
              {...button}
              name={state === "invited" ? "New invitation" : "New password link"}
              path={paths.teamLink}
              form={lastEvent}
            />
          )
        )}
        {user.hasSecondFactor && !isOwn && (
          <UserButton {...button} name="Reset second factor" path={paths.resetSecondFactor} ask />
        )}
        {state === "invited" && user.lastSeenAt === null ? (
          <UserButton {...button} name="Cancel invitation" path={paths.cancelInvitation} ask />
        ) : (
          state !== "disabled" && <UserButton {...button} name="Disable" path={paths.disableUser} ask />
        )}
      </div>
    </li>
  )
}

/** Whether all users need a second factor, and the button that changes it after a confirmation. */
const FactorOfAll = ({ hasOwn, isRequired }: { readonly hasOwn: boolean; readonly isRequired: boolean }) => {
  const t = useWords()
  return (
    <section aria-labelledby="factor-of-all">
      <h2 id="factor-of-all">{t("Second factor of all users")}</h2>
      <form method="get" action={isRequired ? paths.releaseSecondFactor : paths.requireSecondFactor} class="sheet">
        <p>
          {isRequired
            ? t("It is required: a user without one sets it up at sign-in, before anything else.")
            : t("It is not required: each user decides. With it, a stolen password is not enough to sign in.")}
        </p>
        {isRequired || hasOwn ? (
          <div class="buttons">
            <button type="submit" class="plain">
              {isRequired ? t("No longer require it") : t("Require a second factor")}
            </button>
          </div>
        ) : (
          <p>
            {t.rich("To require it, <link>set up your own second factor</link> first.", {
              link: (words) => <a href={`${paths.profile}#factor`}>{words}</a>
            })}
          </p>
        )}
      </form>
    </section>
  )
}

export interface TeamContent {
  readonly form: InviteForm
  readonly misfit?: Misfit | undefined
  /** Why a change of a user was refused. */
  readonly refusal?: string | undefined
  readonly link?: NewLink | undefined
  readonly note?: string | undefined
}

export const TeamPage = ({
  form,
  isFactorRequired,
  lastEvents,
  link,
  log,
  misfit,
  note,
  now,
  refusal,
  users,
  visitor
}: TeamContent & {
  readonly visitor: Visitor
  readonly users: ReadonlyArray<User>
  /** The id of the newest change of each user, by e-mail. */
  readonly lastEvents: ReadonlyMap<string, string>
  readonly isFactorRequired: boolean
  readonly log: ShownLog
  readonly now: number
}) => {
  const t = useWords()
  return (
    <Frame title={t("Team")} visitor={visitor} current={paths.team} total={t.number(users.length)}>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      {refusal !== undefined && (
        <Alert>
          <p>{t.say(refusal)}</p>
        </Alert>
      )}
      {link !== undefined && <LinkNote link={link} />}
      <section aria-labelledby="users">
        <h2 id="users">{t("Users")}</h2>
        <ul class="records">
          {users.map((user) => (
            <Member key={user.id} visitor={visitor} user={user} lastEvent={lastEvents.get(user.email)} now={now} />
          ))}
        </ul>
      </section>
      <Invite visitor={visitor} form={form} misfit={misfit} />
      <FactorOfAll
        isRequired={isFactorRequired}
        hasOwn={users.some(({ hasSecondFactor, id }) => id === visitor.userId && hasSecondFactor)}
      />
      <TeamChanges {...log} />
    </Frame>
  )
}
