import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { LeaseHolder } from "./LeaseHolder.ts"
import { orDie } from "./SqlErrors.ts"

/** The leases of all accounts on publications, imports and jobs. There is no in-memory layer. */
export class LeasesRepo extends Context.Tag("catalog/LeasesRepo")<
  LeasesRepo,
  {
    /** Ends the leases of processes that have certainly ended, before they expire. Returns their number. */
    readonly endOfGone: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    LeasesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { isGone } = yield* LeaseHolder

      const endOfJobs = (gone: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const jobs = yield* sql<{ readonly account_id: string; readonly id: string }>`
            SELECT j.account_id, j.id FROM job j
            WHERE j.state = 'running' AND j.due_at > app_now() AND j.claimed_by = ANY(${gone}::text[])`
          for (const { account_id, id } of jobs)
            yield* sql`
              UPDATE job j SET due_at = app_now()
              WHERE j.account_id = ${account_id} AND j.id = ${id} AND j.claimed_by = ANY(${gone}::text[])`
          return jobs.length
        })

      return {
        endOfGone: Effect.gen(function* () {
          const holders = yield* sql<{ readonly name: string }>`
            SELECT claimed_by AS name FROM publication
            WHERE claim IS NOT NULL AND lease_until > app_now() AND claimed_by IS NOT NULL
            UNION
            SELECT leased_by FROM import_run
            WHERE phase IN ('fetching', 'applying') AND lease_until > app_now() AND leased_by IS NOT NULL
            UNION
            SELECT claimed_by FROM job WHERE state = 'running' AND due_at > app_now() AND claimed_by IS NOT NULL`
          const gone = holders.map(({ name }) => name).filter(isGone)
          if (gone.length === 0) return 0
          const ended = yield* sql`
            WITH publications AS (
              UPDATE publication SET lease_until = app_now()
              WHERE claim IS NOT NULL AND lease_until > app_now() AND claimed_by = ANY(${gone}::text[])
              RETURNING id
            ), imports AS (
              UPDATE import_run SET lease_until = app_now()
              WHERE phase IN ('fetching', 'applying') AND lease_until > app_now() AND leased_by = ANY(${gone}::text[])
              RETURNING id
            )
            SELECT id FROM publications UNION ALL SELECT id FROM imports`
          return ended.length + (yield* endOfJobs(gone))
        }).pipe(orDie)
      }
    })
  )
}
