import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import type { BulkChange } from "../../src/bulk/BulkChange.ts"
import { BulkJobs, maxNamedEntities } from "../../src/bulk/BulkJobs.ts"
import type { MerchantFilters } from "../../src/catalog/MerchantLists.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import type { Actor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import type { NotFound, PimLocked, ValidationFailed } from "../../src/model/Errors.ts"
import { ApiKeyId, EntityId, ImportId, JobId, StoreId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  definedAs,
  OwnDefinitions,
  Stores
} from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"
import { unknownKey } from "./DraftValues.ts"

const nobody = EntityId.make("00000000-0000-4000-8000-00000000dead")
const nowhere = StoreId.make("00000000-0000-4000-8000-00000000beef")
const quiet = () => Effect.void

const setField = (key: string, value: string | null, storeId: StoreId | null = null): BulkChange => ({
  _tag: "SetField",
  key,
  value,
  storeId
})

const begin = (ids: ReadonlyArray<EntityId>, change: BulkChange, kind: EntityKind = "product", id?: JobId) =>
  Effect.flatMap(BulkJobs, (jobs) => jobs.begin({ kind, ids }, change, id))

const beginFound = (filters: MerchantFilters, count: number, change: BulkChange) =>
  Effect.flatMap(BulkJobs, (jobs) => jobs.begin({ kind: "product", filters, count }, change))

/** Products named Peg 0, Peg 1 and so on. */
const somePegs = (count: number) =>
  Effect.gen(function* () {
    const ids = yield* Effect.replicateEffect(mintId(EntityId), count)
    yield* apply(
      ...ids.map((id, index) =>
        CatalogChange.CreateEntity({
          id,
          kind: "product",
          parentId: null,
          values: { title: `Peg ${index}`, vendor: "Peg & Co" }
        })
      )
    )
    return ids
  })

/** Runs a job to its end. */
const finish = (id: JobId) =>
  Effect.map(
    Effect.flatMap(JobWorker, (worker) => worker.settle(id, quiet)),
    Option.getOrThrow
  )

const run = (...given: Parameters<typeof begin>) => Effect.flatMap(begin(...given), ({ id }) => finish(id))

const issuesOf = <R>(refused: Effect.Effect<unknown, NotFound | PimLocked | ValidationFailed, R>) =>
  Effect.map(Effect.flip(refused), (error) => (error._tag === "ValidationFailed" ? error.issues : error._tag))

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

/** The revision of a draft and its value of a key. */
const valueOf = (id: EntityId, key: string, storeId: StoreId | null = null) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => Effect.orDie(drafts.get(id, storeId))),
    ({ attributes, draft_revision, overridden }) => ({
      revision: draft_revision,
      value: attributes.find((each) => each.key === key)?.value,
      isOwn: overridden.includes(key)
    })
  )

const aShop = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [a, b] = stores
  return yield* Effect.gen(function* () {
    yield* definedAs("product", { "care.level": "number_integer" })
    const tent = yield* anEntity("product", { title: "Tent", vendor: "Fell" }, { on: [a, b] })
    const stove = yield* anEntity("product", { title: "Stove" }, { on: [a] })
    const lamp = yield* anEntity("product", {})
    return { accountId, actor, a, b, tent, stove, lamp }
  }).pipe(actingAs(actor))
})

