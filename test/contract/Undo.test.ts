import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Activity } from "../../src/connections/Activity.ts"
import { ActivityDay, ConnectionChange } from "../../src/connections/ActivityRecord.ts"
import { ActivityRepo } from "../../src/connections/ActivityRepo.ts"
import { firstPart, Undo } from "../../src/connections/Undo.ts"
import { FieldUndo, type UndoWindow } from "../../src/connections/UndoRules.ts"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { PimLocked } from "../../src/model/Errors.ts"
import { AccountId, ConnectionId, EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
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

type Values = Readonly<Record<string, string | null>>

/** An account with a product on the first of two stores, and a connected agent. */
const aWorld = Effect.gen(function* () {
  const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const [here, there] = stores
  const connectionId = yield* mintId(ConnectionId)
  const agent: Actor = { _tag: "Connection", accountId, connectionId }
  return yield* Effect.gen(function* () {
    const drafts = yield* Drafts
    const undo = yield* Undo
    const product = yield* anEntity("product", { title: "Tent", vendor: "Tern" }, { on: [here] })
    const revisionOf = (id: EntityId) => Effect.map(drafts.get(id, null), ({ draft_revision }) => draft_revision)

    const write = (by: Actor, values: Values, { id = product, storeId = null as StoreId | null } = {}) =>
      Effect.gen(function* () {
        const draft_revision = yield* revisionOf(id)
        const update = { draft_revision, attributes: Object.entries(values).map(([key, value]) => ({ key, value })) }
        yield* storeId === null
          ? drafts.updateAttributes(id, update)
          : drafts.updateVersionAttributes(id, storeId, update)
      }).pipe(actingAs(by), Effect.orDie)

    const valuesOf = (id: EntityId = product, storeId: StoreId | null = null) =>
      Effect.map(drafts.get(id, storeId), ({ attributes }) =>
        Object.fromEntries(attributes.map(({ key, value }) => [key, value]))
      )

    /** The window from an hour ago until now. */
    const window = Effect.map(
      undo.settledNow,
      (until): UndoWindow => ({ since: plusMicros(until, -3_600_000_000), until })
    )
    const review = (over: UndoWindow) => undo.review(connectionId, over, firstPart, 100)
    const run = (over: UndoWindow) => undo.run(connectionId, over, firstPart)
    return {
      accountId,
      actor,
      agent,
      connectionId,
      drafts,
      here,
      product,
      review,
      revisionOf,
      run,
      there,
      undo,
      valuesOf,
      window,
      write
    }
  }).pipe(actingAs(actor))
}).pipe(Effect.orDie)

type World = Effect.Effect.Success<typeof aWorld>

const inWorld = <E, R>(body: (world: World) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aWorld, (world) => actingAs(world.actor)(body(world)))

/** A field of a review as a short text. */
const short = ({ action, before, key, laterActor, left, now, storeDomain }: FieldUndo) =>
  `${storeDomain ?? "catalog"} ${key || action}: ${now} -> ${left === null ? before : `(${left}${laterActor === null ? "" : ` ${laterActor.kind}`})`}`

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`undo on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect(
        "values return to those before the connection's first write, in one revision by the person who undid",
        () =>
          inWorld(({ agent, connectionId, drafts, here, product, review, revisionOf, run, valuesOf, window, write }) =>
            Effect.gen(function* () {
              const before = yield* valuesOf(product, here.id)
              yield* write(agent, { title: "Tent 1", vendor: null, tags: '["new"]' })
              yield* write(agent, { title: "Tent 2" })
              yield* write(agent, { title: "Zelt", vendor: "" }, { storeId: here.id })
              const over = yield* window
              const { fields, next } = yield* review(over)
              assert.deepStrictEqual(yield* Schema.decodeUnknown(Schema.Array(FieldUndo))(fields), fields)
              assert.isNull(next)
              assert.deepStrictEqual(fields.map(short), [
                'catalog tags: ["new"] -> null',
                "catalog title: Tent 2 -> Tent",
                "catalog vendor: null -> Tern",
                "a.example title: Zelt -> null",
                "a.example vendor:  -> null"
              ])
              const revision = yield* revisionOf(product)
              assert.deepStrictEqual(yield* run(over), { entities: 1, fields: 5, left: [], next: null })
              assert.deepStrictEqual(yield* valuesOf(product, here.id), before)
              assert.deepStrictEqual((yield* drafts.get(product, here.id)).overridden, [])
              assert.strictEqual(yield* revisionOf(product), revision + 1)
              const history = (yield* drafts.history(product, 2)).map(({ at: _, ...entry }) => entry)
              assert.deepStrictEqual(
                history.map(({ actor, draft_revision, store_domain, undo_of }) => ({
                  actor,
                  draft_revision,
                  store_domain,
                  undo_of
                })),
                ["a.example", null].map((store_domain) => ({
                  actor: { kind: "cli" as const, id: null, name: null },
                  draft_revision: revision + 1,
                  store_domain,
                  undo_of: { id: connectionId, name: null }
                }))
              )
            })
          )
      )

      it.effect("a second undo changes nothing, also over a later window", () =>
        inWorld(({ agent, product, review, revisionOf, run, window, write }) =>
          Effect.gen(function* () {
            yield* write(agent, { title: "Tent 1" })
            const over = yield* window
            assert.strictEqual((yield* run(over)).fields, 1)
            const revision = yield* revisionOf(product)
            for (const again of [over, yield* window]) {
              assert.deepStrictEqual(yield* run(again), { entities: 0, fields: 0, left: [], next: null })
              assert.deepStrictEqual((yield* review(again)).fields.map(short), [
                "catalog title: Tent -> (already_back cli)"
              ])
            }
            assert.strictEqual(yield* revisionOf(product), revision)
          })
        )
      )

      it.effect(
        "a longer window undoes the older writes that a shorter one left, and a shorter one after it nothing",
        () =>
          inWorld(({ actor, agent, here, product, review, revisionOf, run, undo, valuesOf, window, write }) =>
            Effect.gen(function* () {
              /** The next clock tick: a window that starts here does not include the writes before it. */
              const tick = Effect.gen(function* () {
                const now = yield* undo.now
                return yield* Effect.repeat(undo.now, { until: (later) => later > now })
              })
              const since = (start: UndoWindow["since"]) => Effect.map(undo.now, (until) => ({ since: start, until }))
              yield* write(agent, { title: "Old", vendor: "Old", tags: '["old"]' })
              yield* write(agent, { title: "Old" }, { storeId: here.id })
              yield* write(actor, { tags: '["person"]' })
              const recent = yield* tick
              yield* write(agent, { title: "Newer", vendor: "Newer", tags: '["newer"]' })
              yield* write(agent, { title: "Newer" }, { storeId: here.id })
              const latest = yield* tick
              yield* write(agent, { title: "Newest", product_type: "Newest" })

              assert.strictEqual((yield* run(yield* since(latest))).fields, 2)
              assert.include(yield* valuesOf(), { title: "Newer", vendor: "Newer", product_type: "" })
              assert.strictEqual((yield* run(yield* since(recent))).fields, 4)
              assert.include(yield* valuesOf(), { title: "Old", vendor: "Old", tags: '["person"]' })
              assert.include(yield* valuesOf(product, here.id), { title: "Old" })
              // A person who writes after an undo keeps the field.
              yield* write(actor, { vendor: "Person" })
              assert.deepStrictEqual((yield* review(yield* window)).fields.map(short), [
                "catalog product_type: null -> (already_back cli)",
                'catalog tags: ["person"] -> (already_back cli)',
                "catalog title: Old -> Tent",
                "catalog vendor: Person -> (edited_since cli)",
                "a.example title: Old -> null"
              ])
              assert.strictEqual((yield* run(yield* window)).fields, 2)
              assert.include(yield* valuesOf(product, here.id), { title: "Tent" })

              const revision = yield* revisionOf(product)
              for (const start of [latest, recent, (yield* window).since])
                assert.strictEqual((yield* run(yield* since(start))).fields, 0)
              assert.strictEqual(yield* revisionOf(product), revision)
              // A write after the undo of a longer window is undone to the value of that undo, with every window.
              yield* write(agent, { title: "After" })
              assert.deepStrictEqual((yield* run(yield* since(recent))).fields, 1)
              assert.include(yield* valuesOf(), { title: "Tent" })
            })
          )
      )

      it.effect("an edit by somebody else is kept, before, between and after the connection's writes", () =>
        inWorld(({ actor, agent, here, product, review, run, valuesOf, window, write }) =>
          Effect.gen(function* () {
            yield* write(agent, { title: "Agent", vendor: "Agent", product_type: "Agent", handle: "agent" })
            yield* write(actor, { title: "Person", vendor: "Person" })
            yield* write(agent, { vendor: "Agent again" })
            yield* write(agent, { vendor: "Agent at last" })
            yield* write(agent, { title: "Agent" }, { storeId: here.id })
            yield* write(actor, { title: "Person" }, { storeId: here.id })
            const { fields } = yield* review(yield* window)
            assert.deepStrictEqual(fields.map(short), [
              "catalog handle: agent -> null",
              "catalog product_type: Agent -> null",
              "catalog title: Person -> (edited_since cli)",
              "catalog vendor: Agent at last -> Person",
              "a.example title: Person -> (edited_since cli)"
            ])
            const done = yield* run(yield* window)
            assert.deepStrictEqual([done.entities, done.fields], [1, 3])
            assert.deepStrictEqual(done.left.map(short), [
              "catalog title: null -> (edited_since cli)",
              "a.example title: null -> (edited_since cli)"
            ])
            assert.include(yield* valuesOf(product), {
              title: "Person",
              vendor: "Person",
              product_type: "",
              handle: ""
            })
            assert.include(yield* valuesOf(product, here.id), { title: "Person" })
          })
        )
      )

      it.effect("only writes of the connection in the window count", () =>
        inWorld(({ accountId, agent, connectionId, product, run, undo, valuesOf, window, write }) =>
          Effect.gen(function* () {
            const other: Actor = { _tag: "Connection", accountId, connectionId: yield* mintId(ConnectionId) }
            const own = anEntity("product", { title: "Other" })
            const second = yield* own
            yield* write(agent, { title: "Before" })
            const early = yield* window
            const since = plusMicros(yield* undo.now, 1)
            yield* Effect.repeat(undo.now, { until: (now) => now > since })
            yield* write(agent, { title: "Within", vendor: "Within" })
            yield* write(other, { title: "By another agent" }, { id: second })
            const within = { since, until: yield* undo.now }
            yield* Effect.repeat(undo.now, { until: (now) => now > within.until })
            yield* write(agent, { vendor: "After the review" })
            assert.strictEqual(yield* undo.count(connectionId, within, firstPart), 1)
            const done = yield* run(within)
            assert.deepStrictEqual([done.entities, done.fields], [1, 1])
            assert.deepStrictEqual(done.left.map(short), ["catalog vendor: null -> (edited_since connection)"])
            assert.include(yield* valuesOf(product), { title: "Before", vendor: "After the review" })
            // Fields that were undone with a later window have another last writer now.
            assert.strictEqual((yield* run(early)).fields, 0)
            assert.include(yield* valuesOf(second), { title: "By another agent" })
          })
        )
      )

      it.effect("each field that cannot be undone has the reason: removed from the store, unlinked, invalid now", () =>
        inWorld(({ agent, drafts, here, product, review, run, there, undo, valuesOf, window, write }) =>
          Effect.gen(function* () {
            const { create, setType } = yield* OwnDefinitions
            yield* Effect.orDie(create({ owner_type: "product", key: "spec.note", type: "single_line_text_field" }))
            yield* write({ ...agent }, { "spec.note": "words" })
            // This write must be before the window, and the in-memory clock counts milliseconds, so wait for the
            // next one.
            const before = yield* undo.now
            yield* Effect.repeat(undo.now, { until: (now) => now > before })
            const since = (yield* window).until
            yield* write(agent, { "spec.note": "12" })
            yield* Effect.orDie(setType({ owner_type: "product", key: "spec.note", type: "number_integer" }))
            yield* drafts.addStoreVersion(product, there.id).pipe(actingAs(agent))
            yield* write(agent, { title: "Agent" }, { storeId: there.id })
            yield* write(agent, { title: "Agent" }, { storeId: here.id })
            const gone = yield* anEntity("product", { title: "Gone" }, { on: [here] })
            yield* write(agent, { title: "Agent" }, { id: gone, storeId: here.id })
            yield* (yield* CatalogChanges).apply([CatalogChange.RemoveFromStore({ entityId: gone, storeId: here.id })])
            yield* Effect.orDie((yield* Stores).unlink(there.domain))
            const over = { since, until: (yield* window).until }
            const shown = (yield* review(over)).fields
            const ofProduct = shown.filter(({ entityId }) => entityId === product)
            assert.deepStrictEqual(ofProduct.map(short), [
              "catalog spec.note: 12 -> (misfit)",
              "a.example title: Agent -> null",
              "b.example added_to_store: null -> (not_on_store)",
              "b.example title: null -> (not_on_store)"
            ])
            assert.deepStrictEqual(shown.filter(({ entityId }) => entityId === gone).map(short), [
              "a.example title: null -> (not_on_store cli)"
            ])
            yield* Effect.orDie((yield* Stores).link({ domain: there.domain }))
            const again = (yield* review(over)).fields.filter(({ storeId }) => storeId === there.id)
            assert.deepStrictEqual(again.map(short), [
              "b.example added_to_store: null -> null",
              "b.example title: Agent -> null"
            ])
            // The store has the product, so it stays there; its value returns.
            yield* (yield* CatalogChanges).apply([
              CatalogChange.Identify({ entityId: product, storeId: there.id, platformId: "9" })
            ])
            assert.deepStrictEqual((yield* run(over)).fields, 2)
            assert.include(yield* valuesOf(product), { "spec.note": "12", title: "Tent" })
            assert.include(yield* valuesOf(product, there.id), { title: "Tent" })
          })
        )
      )

      it.effect(
        "a variant that the connection added to a store leaves it with its pictures, which the product had not",
        () =>
          inWorld(({ agent, drafts, here, product, review, run, there, window }) =>
            Effect.gen(function* () {
              const { apply } = yield* CatalogChanges
              const picture = (name: string) =>
                anEntity("media", { url: `https://cdn.example/${name}.png` }, { on: [here] })
              const [own, joined] = [yield* picture("own"), yield* picture("joined")]
              const variant = yield* anEntity("variant", { sku: "T-1" }, { on: [here], of: product })
              const on = (mediaId: EntityId, ...stores: ReadonlyArray<{ readonly id: StoreId }>) => ({
                mediaId,
                storeIds: stores.map(({ id }) => id)
              })
              const stays = yield* anEntity("variant", { sku: "T-2" }, { on: [here], of: product })
              yield* apply([
                ...[product, stays, own].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: there.id })),
                CatalogChange.SetGallery({ entityId: product, entries: [on(own, here, there)] }),
                CatalogChange.SetGallery({ entityId: variant, entries: [on(joined, here), on(own, here)] })
              ])
              const galleries = Effect.forEach([product, variant], (id) =>
                Effect.map(drafts.sheet(id), ({ gallery }) => gallery)
              )
              const before = yield* galleries
              yield* drafts.addStoreVersion(variant, there.id).pipe(actingAs(agent))
              assert.deepStrictEqual(yield* galleries, [
                [on(own, here, there), on(joined, there)],
                [on(joined, here, there), on(own, here, there)]
              ])
              const over = yield* window
              const addition = ["b.example added_to_store: null -> null"]
              assert.deepStrictEqual((yield* review(over)).fields.map(short), addition)
              const { entities, fields, left } = yield* run(over)
              assert.deepStrictEqual([entities, fields, left], [1, 1, []])
              assert.deepStrictEqual(yield* galleries, before)
              const stores = Effect.map(drafts.projections(joined), (all) => all.map(({ store_id }) => store_id))
              assert.deepStrictEqual(yield* stores, [here.id])
            })
          )
      )

      it.effect("what the connection added to a store is taken off it, unless somebody needs it there", () =>
        inWorld(({ actor, agent, drafts, here, product, review, run, there, window, write }) =>
          Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const on = (entityId: EntityId) => ({ entityId, storeId: there.id })
            const storesOf = (id: EntityId) =>
              Effect.map(drafts.projections(id), (all) => all.map(({ store_domain }) => store_domain).join(" "))
            const add = (id: EntityId) => drafts.addStoreVersion(id, there.id).pipe(actingAs(agent))
            const aProduct = (title: string) =>
              Effect.gen(function* () {
                const id = yield* anEntity("product", { title }, { on: [here] })
                const variant = yield* anEntity("variant", { sku: title }, { on: [here], of: id })
                const picture = yield* anEntity("media", { url: `https://cdn.example/${title}.png` }, { on: [here] })
                const entries = [{ mediaId: picture, storeIds: [here.id] }]
                yield* apply([CatalogChange.SetGallery({ entityId: id, entries })])
                yield* add(id)
                return { id, variant, picture, title }
              })
            const free = yield* aProduct("Free")
            yield* write(agent, { title: "Agent" }, { id: free.id, storeId: there.id })
            const live = yield* aProduct("Live")
            yield* apply([CatalogChange.AcceptPublish(on(live.variant))])
            const waiting = yield* aProduct("Waiting")
            yield* apply([CatalogChange.RequestPublish(on(waiting.id))])
            const error = { code: "NO", message: "No." }
            const refused = yield* aProduct("Refused")
            yield* apply([CatalogChange.RefusePublish({ ...on(refused.id), error })])
            const unsure = yield* aProduct("Unsure")
            yield* apply([
              CatalogChange.MarkMayBeLive(on(unsure.id)),
              CatalogChange.RefusePublish({ ...on(unsure.id), error })
            ])
            const edited = yield* aProduct("Edited")
            yield* write(actor, { title: "Edit" }, { id: edited.id, storeId: there.id })
            const part = yield* aProduct("Part")
            yield* write(actor, { barcode: "1" }, { id: part.variant, storeId: there.id })
            const pictured = yield* aProduct("Pictured")
            yield* write(actor, { alt: "A tent" }, { id: pictured.picture, storeId: there.id })
            // A variant that was added to a product on the store, and a file that a gallery there shows since.
            const other = yield* anEntity("variant", { sku: "Other" }, { on: [here], of: product })
            yield* apply([product, other].map((id) => CatalogChange.AddToStore(on(id))))
            const single = yield* anEntity("variant", { sku: "Single" }, { on: [here], of: product })
            yield* add(single)
            const file = yield* anEntity("media", { url: "https://cdn.example/file.png" })
            yield* add(file)
            yield* apply([
              CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: file, storeIds: [there.id] }] })
            ])
            const alone = yield* anEntity("media", { url: "https://cdn.example/alone.png" })
            yield* add(alone)
            const names = new Map([
              ...[free, live, waiting, refused, unsure, edited, part, pictured].map(
                ({ id, title }) => [id, title] as const
              ),
              [single, "single"] as const,
              [file, "file"] as const,
              [alone, "alone"] as const
            ])
            const over = yield* window
            const named = (fields: ReadonlyArray<FieldUndo>) =>
              fields.map((field) => `${names.get(field.entityId)} ${short(field)}`).sort()
            const additions = (fields: ReadonlyArray<FieldUndo>) =>
              named(fields.filter(({ action }) => action === "added_to_store"))
            const kept = [
              "Edited b.example added_to_store: null -> (edited_since cli)",
              "Live b.example added_to_store: null -> (kept_on_store)",
              "Part b.example added_to_store: null -> (edited_since)",
              "Pictured b.example added_to_store: null -> (edited_since)",
              "Unsure b.example added_to_store: null -> (kept_on_store)",
              "Waiting b.example added_to_store: null -> (kept_on_store)"
            ]
            const undone = ["Free", "Refused", "alone", "file", "single"].map(
              (name) => `${name} b.example added_to_store: null -> null`
            )
            assert.deepStrictEqual(additions((yield* review(over)).fields), [...kept, ...undone].sort())
            const done = yield* run(over)
            // Whether a gallery shows a file is known under the locks only.
            assert.deepStrictEqual(
              named(done.left),
              [...kept, "file b.example added_to_store: null -> (kept_on_store)"].sort()
            )
            assert.deepStrictEqual([done.entities, done.fields], [4, 5])
            for (const { id, picture, title, variant } of [
              free,
              refused,
              live,
              unsure,
              waiting,
              edited,
              part,
              pictured
            ])
              for (const each of [id, variant, picture])
                assert.strictEqual(
                  yield* storesOf(each),
                  ["Free", "Refused"].includes(title) ? "a.example" : "a.example b.example",
                  title
                )
            assert.deepStrictEqual(yield* Effect.forEach([single, file, alone], storesOf), [
              "a.example",
              "b.example",
              ""
            ])
            const again = yield* run({ ...over, until: (yield* window).until })
            assert.deepStrictEqual([again.entities, again.fields], [0, 0])
            // Added again, it can be undone again; somebody else's addition cannot.
            yield* add(alone)
            yield* drafts.addStoreVersion(free.id, there.id)
            const later = yield* window
            assert.deepInclude(yield* run(later), { entities: 1, fields: 1 })
            assert.strictEqual(yield* storesOf(free.variant), "a.example b.example")
          })
        )
      )

      it.effect("an addition stays if somebody else changed since what would leave with it, and only then", () =>
        inWorld(({ actor, agent, connectionId, drafts, here, review, revisionOf, there, undo, window, write }) =>
          Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            // In memory the time of a write has milliseconds only.
            const later = Effect.sleep("2 millis")
            const add = (by: Actor, id: EntityId) =>
              Effect.zipLeft(drafts.addStoreVersion(id, there.id).pipe(actingAs(by)), later)
            const aPicture = (on: ReadonlyArray<typeof here>) =>
              anEntity("media", { url: "https://cdn.example/a.png" }, { on })
            const show = (id: EntityId, mediaId: EntityId, on: ReadonlyArray<typeof here>) =>
              Effect.flatMap(revisionOf(id), (revision) =>
                drafts.updateGallery(id, revision, [{ mediaId, storeIds: on.map((store) => store.id) }], [mediaId])
              )
            const aProduct = (title: string, shown?: EntityId) =>
              Effect.gen(function* () {
                const id = yield* anEntity("product", { title }, { on: [here] })
                const variant = yield* anEntity("variant", { sku: title }, { on: [here], of: id })
                const picture = shown ?? (yield* aPicture([here]))
                yield* show(id, picture, [here])
                yield* add(agent, id)
                return { id, variant, picture }
              })
            const names = new Map<EntityId, string>()
            const named = <A extends { readonly id: EntityId }>(name: string, made: A) => {
              names.set(made.id, name)
              return made
            }
            const hidden = named("hidden", yield* aProduct("Hidden"))
            yield* show(hidden.id, hidden.picture, [here])
            const grown = named("grown", yield* aProduct("Grown"))
            const grownBy = yield* anEntity("variant", { sku: "G-2" }, { on: [here], of: grown.id })
            yield* add(actor, grownBy)
            const firstOption = { name: "Size", former: "S" }
            const aVariant = (productId: EntityId) =>
              Effect.tap(mintId(EntityId), (id) =>
                drafts.create(NewEntity.Variant({ id, productId, attributes: [], optionValues: ["L"], firstOption }))
              )
            const bred = named("bred", yield* aProduct("Bred"))
            const bredBy = yield* aVariant(bred.id)
            // Its new variant is on the other store only.
            const elsewhere = named("elsewhere", yield* aProduct("Elsewhere"))
            yield* anEntity("variant", { sku: "E-2" }, { on: [here], of: elsewhere.id })
            const posed = named("posed", yield* aProduct("Posed"))
            const picture = { id: yield* mintId(EntityId), url: "https://cdn.example/p.png", attributes: [] }
            yield* drafts.create(NewEntity.Media({ ...picture, shownBy: posed.id }))
            const shown = named("shown", yield* aProduct("Shown"))
            yield* show(shown.variant, yield* aPicture([there]), [there])
            // The picture was on the store, and somebody described it there, before the product came.
            const chart = yield* aPicture([here, there])
            yield* write(actor, { alt: "Sizes" }, { id: chart, storeId: there.id })
            yield* later
            const charted = named("charted", yield* aProduct("Charted", chart))
            const live = named("live", yield* aProduct("Live"))
            yield* apply([CatalogChange.AcceptPublish({ entityId: live.id, storeId: there.id })])
            const single = named("single", {
              id: yield* anEntity("variant", { sku: "L-2" }, { on: [here], of: live.id })
            })
            yield* add(agent, single.id)
            const collection = named("collection", {
              id: yield* anEntity("collection", { title: "Summer" }, { on: [here] })
            })
            const cover = named("cover", { id: yield* aPicture([here]) })
            yield* show(collection.id, cover.id, [here])
            yield* add(agent, collection.id)
            yield* add(agent, cover.id)
            const late = named("late", yield* aProduct("Late"))
            const over = yield* window
            yield* later
            yield* write(agent, { barcode: "1" }, { id: late.variant, storeId: there.id })
            const additions = (fields: ReadonlyArray<FieldUndo>) =>
              fields
                .filter(({ action }) => action === "added_to_store")
                .map(({ entityId, left }) => `${names.get(entityId)} ${left}`)
                .sort()
            const kept = [
              "bred edited_since",
              "grown edited_since",
              "hidden edited_since",
              "late edited_since",
              "live kept_on_store",
              "posed edited_since",
              "shown edited_since"
            ]
            assert.deepStrictEqual(
              additions((yield* review(over)).fields),
              [...kept, "elsewhere null", "charted null", "collection null", "cover null", "single null"].sort()
            )
            const done = yield* undo.run(connectionId, over, firstPart)
            assert.deepStrictEqual(additions(done.left), kept)
            const isThere = (id: EntityId) =>
              Effect.map(drafts.projections(id), (all) => all.some(({ store_id }) => store_id === there.id))
            const leaving = [elsewhere.id, charted.id, charted.variant, single.id, collection.id, cover.id]
            assert.deepStrictEqual(
              yield* Effect.forEach(leaving, isThere),
              leaving.map(() => false)
            )
            const staying = [
              chart,
              bred.id,
              bredBy,
              posed.id,
              picture.id,
              grownBy,
              hidden.id,
              grown.id,
              shown.id,
              live.id,
              late.id,
              late.variant
            ]
            assert.deepStrictEqual(
              yield* Effect.forEach(staying, isThere),
              staying.map(() => true)
            )
          })
        )
      )

      it.effect("a product and its variant that were added one after the other are removed together", () =>
        inWorld(({ agent, drafts, here, run, there, window, write }) =>
          Effect.gen(function* () {
            const product = yield* anEntity("product", { title: "Tent" }, { on: [here] })
            yield* drafts.addStoreVersion(product, there.id).pipe(actingAs(agent))
            yield* Effect.sleep("2 millis")
            const variant = yield* anEntity("variant", { sku: "T-1" }, { on: [here], of: product })
            yield* drafts.addStoreVersion(variant, there.id).pipe(actingAs(agent))
            yield* write(agent, { barcode: "1" }, { id: variant, storeId: there.id })
            const over = yield* window
            assert.deepStrictEqual(yield* run(over), { entities: 2, fields: 3, left: [], next: null })
            for (const id of [product, variant])
              assert.deepStrictEqual(
                (yield* drafts.projections(id)).map(({ store_id }) => store_id),
                [here.id]
              )
            // The values left the store with the variant: a second undo has nothing to do, and leaves nothing alone.
            const again = { ...over, until: (yield* window).until }
            assert.deepStrictEqual(yield* run(again), { entities: 0, fields: 0, left: [], next: null })
          })
        )
      )

      it.effect("a product that was added to several stores leaves all of them, and no gallery names them", () =>
        Effect.gen(function* () {
          const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
          const connectionId = yield* mintId(ConnectionId)
          const agent: Actor = { _tag: "Connection", accountId, connectionId }
          yield* Effect.gen(function* () {
            const undo = yield* Undo
            const drafts = yield* Drafts
            const [here, ...others] = stores
            const product = yield* anEntity("product", { title: "Tent" }, { on: [here] })
            const picture = yield* anEntity("media", { url: "https://cdn.example/a.png" }, { on: [here] })
            const entries = [{ mediaId: picture, storeIds: [here.id] }]
            yield* (yield* CatalogChanges).apply([CatalogChange.SetGallery({ entityId: product, entries })])
            for (const { id } of others) yield* drafts.addStoreVersion(product, id).pipe(actingAs(agent))
            const until = yield* undo.settledNow
            const done = yield* undo.run(connectionId, { since: plusMicros(until, -3_600_000_000), until }, firstPart)
            assert.deepInclude(done, { entities: 1, fields: 2, left: [] })
            const { aggregates } = yield* (yield* DraftsRepo).read(accountId, [product, picture], [])
            assert.deepStrictEqual(aggregates.get(product)?.storeIds, [here.id])
            assert.deepStrictEqual(aggregates.get(product)?.gallery, entries)
            assert.deepStrictEqual(aggregates.get(picture)?.storeIds, [here.id])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a metafield is restored with the type of its definition", () =>
        inWorld(({ agent, drafts, product, run, window, write }) =>
          Effect.gen(function* () {
            yield* definedAs("product", { "spec.size": "number_integer" })
            yield* write({ ...agent }, { "spec.size": "1" })
            yield* write(agent, { "spec.size": null })
            yield* write(agent, { "spec.size": "2" })
            const other = yield* anEntity("product", { title: "Other" })
            yield* write(agent, { "spec.size": "3" }, { id: other })
            assert.deepStrictEqual((yield* run(yield* window)).fields, 2)
            const attributes = (yield* drafts.get(product, null)).attributes
            assert.isUndefined(attributes.find(({ key }) => key === "spec.size"))
          })
        )
      )

      it.effect(
        "the parts of an undo include every entity once, in the order of ids, with variants and their products",
        () =>
          inWorld(({ agent, connectionId, here, product, run, undo, valuesOf, window, write }) =>
            Effect.gen(function* () {
              const ids = yield* Effect.replicateEffect(
                anEntity("variant", { sku: "T-1" }, { on: [here], of: product }),
                5
              )
              for (const id of ids) yield* write(agent, { barcode: "x" }, { id })
              yield* write(agent, { title: "Agent" })
              const over = yield* window
              const seen: Array<string> = []
              let after: EntityId | null = firstPart
              while (after !== null) {
                assert.strictEqual(yield* undo.count(connectionId, over, after), 6 - seen.length)
                const part: Effect.Effect.Success<ReturnType<typeof undo.review>> = yield* undo.review(
                  connectionId,
                  over,
                  after,
                  2
                )
                assert.isAtMost(part.fields.length, 2)
                seen.push(...part.fields.map(({ entityId }) => entityId))
                after = part.next
              }
              assert.deepStrictEqual(seen, [...ids, product].sort())
              assert.deepStrictEqual(yield* run(over), { entities: 6, fields: 6, left: [], next: null })
              for (const id of ids) assert.include(yield* valuesOf(id), { barcode: "" })
            })
          )
      )

      it.effect("an undo is refused under the import lock, and nothing is written", () =>
        inWorld(({ accountId, agent, product, run, valuesOf, window, write }) =>
          Effect.gen(function* () {
            yield* write(agent, { title: "Agent" })
            const over = yield* window
            const lock = yield* ImportLockRepo
            yield* lock.keep(accountId, yield* mintId(ImportId))
            const refused = yield* Effect.flip(run(over))
            assert.instanceOf(refused, PimLocked)
            assert.strictEqual(
              refused.message,
              "An import or refresh has locked the catalog; retry after it has ended."
            )
            assert.include(yield* valuesOf(product), { title: "Agent" })
            yield* lock.keep(accountId, null)
            assert.strictEqual((yield* run(over)).fields, 1)
          })
        )
      )

      it.effect("writes of other accounts are not visible", () =>
        inWorld(({ agent, product, valuesOf, window, write }) =>
          Effect.gen(function* () {
            yield* write(agent, { title: "Agent" })
            const over = yield* window
            const stranger = yield* aWorld
            yield* Effect.gen(function* () {
              const undo = yield* Undo
              const id = agent._tag === "Connection" ? agent.connectionId : stranger.connectionId
              assert.strictEqual(yield* undo.count(id, over, firstPart), 0)
              assert.deepStrictEqual((yield* undo.review(id, over, firstPart, 10)).fields, [])
              assert.strictEqual((yield* undo.run(id, over, firstPart)).fields, 0)
              const activity = yield* Activity
              assert.deepStrictEqual(yield* activity.days(stranger.accountId, id), [])
              assert.deepStrictEqual(yield* activity.changes(stranger.accountId, id, null, 10), [])
            }).pipe(actingAs(stranger.actor))
            assert.include(yield* valuesOf(product), { title: "Agent" })
          })
        )
      )
    })
  })

  describe.skipIf(engine.absent)(`the activity of connections on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("calls are added to the day; writes count revisions, publishes count requests", () =>
        inWorld(({ accountId, agent, connectionId, product, undo, write }) =>
          Effect.gen(function* () {
            const activity = yield* Activity
            const repo = yield* ActivityRepo
            const { store } = yield* Effect.orDie((yield* Stores).link({ domain: "demo.example", platform: "demo" }))
            yield* Effect.orDie((yield* Drafts).addStoreVersion(product, store.id))
            assert.deepStrictEqual(yield* activity.days(accountId, connectionId), [])
            yield* Effect.replicateEffect(activity.countCall({ accountId, connectionId }), 3)
            yield* activity.writeCalls
            // The count of an account that was deleted meanwhile is left out.
            const deleted = yield* mintId(AccountId)
            yield* repo.addCalls([deleted, accountId].map((each) => ({ accountId: each, connectionId, calls: 4 })))
            // A call that is not saved yet is shown too.
            yield* activity.countCall({ accountId, connectionId })
            yield* write(agent, { title: "Agent", vendor: "Agent" })
            yield* write(agent, { title: "Agent 2" })
            yield* write(agent, { title: "Agent 2" })
            yield* Effect.orDie((yield* Publishing).request(product, store.id)).pipe(actingAs(agent))
            const days = yield* activity.days(accountId, connectionId)
            assert.deepStrictEqual(yield* Schema.decodeUnknown(Schema.Array(ActivityDay))(days), days)
            assert.deepStrictEqual(days, [{ day: (yield* undo.now).slice(0, 10), calls: 8, writes: 2, publishes: 1 }])
            assert.strictEqual(yield* activity.forget, 0)
            assert.strictEqual((yield* activity.days(accountId, connectionId))[0]?.calls, 8)
          })
        )
      )

      it.effect("changes are listed newest first and paged, with the stores on which they were published since", () =>
        inWorld(({ accountId, actor, agent, connectionId, here, product, write }) =>
          Effect.gen(function* () {
            const activity = yield* Activity
            yield* write(agent, { vendor: "Agent", title: "Agent" })
            yield* write(actor, { title: "Person" })
            yield* write(agent, { title: "Zelt" }, { storeId: here.id })
            yield* write(agent, { title: "Agent 3" })
            const list = (limit: number, before: Parameters<typeof activity.changes>[2] = null) =>
              activity.changes(accountId, connectionId, before, limit)
            const all = yield* list(10)
            assert.deepStrictEqual(yield* Schema.decodeUnknown(Schema.Array(ConnectionChange))(all), all)
            assert.deepStrictEqual(
              all.map(({ at: _, sequence: __, ...change }) => change),
              [
                { storeId: null, storeDomain: null, keys: ["title"] },
                { storeId: here.id, storeDomain: "a.example", keys: ["title"] },
                { storeId: null, storeDomain: null, keys: ["title", "vendor"] }
              ].map((change) => ({
                ...change,
                entityId: product,
                kind: "product" as const,
                title: "Agent 3",
                action: "attributes" as const,
                publishedOn: []
              }))
            )
            const paged: Array<ConnectionChange> = []
            for (let page = yield* list(1); page.length > 0; page = yield* list(1, paged.at(-1))) paged.push(...page)
            assert.deepStrictEqual(paged, all)
          })
        )
      )

      it.effect("a change counts as published on a store after a later or equal revision was published there", () =>
        inWorld(({ accountId, agent, connectionId, product, write }) =>
          Effect.gen(function* () {
            const activity = yield* Activity
            const publishing = yield* Publishing
            const { store } = yield* Effect.orDie((yield* Stores).link({ domain: "demo.example", platform: "demo" }))
            yield* Effect.orDie((yield* Drafts).addStoreVersion(product, store.id))
            yield* write(agent, { title: "Agent" })
            const asked = yield* Effect.orDie(publishing.request(product, store.id))
            assert(asked.outcome !== "nothing_to_publish")
            yield* publishing.settle([asked.publicationId], () => Effect.void)
            yield* write(agent, { title: "Agent 2" })
            const changes = yield* activity.changes(accountId, connectionId, null, 10)
            assert.deepStrictEqual(
              changes.map(({ publishedOn }) => publishedOn),
              [[], ["demo.example"]]
            )
          })
        )
      )
    })
  })
}
