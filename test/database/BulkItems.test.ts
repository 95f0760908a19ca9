import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { noRevision } from "../../src/bulk/BulkChange.ts"
import { BulkItemsRepo } from "../../src/bulk/BulkItemsRepo.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

const Live = Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(anyDatabase), Layer.orDie)

describe("the entities of a bulk change", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect(
      "are added again if the INSERT found no rows because the account moves, and are not taken for deleted",
      () =>
        Effect.gen(function* () {
          const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
          const existing = yield* Effect.replicateEffect(anEntity("product", { title: "A" }, { on: stores }), 2).pipe(
            actingAs(actor)
          )
          const ids = [...existing, yield* mintId(EntityId)]
          const sql = yield* SqlClient.SqlClient
          const { stage, take } = yield* BulkItemsRepo
          const { run } = yield* Transaction
          const jobs = yield* Jobs
          for (const asOfBegin of [false, true]) {
            const { id } = yield* jobs
              .begin({ kind: "bulk_change", title: "Change", subject: null, input: {}, total: 3 })
              .pipe(actingAs(actor))
            let attempts = 0
            const count = yield* run(
              Effect.gen(function* () {
                attempts += 1
                // As at a node that the account has left: its rows are not there.
                if (attempts === 1)
                  for (const table of ["account_state", "entity"])
                    yield* sql`CREATE TEMPORARY TABLE ${sql(table)} (LIKE public.${sql(table)})`
                return yield* stage(accountId, id, { kind: "product", ids, after: 0, asOfBegin })
              })
            )
            assert.deepStrictEqual([count, attempts], [2, 2])
            const taken = yield* take(accountId, id, 10)
            assert.deepStrictEqual(
              taken.map((item) => [item.id, item.revision === noRevision]),
              ids.map((each, index) => [each, index === 2])
            )
          }
        })
    )
  })
})
