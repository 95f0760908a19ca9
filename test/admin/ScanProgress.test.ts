import { RpcTest } from "@effect/rpc"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Layer, Option, Stream } from "effect"
import { HealthRpcs } from "../../src/admin/AdminRpcs.ts"
import { layerChosenAccounts } from "../../src/admin/ChosenAccount.ts"
import { HealthHandlers } from "../../src/admin/HealthHandlers.ts"
import { HealthRepo } from "../../src/health/HealthRepo.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { layerServer, serverAnswers } from "../support/TestDatabase.ts"

const Handlers = Layer.merge(HealthHandlers, layerChosenAccounts).pipe(
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(layerServer),
  Layer.orDie
)

describe.skipIf(!serverAnswers)("`health scan`", () => {
  it.scopedLive("reports the progress of a scan that another process runs, then its result", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* HealthRepo
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
      yield* actingAs(actor)(anEntity("product", { title: "Tent" }, { on: stores }))
      const [begun, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      // Another process has begun the scan. It holds the lock of the dimension until its progress was reported.
      yield* repo
        .tryLock(accountId, "structure")
        .pipe(Effect.zipRight(repo.scan(accountId, "structure", null)), sql.withTransaction)
      yield* repo
        .tryLock(accountId, "structure")
        .pipe(
          Effect.zipRight(Deferred.succeed(begun, undefined)),
          Effect.zipRight(Deferred.await(ended)),
          sql.withTransaction,
          Effect.forkScoped
        )
      yield* Deferred.await(begun)
      const client = yield* RpcTest.makeClient(HealthRpcs)
      const request = { account: Option.some(accountId), dimension: "structure", store: Option.none() } as const
      const events = yield* client.scanHealth(request).pipe(
        Stream.tap(({ _tag }) => (_tag === "Progress" ? Deferred.succeed(ended, undefined) : Effect.void)),
        Stream.runCollect
      )
      assert.deepStrictEqual(Option.getOrThrow(Chunk.head(events)), { _tag: "Progress", done: 0, total: 1 })
      const last = Option.getOrThrow(Chunk.last(events))
      assert.deepInclude(last._tag === "Done" ? last.snapshot : last, { dimension: "structure", scanned: true })
    }).pipe(Effect.provide(Handlers))
  )
})