type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`bulk changes on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("a canonical value is set on each entity once, as a draft with the actor in its history", () =>
        inShop(({ accountId, lamp, stove, tent }) =>
          Effect.gen(function* () {
            const actor: Actor = { _tag: "Key", accountId, keyId: yield* mintId(ApiKeyId) }
            const job = yield* run([tent, stove, tent, lamp], setField("vendor", "Fell")).pipe(actingAs(actor))
            assert.deepInclude(job, {
              kind: "bulk_change",
              title: "Set vendor of 3 products",
              state: "done",
              done: 3,
              total: 3,
              result: { changed: 2, unchanged: 1, refused: 0 },
              errors: []
            })
            for (const [id, revision] of [
              [tent, 1],
              [stove, 2],
              [lamp, 2]
            ] as const)
              assert.deepStrictEqual(yield* valueOf(id, "vendor"), { revision, value: "Fell", isOwn: false })
            const [newest] = yield* (yield* Drafts).history(stove, 10)
            assert.deepInclude(newest, { draft_revision: 2, store_id: null })
            assert.strictEqual(newest?.actor.kind, "key")
            assert.deepStrictEqual(newest?.changes, [{ key: "vendor", old: null, new: "Fell" }])
            const cleared = yield* run([tent], setField("vendor", null))
            assert.deepInclude(cleared, {
              title: "Clear vendor of 1 product",
              result: { changed: 1, unchanged: 0, refused: 0 }
            })
            assert.deepInclude(yield* valueOf(tent, "vendor"), { revision: 2, value: "" })
          })
        )
      )

      it.effect(
        "the override of one store is set and cleared; entities that are not on the store are refused and listed",
        () =>
          inShop(({ b, lamp, stove, tent }) =>
            Effect.gen(function* () {
              const set = yield* run([stove, tent, lamp], setField("title", "Zelt", b.id))
              assert.deepInclude(set, {
                title: "Set title of 3 products on b.example",
                state: "done",
                done: 3,
                result: { changed: 1, unchanged: 0, refused: 2 },
                error_count: 2,
                errors: [
                  { item: "product Stove", message: "the product is not on this store" },
                  { item: `product ${lamp}`, message: "the product is not on this store" }
                ]
              })
              assert.deepStrictEqual(yield* valueOf(tent, "title", b.id), { revision: 2, value: "Zelt", isOwn: true })
              assert.strictEqual((yield* valueOf(tent, "title")).value, "Tent")
              const cleared = yield* run([tent], setField("title", null, b.id))
              assert.deepInclude(cleared, { title: "Clear title of 1 product on b.example" })
              assert.deepStrictEqual(yield* valueOf(tent, "title", b.id), { revision: 3, value: "Tent", isOwn: false })
            })
          )
      )

      it.effect("a draft that somebody changed after the job was begun is refused, listed, and not overwritten", () =>
        inShop(({ stove, tent }) =>
          Effect.gen(function* () {
            const { id } = yield* begin([tent, stove], setField("vendor", "Fell & Sons"))
            yield* apply(CatalogChange.SetAttributes({ entityId: tent, values: { vendor: "Newer" } }))
            assert.deepInclude(yield* finish(id), {
              state: "done",
              result: { changed: 1, unchanged: 0, refused: 1 },
              errors: [
                {
                  item: "product Tent",
                  message:
                    "somebody changed the draft after the job was begun, so it was not overwritten: its revision is 2, not 1"
                }
              ]
            })
            assert.deepInclude(yield* valueOf(tent, "vendor"), { revision: 2, value: "Newer" })
            assert.deepInclude(yield* valueOf(stove, "vendor"), { revision: 2, value: "Fell & Sons" })
          })
        )
      )

      it.effect(
        "a value that no longer fits, because the definition was changed after the begin, is refused and listed",
        () =>
          inShop(({ stove, tent }) =>
            Effect.gen(function* () {
              const { id } = yield* begin([tent, stove], setField("care.level", "30"))
              yield* (yield* OwnDefinitions).setType({ owner_type: "product", key: "care.level", type: "boolean" })
              const message = "must be true or false"
              assert.deepInclude(yield* finish(id), {
                state: "done",
                result: { changed: 0, unchanged: 0, refused: 2 },
                errors: [
                  { item: "product Tent", message },
                  { item: "product Stove", message }
                ]
              })
              assert.deepInclude(yield* valueOf(tent, "vendor"), { revision: 1 })
            })
          )
      )

      it.effect("entities are added to a store, products with their variants; those that are there do not change", () =>
        inShop(({ a, b, lamp, stove, tent }) =>
          Effect.gen(function* () {
            const variant = yield* anEntity("variant", { sku: "S-1" }, { of: stove })
            const picture = yield* anEntity("media", { url: "https://cdn.example/both.png" })
            const entries = [{ mediaId: picture, storeIds: [a.id] }]
            yield* (yield* CatalogChanges)
              .apply([stove, lamp].map((entityId) => CatalogChange.SetGallery({ entityId, entries })))
              .pipe(Effect.orDie)
            const job = yield* run([tent, stove, lamp], { _tag: "AddToStore", storeId: b.id })
            assert.deepInclude(job, {
              title: "Add 3 products to b.example",
              state: "done",
              result: { changed: 2, unchanged: 1, refused: 0 }
            })
            for (const id of [stove, lamp, variant])
              assert.strictEqual((yield* Effect.orDie((yield* Drafts).get(id, b.id))).store_id, b.id)
            // Both show the picture, which is on the store now.
            for (const [id, storeIds] of [
              [stove, [a.id, b.id]],
              [lamp, [b.id]]
            ] as const) {
              const { gallery } = yield* Effect.orDie((yield* Drafts).sheet(id))
              assert.deepStrictEqual(gallery, [{ mediaId: picture, storeIds }])
            }
            assert.isTrue(Exit.isSuccess(yield* Effect.exit((yield* Drafts).get(picture, b.id))))
            const other = yield* anEntity("product", { title: "Other" })
            const child = yield* anEntity("variant", { sku: "O-1", title: "Small" }, { of: other })
            assert.deepInclude(yield* run([variant, child], { _tag: "AddToStore", storeId: a.id }, "variant"), {
              title: "Add 2 variants to a.example",
              result: { changed: 1, unchanged: 0, refused: 1 },
              errors: [
                {
                  item: "variant Other: Small, O-1",
                  message: `the variant's product ${other} is not on this store: add the product first`
                }
              ]
            })
          })
        )
      )

      it.effect("entities that do not exist are listed, whatever their ids are of, and the others are changed", () =>
        inShop(({ b, lamp, stove, tent }) =>
          Effect.gen(function* () {
            const variant = yield* anEntity("variant", { sku: "S-1" }, { of: yield* anEntity("product", {}) })
            const stranger = yield* aShop
            const ids = [nobody, stranger.tent, variant]
            const deleted = yield* anEntity("product", { title: "Gone" })
            yield* run([deleted], { _tag: "Delete" })
            const onB = { storeId: b.id }
            for (const [change, id] of [
              [setField("vendor", "Tarn"), tent],
              [{ _tag: "AddToStore", ...onB }, stove],
              [{ _tag: "RemoveFromStore", ...onB }, stove],
              [{ _tag: "Delete" }, lamp]
            ] as const) {
              const job = yield* run([deleted, id, ...ids], change)
              assert.deepInclude(job, {
                state: "done",
                done: 5,
                total: 5,
                result: { changed: 1, unchanged: 0, refused: 4 },
                error_count: 4
              })
              assert.sameDeepMembers(
                [...job.errors],
                [deleted, ...ids].map((each) => ({ item: `product ${each}`, message: "it no longer exists" }))
              )
            }
            assert.deepInclude(yield* valueOf(variant, "sku"), { revision: 1, value: "S-1" })
            assert.deepInclude(yield* valueOf(stranger.tent, "vendor").pipe(actingAs(stranger.actor)), {
              value: "Fell"
            })
          })
        )
      )

      it.effect("values of a metafield whose definition was deleted are removed, but not set", () =>
        inShop(({ a, lamp, stove, tent }) =>
          Effect.gen(function* () {
            const definitions = yield* OwnDefinitions
            const given = { owner_type: "product", key: "care.gone", type: "number_integer" } as const
            yield* definitions.create(given)
            yield* run([tent], setField("care.gone", "1"))
            yield* run([stove], setField("care.gone", "2", a.id))
            yield* definitions.delete(given)
            assert.match(
              JSON.stringify(yield* issuesOf(begin([tent], setField("care.gone", "3")))),
              /"path":"field","message":"is an unknown key/
            )
            const counts = (...ran: Parameters<typeof run>) => Effect.map(run(...ran), ({ result }) => result)
            const all = [tent, stove, lamp]
            const one = { changed: 1, unchanged: 2, refused: 0 }
            assert.deepStrictEqual(yield* counts(all, setField("care.gone", null)), one)
            assert.deepStrictEqual(yield* counts([tent, stove], setField("care.gone", null, a.id)), {
              ...one,
              unchanged: 1
            })
            assert.deepStrictEqual(yield* counts(all, setField("care.gone", null)), {
              ...one,
              changed: 0,
              unchanged: 3
            })
            for (const id of [tent, stove]) assert.isUndefined((yield* valueOf(id, "care.gone", a.id)).value)
          })
        )
      )

      it.effect("refusals at the begin name what is wrong, and begin no job", () =>
        inShop(({ a, tent }) =>
          Effect.gen(function* () {
            const variant = yield* anEntity("variant", { sku: "T-1" }, { of: tent })
            assert.deepStrictEqual(yield* issuesOf(begin([], setField("vendor", "x"))), [
              { path: "", message: "no product is selected" }
            ])
            assert.deepStrictEqual(yield* issuesOf(begin([tent], setField("colour", "x"))), [
              { path: "field", message: unknownKey("product", "", "care.level") }
            ])
            assert.deepStrictEqual(yield* issuesOf(begin([tent], setField("status", "gone"))), [
              { path: "value", message: "must be one of active, draft, archived, unlisted" }
            ])
            assert.match(
              JSON.stringify(yield* issuesOf(begin([tent], setField("options", "x")))),
              /"path":"field","message":"is read-only; the allowed keys are/
            )
            for (const refused of [
              begin([tent], setField("vendor", "x", nowhere)),
              begin([tent], { _tag: "AddToStore", storeId: nowhere })
            ])
              assert.strictEqual(yield* issuesOf(refused), "NotFound")
            const stranger = yield* aShop
            for (const id of [nobody, variant, stranger.tent])
              for (const change of [
                setField("title", "x"),
                { _tag: "AddToStore", storeId: a.id },
                { _tag: "RemoveFromStore", storeId: a.id },
                { _tag: "Delete" }
              ] as const)
                assert.deepStrictEqual(yield* issuesOf(begin([id], change)), [
                  { path: "", message: "nothing that was selected exists any more" }
                ])
            const many = Array.from({ length: maxNamedEntities + 1 }, (_, index) =>
              EntityId.make(`00000000-0000-4000-8000-${String(index).padStart(12, "0")}`)
            )
            assert.deepStrictEqual(yield* issuesOf(begin(many, setField("vendor", "x"))), [
              {
                path: "",
                message: "10,001 products are named: name at most 10,000 one by one, or filter the list"
              }
            ])
            assert.deepStrictEqual(yield* (yield* Jobs).list, [])
            assert.deepInclude(yield* valueOf(tent, "vendor"), { revision: 2, value: "Fell" })
          })
        )
      )

      it.effect(
        "all entities that filters find are collected in steps and changed once; the others stay as they are",
        () =>
          inShop(({ stove, tent }) =>
            Effect.gen(function* () {
              const pegs = yield* somePegs(130)
              const { id } = yield* beginFound({ vendor: "Peg & Co" }, pegs.length, setField("vendor", "Fell & Sons"))
              assert.deepInclude(yield* (yield* Jobs).get(id), {
                title: "Set vendor of 130 products",
                state: "queued",
                done: 0,
                total: 130
              })
              assert.deepInclude(yield* finish(id), {
                state: "done",
                done: 130,
                total: 130,
                result: { changed: 130, unchanged: 0, refused: 0 },
                errors: []
              })
              for (const peg of pegs)
                assert.deepInclude(yield* valueOf(peg, "vendor"), { revision: 2, value: "Fell & Sons" })
              assert.deepInclude(yield* valueOf(tent, "vendor"), { revision: 1, value: "Fell" })
              assert.deepInclude(yield* valueOf(stove, "vendor"), { revision: 1 })
            })
          )
      )

      it.effect(
        "between the begin and the collecting: what is created is left out, what is changed is not overwritten",
        () =>
          inShop(({ a, b, tent }) =>
            Effect.gen(function* () {
              const [kept, edited, moved, overridden, gone] = yield* somePegs(5)
              assert(kept && edited && moved && overridden && gone)
              yield* apply(CatalogChange.AddToStore({ entityId: overridden, storeId: a.id }))
              // History has times in milliseconds in memory.
              yield* Effect.sleep("3 millis")
              const { id } = yield* beginFound({ vendor: "Peg & Co" }, 5, setField("vendor", "Fell & Sons"))
              yield* Effect.sleep("3 millis")
              yield* apply(
                CatalogChange.SetAttributes({ entityId: edited, values: { title: "Newer" } }),
                CatalogChange.SetOverrides({ entityId: overridden, storeId: a.id, values: { title: "Peg A" } }),
                CatalogChange.SetAttributes({ entityId: gone, values: { vendor: "Nail" } }),
                CatalogChange.SetAttributes({ entityId: tent, values: { vendor: "Peg & Co" } }),
                CatalogChange.AddToStore({ entityId: moved, storeId: b.id })
              )
              const created = yield* anEntity("product", { title: "Peg", vendor: "Peg & Co" })
              const why = (revision: number) =>
                `somebody changed the draft after the job was begun, so it was not overwritten: its revision is ${revision + 1}, not ${revision}`
              const ended = yield* finish(id)
              // `gone` does not match any more, `tent` begins to match.
              const { revision } = yield* valueOf(overridden, "vendor")
              assert.deepInclude(ended, { state: "done", done: 5, total: 5, error_count: 4 })
              assert.sameDeepMembers(
                [...ended.errors],
                [
                  { item: "product Newer", message: why(1) },
                  { item: "product Peg 2", message: why(1) },
                  { item: "product Peg 3", message: why(revision - 1) },
                  { item: "product Tent", message: why(1) }
                ]
              )
              assert.strictEqual((yield* valueOf(kept, "vendor")).value, "Fell & Sons")
              assert.strictEqual((yield* valueOf(moved, "vendor")).value, "Peg & Co")
              assert.strictEqual((yield* valueOf(edited, "vendor")).value, "Peg & Co")
              assert.strictEqual((yield* valueOf(overridden, "vendor")).value, "Peg & Co")
              assert.strictEqual((yield* valueOf(gone, "vendor")).value, "Nail")
              assert.strictEqual((yield* valueOf(created, "vendor")).value, "Peg & Co")
            })
          )
      )

      it.effect(
        "a job whose filters find nothing any more is done with nothing; a store that lacks the entities is filled",
        () =>
          inShop(({ b, lamp, stove }) =>
            Effect.gen(function* () {
              const nothing = yield* beginFound({ vendor: "Nobody" }, 2, setField("vendor", "x"))
              assert.deepInclude(yield* finish(nothing.id), {
                state: "done",
                done: 0,
                total: 0,
                result: { changed: 0, unchanged: 0, refused: 0 }
              })
              const added = yield* beginFound({ storeId: b.id, state: "absent" }, 2, {
                _tag: "AddToStore",
                storeId: b.id
              })
              assert.deepInclude(yield* finish(added.id), {
                title: "Add 2 products to b.example",
                done: 2,
                total: 2,
                result: { changed: 2, unchanged: 0, refused: 0 }
              })
              for (const id of [stove, lamp])
                assert.strictEqual((yield* Effect.orDie((yield* Drafts).get(id, b.id))).store_id, b.id)
            })
          )
      )

      it.effect("a form that is sent twice begins one job, also at the same time", () =>
        inShop(({ stove, tent }) =>
          Effect.gen(function* () {
            const id = yield* mintId(JobId)
            const ask = begin([tent, stove], setField("vendor", "Twice"), "product", id)
            const jobs = yield* Effect.all([ask, ask], { concurrency: "unbounded" })
            assert.deepStrictEqual(
              jobs.map((job) => job.id),
              [id, id]
            )
            assert.deepInclude(yield* finish(id), { done: 2, result: { changed: 2, unchanged: 0, refused: 0 } })
            assert.strictEqual((yield* ask).state, "done")
            assert.lengthOf(yield* (yield* Jobs).list, 1)
            const { actor: stranger } = yield* anAccount()
            assert.deepStrictEqual(yield* issuesOf(ask.pipe(actingAs(stranger))), [
              { path: "", message: "nothing that was selected exists any more" }
            ])
          })
        )
      )

      it.effect("an import keeps a job from beginning, and a begun job waits for its end", () =>
        inShop(({ accountId, tent }) =>
          Effect.gen(function* () {
            const importLock = yield* ImportLockRepo
            const transaction = yield* Transaction
            const keep = (id: ImportId | null) =>
              transaction.run(Effect.zipRight(importLock.take(accountId), importLock.keep(accountId, id)))
            const { id } = yield* begin([tent], setField("vendor", "Later"))
            yield* keep(yield* mintId(ImportId))
            assert.strictEqual(yield* issuesOf(begin([tent], setField("vendor", "x"))), "PimLocked")
            yield* (yield* JobWorker).runDue
            const jobs = yield* Jobs
            assert.deepInclude(yield* jobs.get(id), {
              state: "queued",
              done: 0,
              waiting_for: "the end of an import or of its review"
            })
            yield* keep(null)
            assert.strictEqual((yield* jobs.command("pause", id)).state, "paused")
            assert.strictEqual((yield* jobs.command("resume", id)).state, "queued")
            assert.deepInclude(yield* finish(id), { state: "done", result: { changed: 1, unchanged: 0, refused: 0 } })
          })
        )
      )

      it.effect(
        "a job whose store was unlinked fails, changes nothing, and continues when the store is linked again",
        () =>
          inShop(({ b, tent }) =>
            Effect.gen(function* () {
              const { id } = yield* begin([tent], setField("title", "Zelt", b.id))
              const stores = yield* Stores
              yield* stores.unlink("b.example")
              assert.deepInclude(yield* finish(id), {
                state: "failed",
                done: 0,
                problem: {
                  why: "The store is no longer linked.",
                  next: "The changes that were made before remain. Link the store again, then resume the job."
                }
              })
              yield* stores.link({ domain: "b.example" })
              yield* (yield* Jobs).command("resume", id)
              assert.deepInclude(yield* finish(id), { state: "done", done: 1 })
              assert.deepInclude(yield* valueOf(tent, "title", b.id), { value: "Zelt", isOwn: true })
            })
          )
      )

      it.effect(
        "a job whose store is unlinked while it collects fails, and leaves nothing out when it is resumed",
        () =>
          inShop(({ a, accountId, stove, tent }) =>
            Effect.gen(function* () {
              const stores = yield* Stores
              const jobs = yield* Jobs
              const jobsRepo = yield* JobsRepo
              for (const change of [setField("title", "Zelt", a.id), setField("product_type", "Camp")]) {
                const { id } = yield* beginFound({ storeId: a.id }, 2, change)
                yield* stores.unlink("a.example")
                assert.deepInclude(yield* finish(id), {
                  state: "failed",
                  done: 0,
                  total: 2,
                  problem: {
                    why: "The store is no longer linked.",
                    next: "The changes that were made before remain. Link the store again, then resume the job."
                  }
                })
                // The lists of the store miss the entities that the job of the link has not reached.
                const { job } = yield* stores.beginLink({ domain: "a.example" })
                assert(job !== null)
                yield* jobs.command("pause", job.id)
                yield* jobs.command("resume", id)
                yield* (yield* JobWorker).runDue
                assert.deepInclude(yield* jobs.get(id), {
                  state: "queued",
                  done: 0,
                  total: 2,
                  waiting_for: "the end of the job that links the store again"
                })
                yield* jobs.command("resume", job.id)
                const claim = Option.getOrThrow(yield* jobsRepo.claim({ accountId, id: job.id }, 30))
                yield* jobsRepo.fail(claim, { why: "A step failed five times.", next: "Resume the job." })
                yield* jobs.command("pause", id)
                yield* jobs.command("resume", id)
                yield* (yield* JobWorker).runDue
                assert.deepInclude(yield* jobs.get(id), {
                  state: "queued",
                  done: 0,
                  waiting_for: "the end of the job that links the store again, which has failed: resume it"
                })
                yield* jobs.command("resume", job.id)
                yield* finish(job.id)
                yield* jobs.command("pause", id)
                yield* jobs.command("resume", id)
                assert.deepInclude(yield* finish(id), {
                  state: "done",
                  done: 2,
                  total: 2,
                  result: { changed: 2, unchanged: 0, refused: 0 }
                })
              }
              for (const each of [tent, stove]) {
                assert.deepInclude(yield* valueOf(each, "title", a.id), { value: "Zelt", isOwn: true })
                assert.deepInclude(yield* valueOf(each, "product_type"), { value: "Camp" })
              }
            })
          )
      )

      it.effect("after a cancel no further entity is changed", () =>
        inShop(({ tent }) =>
          Effect.gen(function* () {
            const { id } = yield* begin([tent], setField("vendor", "Never"))
            yield* (yield* Jobs).command("cancel", id)
            assert.deepInclude(yield* finish(id), { state: "cancelled", done: 0 })
            assert.deepInclude(yield* valueOf(tent, "vendor"), { revision: 1, value: "Fell" })
          })
        )
      )
    })
  })
}
