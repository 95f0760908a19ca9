import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, PubSub, Schema } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import { discardRows, findAll } from "../database/Rows.ts"
import { makeActorNames } from "../drafts/ActorNames.sql.ts"
import { authorOf } from "../drafts/History.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import { type GuessedCodes, type NewTeamEvent, type RecordedChange, TeamEvent } from "./TeamLog.ts"

/** SQL statements for the record of changes of the team. */
export const makeTeamLogStatements = (sql: SqlClient, recorded: PubSub.PubSub<RecordedChange | GuessedCodes>) => {
  const nameOf = makeActorNames(sql)

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
    /** Records a change of the team. It belongs to the transaction of the change, and is told to `recorded` after the commit. */
    record: (actor: Actor, { action, email, role = undefined }: NewTeamEvent) => {
      const { accountId } = actor
      const { id, kind } = authorOf(actor)
      return Effect.gen(function* () {
        const name = yield* nameOf(accountId, kind, id)
        yield* discardRows(sql`
          INSERT INTO team_event (account_id, actor_kind, actor_id, actor_name, action, email, role)
          VALUES (${accountId}, ${kind}, ${id}::uuid, ${name}::text, ${action}, ${email}::text, ${role ?? null}::text)`)
        yield* afterCommit(
          Effect.asVoid(PubSub.publish(recorded, { accountId, actor: { kind, id, name }, action, email, role }))
        )
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
