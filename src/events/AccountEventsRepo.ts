import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { ofAccount } from "../database/ClusterNodes.ts"
import { isDistributedAtStart } from "../database/Distribution.ts"
import { Notifications } from "../database/Notifications.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId } from "../model/Ids.ts"
import type { WorkKind } from "./WorkEvent.ts"

/** A text for each kind of work that differs when work of the kind has changed. */
export type WorkState = Readonly<Record<WorkKind, string>>

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const listen = yield* Notifications

  // Reads only the newest 100 jobs, because pages show no others. Each publish raises the version of the account.
  const states = findAll(
    Schema.Struct({
      publish: Schema.String,
      job: Schema.String,
      import: Schema.String,
      drop: Schema.String,
      scan: Schema.String
    })
  )(
    (accountId: AccountId) => sql`
      SELECT a.version::text AS publish,
        coalesce((
          SELECT md5(string_agg(concat_ws(' ', j.id, j.state, j.done, j.waiting_for), ',' ORDER BY j.id))
          FROM (
            SELECT o.id, o.state, o.done, o.waiting_for FROM job o
            WHERE o.account_id = ${accountId} ORDER BY o.created_at DESC LIMIT 100
          ) j
        ), '') AS job,
        coalesce((
          SELECT md5(string_agg(
            concat_ws(' ', i.id, i.phase, i.applied, i.step, i.step_done, i.updated_at, i.decision_writes), ',' ORDER BY i.id
          ))
          FROM import_run i WHERE i.account_id = ${accountId}
        ), '') AS import,
        coalesce((
          SELECT md5(string_agg(concat_ws(' ', d.id, d.status, d.next_step), ',' ORDER BY d.id))
          FROM drop d WHERE d.account_id = ${accountId}
        ), '') AS drop,
        concat(
          (SELECT sum(h.run) FROM health_snapshot h WHERE h.account_id = ${accountId}), ' ',
          (SELECT sum(b.scanned) FROM health_base b WHERE b.account_id = ${accountId})
        ) AS scan
      FROM account_state a WHERE a.account_id = ${accountId}`
  )

  const watch = (accountIds: ReadonlyArray<AccountId>) => sql`
    WITH expired AS (
      DELETE FROM watched_account w WHERE w.account_id IN (
        SELECT o.account_id FROM watched_account o
        WHERE o.watched_until < app_now() AND o.account_id <> ALL(${accountIds}::uuid[])
        FOR UPDATE SKIP LOCKED
      )
    )
    INSERT INTO watched_account AS w (account_id, watched_until)
    SELECT a.id, app_now() + interval '2 minutes' FROM unnest(${accountIds}::uuid[]) AS a (id)
    WHERE NOT EXISTS (
      SELECT FROM watched_account o WHERE o.account_id = a.id AND o.watched_until > app_now() + interval '1 minute'
    )
    ORDER BY a.id
    ON CONFLICT (account_id) DO UPDATE SET watched_until = greatest(w.watched_until, excluded.watched_until)`

  const transactions = findSingle(Schema.Struct({ oldest: Schema.BigInt, next: Schema.BigInt }))(
    () => sql`
      SELECT pg_snapshot_xmin(s)::text AS oldest, pg_snapshot_xmax(s)::text AS next FROM pg_current_snapshot() s`
  )

  return {
    /**
     * Makes triggers announce the changes of these accounts for at least a minute. Writes only rows that expire
     * earlier, so an account costs about one write a minute, however many pages and processes watch it. Deletes expired
     * rows of other accounts.
     */
    watch: (accountIds: ReadonlyArray<AccountId>) => orDie(Effect.asVoid(watch(accountIds))),
    /** The number of the oldest running transaction, and a lower bound for the number of the next one. */
    transactions: transactions(),
    /**
     * Undefined: changes are not announced. The workers of a cluster cannot notify the coordinator, and a pooler in transaction
     * mode keeps no connection that could listen.
     */
    listen: (yield* isDistributedAtStart) ? undefined : listen,
    /** Reads the state of an account's work. Undefined: there is no such account. */
    read: (accountId: AccountId) => Effect.map(states(accountId), ([state]) => state).pipe(ofAccount(accountId))
  }
})

/** Announces changes of work, and reads its state. */
export class AccountEventsRepo extends Context.Tag("catalog/AccountEventsRepo")<
  AccountEventsRepo,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(AccountEventsRepo, make)
}
