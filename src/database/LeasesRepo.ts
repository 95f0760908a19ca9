import { SqlClient } from "@effect/sql"
import { Array as Arr, Context, Effect, Layer } from "effect"
import { AccountId } from "../model/Ids.ts"
import { LeaseHolder } from "./LeaseHolder.ts"
import { orDie } from "./SqlErrors.ts"
import { makeAnswering, makeRepairHints, makeWorkHints } from "./WorkHintsRepo.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { isGone } = yield* LeaseHolder
  const answering = yield* makeAnswering
  const repairHints = yield* makeRepairHints
  const hints = yield* Effect.all({
    publications: makeWorkHints("publication"),
    imports: makeWorkHints("import"),
    jobs: makeWorkHints("job"),
    webhooks: makeWorkHints("webhook")
  })
  return {
    /** Adds the hints of open work that are missing on a cluster. Does nothing if the tables are not distributed. */
    repairHints,
    /** Ends the leases of processes that have certainly ended, before they expire. Returns their number. */
    endOfGone: Effect.gen(function* () {
      // Without open work on a cluster there are no leases, and no node has to be asked.
      if (hints.jobs !== undefined && !(yield* hints.jobs.haveAny)) return 0
      const holders = yield* sql<{ readonly accountId: string; readonly name: string }>`
        SELECT account_id AS "accountId", claimed_by AS name FROM publication
        WHERE ${answering("account_id")} AND claim IS NOT NULL AND lease_until > app_now() AND claimed_by IS NOT NULL
        UNION
        SELECT account_id, leased_by FROM import_run
        WHERE ${answering("account_id")} AND phase IN ('fetching', 'applying') AND lease_until > app_now() AND leased_by IS NOT NULL
        UNION
        SELECT account_id, claimed_by FROM job
        WHERE ${answering("account_id")} AND state = 'running' AND due_at > app_now() AND claimed_by IS NOT NULL
        UNION
        SELECT account_id, claimed_by FROM webhook
        WHERE ${answering("account_id")} AND claim IS NOT NULL AND due_at > app_now() AND claimed_by IS NOT NULL`
      const gone = holders.filter(({ name }) => isGone(name))
      let ended = 0
      for (const [accountId, leases] of Object.entries(Arr.groupBy(gone, (lease) => lease.accountId))) {
        const names = leases.map(({ name }) => name)
        const publications = yield* sql`
          UPDATE publication SET lease_until = app_now()
          WHERE account_id = ${accountId} AND claim IS NOT NULL AND lease_until > app_now()
            AND claimed_by = ANY(${names}::text[])
          RETURNING id`
        const imports = yield* sql`
          UPDATE import_run SET lease_until = app_now()
          WHERE account_id = ${accountId} AND phase IN ('fetching', 'applying') AND lease_until > app_now()
            AND leased_by = ANY(${names}::text[])
          RETURNING id`
        const jobs = yield* sql`
          UPDATE job SET due_at = app_now()
          WHERE account_id = ${accountId} AND state = 'running' AND due_at > app_now()
            AND claimed_by = ANY(${names}::text[])
          RETURNING id`
        const webhooks = yield* sql`
          UPDATE webhook SET due_at = app_now()
          WHERE account_id = ${accountId} AND claim IS NOT NULL AND due_at > app_now()
            AND claimed_by = ANY(${names}::text[])
          RETURNING id`
        for (const [{ length }, hint] of [
          [publications, hints.publications],
          [imports, hints.imports],
          [jobs, hints.jobs],
          [webhooks, hints.webhooks]
        ] as const)
          if (length > 0 && hint !== undefined) yield* hint.add(AccountId.make(accountId))
        ended += publications.length + imports.length + jobs.length + webhooks.length
      }
      return ended
    }).pipe(orDie)
  }
})

/** The leases of all accounts on publications, imports, jobs and webhooks. There is no in-memory layer. */
export class LeasesRepo extends Context.Tag("catalog/LeasesRepo")<LeasesRepo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(LeasesRepo, make)
}
