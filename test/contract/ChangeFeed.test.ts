import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { EntityId, ImportId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  OwnDefinitions,
  Stores
} from "../../src/testing/index.ts"
import { Dice, report } from "../faults/Dice.ts"
import { contents, copyAll, feedPage, follow } from "../support/FeedMirror.ts"
import { type Known, randomWrite } from "../support/FeedWrites.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => service.apply(changes))

const latest = Effect.map(feedPage("latest", 1), ({ next_cursor }) => next_cursor)

/** The feed's changes of an effect, without numbers and times. */
const changesBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const cursor = yield* latest
    yield* effect
    const { data } = yield* feedPage(cursor, 250)
    return data.map(({ entity, store_id, type, what }) => [
      type,
      entity.type,
      entity.id,
      store_id ?? null,
      what.join(" ")
    ])
  })

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`change feed on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("every kind of write adds its changes to the feed", () =>
        Effect.gen(function* () {
          const { actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
          yield* Effect.gen(function* () {
            const [a, b] = stores
            const [product, variant] = [yield* mintId(EntityId), yield* mintId(EntityId)]
            const media = yield* anEntity("media", { url: "https://cdn.example/1.jpg" })
            const other = yield* anEntity("media", { url: "https://cdn.example/2.jpg" })
            const collection = yield* anEntity("collection", { title: "Winter" })
            assert.deepStrictEqual(
              yield* changesBy(
                apply(
                  CatalogChange.CreateEntity({
                    id: product,
                    kind: "product",
                    parentId: null,
                    values: { title: "Boots" }
                  }),
                  CatalogChange.CreateEntity({
                    id: variant,
                    kind: "variant",
                    parentId: product,
                    values: { title: "S" }
                  }),
                  CatalogChange.AddToStore({ entityId: product, storeId: a.id }),
                  CatalogChange.AddToStore({ entityId: variant, storeId: a.id })
                )
              ),
              [
                ["entity.created", "product", product, null, ""],
                ["entity.created", "variant", variant, null, ""],
                ["store_version.added", "product", product, a.id, ""],
                ["store_version.added", "variant", variant, a.id, ""],
                ["relationships.updated", "product", product, null, "variant_ids"]
              ]
            )
            assert.deepStrictEqual(
              yield* changesBy(apply(CatalogChange.AcceptPublish({ entityId: product, storeId: a.id }))),
              [["store_version.updated", "product", product, a.id, "publish_state accepted_values"]]
            )
            assert.deepStrictEqual(
              yield* changesBy(
                apply(CatalogChange.SetAttributes({ entityId: product, values: { title: "Shoes", vendor: "Fell" } }))
              ),
              [
                ["entity.updated", "product", product, null, "title vendor"],
                ["store_version.updated", "product", product, a.id, "publish_state"]
              ]
            )
            assert.deepStrictEqual(
              yield* changesBy(
                apply(CatalogChange.SetOverrides({ entityId: product, storeId: a.id, values: { title: "Schuhe" } }))
              ),
              [["store_version.updated", "product", product, a.id, "overrides"]]
            )
            assert.deepStrictEqual(
              yield* changesBy(apply(CatalogChange.AddToStore({ entityId: collection, storeId: b.id }))),
              [["store_version.added", "collection", collection, b.id, ""]]
            )
            assert.deepStrictEqual(
              yield* changesBy(apply(CatalogChange.RemoveFromStore({ entityId: collection, storeId: b.id }))),
              [["store_version.removed", "collection", collection, b.id, ""]]
            )
            const gallery = (...mediaIds: ReadonlyArray<EntityId>) =>
              apply(
                CatalogChange.SetGallery({
                  entityId: product,
                  entries: mediaIds.map((mediaId) => ({ mediaId, storeIds: [] }))
                })
              )
            assert.deepStrictEqual(yield* changesBy(gallery(media)), [
              ["relationships.updated", "product", product, null, "media_ids"],
              ["relationships.updated", "media", media, null, "product_ids"]
            ])
            assert.deepStrictEqual(yield* changesBy(gallery(other, media)), [
              ["relationships.updated", "product", product, null, "media_ids"],
              ["relationships.updated", "media", other, null, "product_ids"]
            ])
            assert.deepStrictEqual(
              yield* changesBy(apply(CatalogChange.SetMembers({ collectionId: collection, productIds: [product] }))),
              [
                ["relationships.updated", "collection", collection, null, "members"],
                ["relationships.updated", "product", product, null, "collection_ids"]
              ]
            )
            const onA = [other, media].map((mediaId) => ({ mediaId, storeIds: mediaId === media ? [a.id] : [] }))
            assert.deepStrictEqual(
              yield* changesBy(apply(CatalogChange.SetGallery({ entityId: product, entries: onA }))),
              [["store_version.updated", "product", product, a.id, "media_ids"]]
            )
            // An added version is announced as a whole, with no change of its pictures; so is one that is taken off.
            const { addStoreVersion, removeStoreVersion } = yield* Drafts
            const onB = (type: string) => [
              [type, "product", product, b.id, ""],
              [type, "variant", variant, b.id, ""],
              [type, "media", media, b.id, ""]
            ]
            const add = changesBy(addStoreVersion(product, b.id))
            assert.sameDeepMembers(yield* add, onB("store_version.added"))
            assert.sameDeepMembers(yield* changesBy(removeStoreVersion(product, b.id)), onB("store_version.removed"))
            assert.sameDeepMembers(yield* add, onB("store_version.added"))
            const { create } = yield* OwnDefinitions
            const [definition] = yield* changesBy(
              create({ owner_type: "product", key: "care.washing", type: "single_line_text_field" })
            )
            assert.deepStrictEqual([definition?.[0], definition?.[1]], ["definitions.updated", "metafield_definition"])
            const { link, unlink } = yield* Stores
            const [unlinked, ...lost] = yield* changesBy(unlink("a.example"))
            assert.deepStrictEqual(unlinked, ["store.unlinked", "store", a.id, a.id, ""])
            assert.sameDeepMembers(lost, [
              ["store_version.removed", "product", product, a.id, ""],
              ["store_version.removed", "variant", variant, a.id, ""]
            ])
            const linked = yield* changesBy(link({ domain: "a.example" }))
            assert.deepStrictEqual(
              linked.map(([type]) => type),
              ["store.linked", "store_version.added", "store_version.added"]
            )
            assert.deepStrictEqual(yield* changesBy(Effect.void), [])
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a page continues where the last one ended, even if that was empty", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          const other = yield* anAccount({ domains: ["other.example"] })
          yield* Effect.gen(function* () {
            const begin = yield* feedPage(undefined, 10)
            assert.deepStrictEqual([begin.data, begin.next_cursor], [[], yield* latest])
            const titles = ["1", "2", "3", "4", "5"]
            const ids: Array<string> = []
            for (const title of titles) ids.push(yield* anEntity("product", { title }))
            const seen: Array<string> = []
            const numbers: Array<number> = []
            let cursor: string | undefined
            for (const expected of [2, 2, 1, 0, 0]) {
              const page = yield* feedPage(cursor, 2)
              assert.lengthOf(page.data, expected)
              seen.push(...page.data.map(({ entity }) => entity.id))
              numbers.push(...page.data.map(({ seq }) => seq))
              if (expected === 0) assert.strictEqual(page.next_cursor, cursor)
              cursor = page.next_cursor
            }
            assert.deepStrictEqual(seen, ids)
            assert.deepStrictEqual(numbers, [1, 2, 3, 4, 5])
            assert.strictEqual(yield* latest, cursor)
            const { read } = yield* ChangeFeed
            const part = yield* read(accountId, 3, 1)
            assert.deepStrictEqual([part.changes[0]?.seq, part.changes.length, part.floor, part.last], [4, 1, 0, 5])
            const foreign = yield* latest.pipe(actingAs(other.actor))
            for (const wrong of [foreign, "x", "", `${cursor}A`])
              assert.match((yield* Effect.flip(feedPage(wrong, 1))).message, /^cursor: is not a cursor of this feed/)
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "all entities of a large change are in the feed, for imports too, and pages may end anywhere in it",
        () =>
          Effect.gen(function* () {
            const { actor, stores } = yield* anAccount({ domains: ["a.example"] })
            yield* Effect.gen(function* () {
              const changes = yield* CatalogChanges
              const transaction = yield* Transaction
              const begun = yield* latest
              const created: Array<CatalogChange> = []
              const ids: Array<string> = []
              for (let index = 0; index < 300; index++) {
                const id = yield* mintId(EntityId)
                ids.push(id)
                created.push(
                  CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: String(index) } }),
                  CatalogChange.AddToStore({ entityId: id, storeId: stores[0].id })
                )
              }
              yield* transaction.run(changes.applyImported(yield* mintId(ImportId), created))
              const whole: Array<readonly [number, string, string]> = []
              for (let cursor = begun; ; ) {
                const page = yield* feedPage(cursor, 250)
                whole.push(...page.data.map(({ entity, seq, type }) => [seq, type, entity.id] as const))
                cursor = page.next_cursor
                if (page.data.length < 250) break
              }
              assert.lengthOf(whole, 600)
              assert.deepStrictEqual(
                whole.map(([, type]) => type),
                [...Array(300).fill("entity.created"), ...Array(300).fill("store_version.added")]
              )
              assert.deepStrictEqual(
                whole.map(([, , id]) => id),
                [...ids, ...ids]
              )
              const first = whole[0]?.[0] ?? 0
              assert.deepStrictEqual(
                whole.map(([seq]) => seq),
                whole.map((_, index) => first + index)
              )
              for (const limit of [1, 7, 249]) {
                let cursor = begun
                const some: Array<string> = []
                for (let pages = 0; pages < (limit === 1 ? 5 : 600 / limit); pages++) {
                  const page = yield* feedPage(cursor, limit)
                  some.push(...page.data.map(({ entity }) => entity.id))
                  cursor = page.next_cursor
                }
                assert.deepStrictEqual(some, [...ids, ...ids].slice(0, some.length))
                assert.isAtLeast(some.length, limit === 1 ? 5 : 600)
              }
            }).pipe(actingAs(actor))
          })
      )

      it.effect("a copy that follows the feed equals the catalog after random writes", () =>
        Effect.gen(function* () {
          const domains = ["a.example", "b.example", "c.example"]
          const { actor, stores } = yield* anAccount({ domains })
          yield* Effect.gen(function* () {
            const dice = new Dice(`copy on ${engine.name}`)
            const known: Known = {
              ids: { product: [], variant: [], collection: [], media: [] },
              productOf: new Map(),
              stores
            }
            // A seed whose first changes refuse one another would leave too few entities to write to.
            for (const kind of ["product", "product", "collection", "media"] as const)
              known.ids[kind].push(yield* anEntity(kind, kind === "media" ? { url: "https://cdn.example/1.jpg" } : {}))
            const copy = yield* copyAll
            let changes = 0
            // With some seeds most writes refuse one another.
            for (let round = 0; round < 12 || (changes <= 60 && round < 60); round++) {
              for (let write = 0; write < 25; write++) yield* randomWrite(dice, known, `${round}.${write}`)
              changes += yield* follow(copy, dice.pick([3, 17, 250]))
              assert.deepStrictEqual(contents(copy), contents(yield* copyAll))
            }
            report(`copy on ${engine.name}`, { changes, entities: Object.keys(copy.entities).length })
            assert.isAbove(changes, 60)
          }).pipe(actingAs(actor))
        })
      )
    })
  })
}
