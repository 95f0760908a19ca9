import type { TeamAction, TeamEvent } from "../../access/TeamLog.ts"
import { roleWords } from "../../model/Role.ts"
import { Time } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { actorName } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"

/** A page of the changes of the team. `before`: the id of the change that it continues after; undefined: it begins with the newest. */
export interface ShownLog {
  readonly changes: ReadonlyArray<TeamEvent>
  readonly hasOlder: boolean
  readonly before: number | undefined
}

/** What a change did. Sentences about the whole account have no user. */
export const actionWords = {
  invited: "Invited {user} with the role {role}",
  link_made: "Made a link for {user} to set a password",
  invitation_cancelled: "Cancelled the invitation of {user}",
  joined: "{user} joined the team",
  password_set: "{user} set a new password",
  role_changed: "Gave {user} the role {role}",
  disabled: "Disabled {user} and signed them out",
  enabled: "Enabled {user}",
  address_freed: "Freed the e-mail address of {user} and disabled them",
  second_factor_on: "{user} switched the second factor on",
  second_factor_off: "{user} switched the second factor off",
  second_factor_reset: "Reset the second factor of {user}",
  recovery_codes_renewed: "{user} made new recovery codes",
  second_factor_required: "Required a second factor of all users",
  second_factor_optional: "No longer required a second factor",
  sessions_ended: "{user} ended other sessions of their own"
} as const satisfies Readonly<Record<TeamAction, Sentence>>

/** The changes of the team, newest first. */
export const TeamChanges = ({ before, changes, hasOlder }: ShownLog) => {
  const t = useWords()
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">{t("Changes of the team")}</h2>
      {changes.length === 0 ? (
        <p class="quiet">{t("No changes are recorded.")}</p>
      ) : (
        <Table
          labelledBy="changes"
          columns={[t("When"), t("Change"), t("By")]}
          rows={changes.map(({ action, actor, at, email, id, role }) => ({
            key: String(id),
            cells: [
              <Time key="at" at={at} />,
              t.rich(actionWords[action], {
                user: <bdi>{email}</bdi>,
                role: role === null ? "" : t.say(roleWords[role].name)
              }),
              <bdi key="by">{actorName(t, actor)}</bdi>
            ]
          }))}
        />
      )}
      <p class="buttons">
        {before !== undefined && <a href={`${paths.team}#changes`}>{t("Newest changes")}</a>}
        {hasOlder && <a href={`${paths.team}?before=${changes.at(-1)?.id}#changes`}>{t("Older changes")}</a>}
      </p>
    </section>
  )
}
