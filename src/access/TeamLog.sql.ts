import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { discardRows, findAll } from "../database/Rows.ts"
import { makeActorNames } from "../drafts/ActorNames.sql.ts"
import { authorOf } from "../drafts/History.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import { isMailed, makeSecurityMailStatements } from "./SecurityMails.sql.ts"
import { type NewTeamEvent, TeamEvent } from "./TeamLog.ts"

/** SQL statements for the record of changes of the team. */
export const makeTeamLogStatements = (sql: SqlClient) => {
  const nameOf = makeActorNames(sql)
  const { addMail } = makeSecurityMailStatements(sql)

  const readLog = findAll(TeamEvent)(
    (accountId: AccountId, before: number | undefined, limit: number) => sql`
      SELECT e.id::text AS id, rfc3339(e.at) AS at, e.action, e.email, e.role,
             json_build_object('kind', e.actor_kind, 'id', e.actor_id, 'name', e.actor_name) AS actor
      FROM team_event e
      WHERE e.account_id = ${accountId} AND e.id < coalesce(${before ?? null}::bigint, 9223372036854775807)
      ORDER BY e.id DESC
      LIMIT ${limit}`
  )

  const lastEvents = findAll(Schema.Struct({ email: Schema.String, id: Schema.String }))(
    (accountId: AccountId) => sql`
      SELECT e.email, max(e.id)::text AS id FROM team_event e
      WHERE e.account_id = ${accountId} AND e.email IS NOT NULL GROUP BY e.email`
  )

  return {
    /** Records a change of the team, and stores the mail about it. It belongs to the transaction of the change. */
    record: (actor: Actor, { action, email, role = undefined }: NewTeamEvent) => {
      const { accountId } = actor
      const { id, kind } = authorOf(actor)
      return Effect.gen(function* () {
        const name = yield* nameOf(accountId, kind, id)
        yield* discardRows(sql`
          INSERT INTO team_event (account_id, actor_kind, actor_id, actor_name, action, email, role)
          VALUES (${accountId}, ${kind}, ${id}::uuid, ${name}::text, ${action}, ${email}::text, ${role ?? null}::text)`)
        if (email !== null && isMailed(action)) yield* addMail(accountId, email, action, { kind, name })
      })
    },
    /** The changes before the one with this id, newest first; undefined: the newest. */
    readLog,
    /** The id of the newest change of each user, by e-mail. */
    lastEvents: (accountId: AccountId) =>
      Effect.map(lastEvents(accountId), (rows) => new Map(rows.map(({ email, id }) => [email, id]))),
    /** The e-mail of a user. Null: the account has no such user. */
    emailOf: (accountId: AccountId, id: UserId) => nameOf(accountId, "user", id)
  }
}
