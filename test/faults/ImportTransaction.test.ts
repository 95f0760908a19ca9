import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schedule } from "effect"
import { afterAll } from "vitest"
import { AccountDeletion } from "../../src/access/AccountDeletion.ts"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { Drafts } from "../../src/drafts/Drafts.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { OwnDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { Stores } from "../../src/stores/Stores.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { isServerCluster, serverAnswers } from "../support/TestDatabase.ts"
import { layerDatabase } from "./ServerServices.ts"

const folder = mkdtempSync(join(tmpdir(), "import-transaction-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const export_ = (title: string) => {
  const file = join(folder, `${title}.csv`)
  writeFileSync(file, `Handle,Title,Variant SKU,Variant Price\nhat,${title},H-1,5.00\n`)
  return file
}

const quiet = () => Effect.void
const { heldAt, layerOn } = makeHolding()

/** The planted fault: writers take the lock also while an import keeps the account locked. */
const waitingLock = Layer.effect(
  ImportLockRepo,
  Effect.map(ImportLockRepo, (lock) => ({ ...lock, share: lock.shareDuringImport, take: lock.takeDuringImport }))
)

/** Waits until a transaction of the database waits for a lock. */
const aWait = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.pipe(
    Effect.repeat({ until: (waiting) => waiting.length > 0, schedule: Schedule.spaced("10 millis") })
  )
  return "waits"
})

/** The outcomes of the first `count` writes while a transaction of an import has changed the product and does not end. */
const outcomesOf = Effect.fnUntraced(function* (count: number) {
  const { actor, stores } = yield* anAccount({ domains: ["us.example", "de.example", "fr.example", "es.example"] })
  const imports = yield* Imports
  const sql = yield* SqlClient.SqlClient
  const [store, live, other] = stores
  const review = (title: string) => imports.csv(export_(title), store.domain, quiet)
  const bulk = yield* BulkJobs
  const changes = yield* CatalogChanges
  const definitions = yield* OwnDefinitions
  const deletion = yield* AccountDeletion
  const drafts = yield* Drafts
  const publishing = yield* Publishing
  const publishJobs = yield* PublishJobs
  const linking = yield* Stores
  return yield* Effect.gen(function* () {
    yield* imports.accept((yield* review("Hat")).id, quiet)
    const [row] = yield* sql`SELECT id FROM entity WHERE account_id = ${actor.accountId} AND kind = 'product'`
    const id = EntityId.make(String(row?.id))
    yield* drafts.addStoreVersion(id, live.id)
    yield* linking.unlink("es.example")
    yield* sql`UPDATE store SET platform = 'demo' WHERE account_id = ${actor.accountId} AND id = ${live.id}`
    const title = { key: "title", value: "Cap" }
    const { draft_revision } = yield* drafts.get(id, null)
    const { fiber, goOn } = yield* heldAt("written", imports.accept((yield* review("Sun hat")).id, quiet))
    // With known sizes of tables, the planner reads the rows of all accounts, and tests the conditions of each in its own order.
    yield* anAccount()
    yield* sql`VACUUM ANALYZE import_lock`
    const setTitle = { _tag: "SetField", storeId: null, ...title } as const
    const writes = {
      "a draft": drafts.updateAttributes(id, { draft_revision, attributes: [title] }),
      "a draft of an unknown entity": drafts.updateAttributes(EntityId.make(crypto.randomUUID()), {
        draft_revision,
        attributes: [title]
      }),
      "a new store version": drafts.addStoreVersion(id, other.id),
      "several changes": changes.apply([CatalogChange.AddToStore({ entityId: id, storeId: other.id })]),
      "a repair": changes.applyRemedy([id], () => Effect.succeed({ changes: [] })),
      "a publish": publishing.request(id, live.id),
      "a publish of all": publishJobs.all(live.id),
      "a bulk change of named products": bulk.begin({ kind: "product", ids: [id] }, setTitle),
      "a definition": definitions.create({ owner_type: "product", key: "custom.care", type: "single_line_text_field" }),
      "an unlinked store": linking.beginUnlink(store.domain),
      "a store that is linked again": linking.beginLink({ domain: "es.example", currency: "EUR" }),
      "the deletion of the account": deletion.begin("Test"),
      "another import": review("Top hat")
    }
    const found = yield* Effect.forEach(Object.entries(writes).slice(0, count), ([name, write]) =>
      Effect.map(
        Effect.raceFirst(
          Effect.match(write as Effect.Effect<unknown, { readonly _tag: string }, CurrentActor>, {
            onFailure: ({ _tag }) => _tag,
            onSuccess: () => "written"
          }),
          aWait
        ),
        (outcome) => [name, outcome] as const
      )
    )
    yield* goOn
    assert.strictEqual((yield* Fiber.join(fiber)).phase, "applied")
    return Object.fromEntries(found)
  }).pipe(actingAs(actor))
})

describe.skipIf(!serverAnswers)("writes while an import locks the account", () => {
  layer(layerOn(layerDatabase(4)), { excludeTestServices: true })((it) => {
    it.effect("are refused at once, also during a long transaction of the import", () =>
      Effect.gen(function* () {
        const { "a draft of an unknown entity": unknown, "another import": another, ...others } = yield* outcomesOf(13)
        assert.strictEqual(unknown, "NotFound")
        assert.strictEqual(another, "ValidationFailed")
        assert.strictEqual(Object.keys(others).length, 11)
        for (const [name, outcome] of Object.entries(others)) assert.strictEqual(outcome, "PimLocked", name)
      })
    )
  })

  layer(layerOn(layerDatabase(8)), { excludeTestServices: true })((it) => {
    it.effect("link a new store once, also if several link it during a review", () =>
      Effect.gen(function* () {
        const { actor, stores } = yield* anAccount({ domains: ["us.example"] })
        const { link, list } = yield* Stores
        yield* Effect.gen(function* () {
          const imports = yield* Imports
          yield* imports.csv(export_("Hat"), stores[0].domain, quiet)
          for (let round = 1; round <= 20; round++) {
            const domain = `shop-${round}.example`
            const links = yield* Effect.forEach(
              Array.from({ length: 4 }),
              () =>
                Effect.match(link({ domain, currency: "EUR" }), {
                  onFailure: ({ _tag, message }) => `${_tag} ${message}`,
                  onSuccess: () => "linked"
                }),
              { concurrency: "unbounded" }
            )
            assert.deepStrictEqual(links.sort(), [
              ...Array.from({ length: 3 }, () => `ValidationFailed domain: ${domain} is already linked`),
              "linked"
            ])
          }
          assert.strictEqual((yield* list).length, 21)
        }).pipe(actingAs(actor))
      })
    )
  })

  layer(layerOn(layerDatabase(8), waitingLock), { excludeTestServices: true })((it) => {
    it.effect.skipIf(isServerCluster)("wait for a transaction of the import if they take the lock first", () =>
      Effect.gen(function* () {
        // A write that waits keeps its connection, so there is one.
        assert.deepStrictEqual(yield* outcomesOf(1), { "a draft": "waits" })
      })
    )
  })
})
