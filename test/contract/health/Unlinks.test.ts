import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { Transaction } from "../../../src/database/Transaction.ts"
import { DataHealth } from "../../../src/health/DataHealth.ts"
import { HealthSnapshot } from "../../../src/health/Health.ts"
import { HealthRepo } from "../../../src/health/HealthRepo.ts"
import { layerScanAfterStoreJob } from "../../../src/health/ScanAfterStoreJob.ts"
import type { AccountId } from "../../../src/model/Ids.ts"
import { StoreJobHook } from "../../../src/stores/StoreJobHook.ts"
import { StoresRepo } from "../../../src/stores/StoresRepo.ts"
import { actingAs, anAccount } from "../../../src/testing/index.ts"
import { serviceEngines } from "../../support/ServiceEngines.ts"

const decode = Schema.decode(Schema.parseJson(HealthSnapshot))

/** `DataHealth` in whose first scan `between` runs after the last step, before the snapshot is read. */
const healthWith = (between: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    let reads = 0
    const Interrupted = Layer.effect(
      HealthRepo,
      Effect.map(HealthRepo, (repo) => ({
        ...repo,
        snapshots: (...scope: Parameters<typeof repo.snapshots>) =>
          Effect.zipRight(
            Effect.suspend(() => (reads++ === 0 ? between : Effect.void)),
            repo.snapshots(...scope)
          )
      }))
    )
    return Context.get(yield* Layer.build(DataHealth.layer.pipe(Layer.provide(Interrupted))), DataHealth)
  })

/** The version of the account, as a scan reads it. */
const versionOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const repo = yield* HealthRepo
    const transaction = yield* Transaction
    const step = transaction.run(repo.scan(accountId, "media", null))
    yield* Effect.repeat(step, { until: ({ run }) => run !== null })
    const snapshot = yield* decode((yield* repo.snapshots(accountId, null)).get("media") ?? "")
    return snapshot.scanned ? snapshot.as_of_version : assert.fail("not scanned")
  })

for (const engine of serviceEngines)
  describe.skipIf(engine.absent)(`data health while a store is unlinked on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.scoped("a scan runs again if its snapshot is deleted, unless its own store was unlinked", () =>
        Effect.gen(function* () {
          const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          const repo = yield* HealthRepo
          const links = yield* StoresRepo
          const transaction = yield* Transaction
          const [a, b] = stores
          const unlink = Effect.zipRight(links.unlink(accountId, b.id), repo.forgetStore(accountId, b.id))
          const scan = (...scope: Parameters<(typeof DataHealth.Service)["scan"]>) =>
            Effect.flatMap(healthWith(transaction.run(unlink)), (health) => health.scan(...scope)).pipe(actingAs(actor))

          assert.strictEqual((yield* Effect.flip(scan("completeness", b.id)))._tag, "NotFound")
          yield* links.link(accountId, b)
          assert.strictEqual((yield* Effect.flip(scan("structure", b.id)))._tag, "NotFound")
          yield* links.link(accountId, b)
          assert.isTrue((yield* decode((yield* scan("completeness", a.id)).text)).scanned)
          yield* links.link(accountId, b)
          assert.isTrue((yield* decode((yield* scan("completeness")).text)).scanned)
        })
      )

      it.scoped("deleting the snapshots raises the account's version", () =>
        Effect.gen(function* () {
          const { accountId, stores } = yield* anAccount({ domains: ["a.example"] })
          const transaction = yield* Transaction
          const context = yield* Layer.build(layerScanAfterStoreJob)
          const before = yield* versionOf(accountId)
          yield* transaction.run(Context.get(context, StoreJobHook).onUnlinkEnded(accountId, stores[0].id))
          assert.strictEqual(yield* versionOf(accountId), before + 1)
        })
      )
    })
  })
