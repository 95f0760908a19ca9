import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { NewEntity } from "../../src/drafts/Creation.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { type AccountId, EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { makeRowsRead } from "../support/RowsRead.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { adminSchema } from "./AdminSchema.ts"
import { ShopifyTestServer } from "./PlatformShops.ts"
import { fillShop } from "./ShopifyCatalog.ts"
import {
  aMerchant,
  domain,
  firstProduct,
  layerMerchants,
  publishDraft,
  quiet,
  refreshed,
  token
} from "./ShopifyMerchant.ts"

const products = amount(300, 3_000)
const newId = mintId(EntityId)
/** The tables that are searched for matching records. */
const matched = ["import_record", "store_version"]

const rows = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* sql`
      SELECT (SELECT md5(string_agg(e.xmin::text || to_jsonb(e)::text, '' ORDER BY e.id)) FROM entity e
              WHERE e.account_id = ${accountId}) AS entities,
             (SELECT md5(string_agg(v.xmin::text || to_jsonb(v)::text, '' ORDER BY v.entity_id, v.store_id))
              FROM store_version v WHERE v.account_id = ${accountId}) AS versions,
             (SELECT md5(string_agg(g.xmin::text || to_jsonb(g)::text, '' ORDER BY g.entity_id, g.media_id))
              FROM entity_media g WHERE g.account_id = ${accountId}) AS galleries,
             (SELECT md5(string_agg(m.xmin::text || to_jsonb(m)::text, '' ORDER BY m.collection_id, m.product_id))
              FROM collection_member m WHERE m.account_id = ${accountId}) AS members,
             (SELECT count(*)::integer FROM entity_history h WHERE h.account_id = ${accountId}) AS history,
             (SELECT change_seq::integer FROM account_state a WHERE a.account_id = ${accountId}) AS changes`
    return found
  })

describe.skipIf(!serverAnswers || adminSchema === undefined)(`a refresh of ${products} products from Shopify`, () => {
  layer(layerMerchants, { excludeTestServices: true })((it) => {
    it.effect("takes no value that Shopify filled in or wrote in another form for an edit", () =>
      Effect.gen(function* () {
        const { accountId, actor, stores } = yield* aMerchant
        const shop = (yield* ShopifyTestServer).open(token)
        const idField = (value: string) => ({ namespace: "catalog", key: "entity_id", type: "id", value })
        shop.definitions.add("PRODUCT catalog.entity_id")
        yield* Effect.gen(function* () {
          const tags = '[" Wool ","wool","New, warm"]'
          const product = yield* anEntity("product", { title: "Mug", tags, handle: "The Mug / 1" }, { on: stores })
          const variant = yield* anEntity("variant", { sku: "MUG" }, { on: stores, of: product })
          const made = shop.productSet({
            identifier: { customId: idField(product) },
            // The form that was recorded from Shopify's Admin API.
            input: {
              ...{ title: "Mug", handle: "the-mug-1", tags: ["New", "warm", "Wool"], metafields: [idField(product)] },
              variants: [
                {
                  inventoryItem: { sku: "MUG" },
                  optionValues: [{ optionName: "Title", name: "Default Title" }],
                  metafields: [idField(variant)]
                }
              ]
            }
          }).product
          const [first] = made?.variantList ?? []
          assert(made !== null && first !== undefined)
          for (const [entityId, platformId] of [
            [product, made.id],
            [variant, first.id]
          ] as const)
            for (const { id: storeId } of stores)
              yield* (yield* CatalogChanges).apply([CatalogChange.AcceptPublish({ entityId, storeId, platformId })])
          const before = yield* rows(accountId)
          const run = yield* refreshed
          assert.deepInclude(run.summary, { created: 0, updated: 0, unchanged: 1, conflicts: 0, unlinked: 0 })
          assert.deepStrictEqual(yield* rows(accountId), before)
          first.weight = { value: 2, unit: "KILOGRAMS" }
          first.price = "7.00"
          made.values.status = "DRAFT"
          assert.deepInclude((yield* refreshed).summary, { created: 0, updated: 1, conflicts: 0 })
          const sql = yield* SqlClient.SqlClient
          const values = yield* sql`
            SELECT k.key, k.value ->> 'value' AS value FROM entity e, jsonb_each(e.attributes) AS k
            WHERE e.account_id = ${accountId} ORDER BY 1, 2`
          assert.deepStrictEqual(
            values.map(({ key, value }) => [key, value]),
            [
              ["handle", "The Mug / 1"],
              ["price", "7.00"],
              ["sku", "MUG"],
              ["status", "draft"],
              ["tags", tags],
              ["title", "Mug"],
              ["weight", "2"],
              ["weight_unit", "kg"]
            ]
          )
        }).pipe(actingAs(actor))
      })
    )

    it.scoped("imports all products, and the next refresh writes nothing", () =>
      Effect.gen(function* () {
        const { rowsRead } = yield* makeRowsRead(matched)
        const { accountId, actor } = yield* aMerchant
        const shop = (yield* ShopifyTestServer).open(token)
        fillShop(shop, products)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const run = yield* refreshed
          assert.deepInclude(run, { phase: "applied", error: null })
          assert.deepInclude(run.summary, {
            created: products,
            updated: 0,
            unchanged: 0,
            conflicts: 0,
            variants: 2 * products,
            images: products,
            unlinked: 0
          })
          const kinds = yield* sql`
            SELECT e.kind, count(*)::integer AS count, count(v.platform_id)::integer AS named,
                   bool_or(e.pending_publish) AS pending
            FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
            WHERE e.account_id = ${accountId} GROUP BY 1 ORDER BY 1`
          assert.deepStrictEqual(
            kinds.map(({ count, kind, named, pending }) => [kind, count, named, pending]),
            [
              ["collection", 1, 1, false],
              ["media", products, products, false],
              ["product", products, products, false],
              ["variant", 2 * products, 2 * products, false]
            ]
          )
          const [members] = yield* sql`
            SELECT count(*)::integer AS count FROM collection_member WHERE account_id = ${accountId}`
          assert.strictEqual(members?.count, products)
          const before = yield* rows(accountId)
          const readBefore = yield* rowsRead
          const again = yield* refreshed
          // A few look-ups for each record: none of them reads the whole store.
          assert.isBelow((yield* rowsRead) - readBefore, 100 * (4 * products + 1))
          assert.deepInclude(again.summary, { created: 0, updated: 0, unchanged: products, conflicts: 0, unlinked: 0 })
          assert.strictEqual(again.applied, 0)
          assert.deepStrictEqual(yield* rows(accountId), before)

          // Changes that Shopify makes itself are not edits: the order of tags, another form of a number, a query in
          // an address.
          const first = firstProduct(shop)
          const [variant] = first.variantList
          if (variant !== undefined) variant.price = "10.000"
          first.values.tags = [...(first.values.tags as ReadonlyArray<string>)].reverse()
          for (const collection of shop.collections.values()) collection.memberIds.reverse()
          yield* refreshed
          assert.deepStrictEqual(yield* rows(accountId), before)
        }).pipe(actingAs(actor))
      })
    )

    it.effect("takes edits of the store, reports conflicts, and unlinks deleted records", () =>
      Effect.gen(function* () {
        const { actor } = yield* aMerchant
        const shop = (yield* ShopifyTestServer).open(token)
        fillShop(shop, 5)
        yield* Effect.gen(function* () {
          const imports = yield* Imports
          const sql = yield* SqlClient.SqlClient
          yield* refreshed
          const first = firstProduct(shop)
          const [row] = yield* sql`
            SELECT v.entity_id FROM store_version v
            WHERE v.account_id = ${actor.accountId} AND v.platform_id = ${first.id}`
          const entityId = String(row?.entity_id) as Parameters<typeof CatalogChange.SetAttributes>[0]["entityId"]
          yield* (yield* CatalogChanges).apply([
            CatalogChange.SetAttributes({ entityId, values: { title: "Ours", vendor: "Ours" } })
          ])
          first.values.title = "Theirs"
          first.values.descriptionHtml = "<p>New</p>"
          const last = [...shop.products.keys()].at(-1) ?? ""
          shop.products.delete(last)
          for (const collection of shop.collections.values())
            collection.memberIds = collection.memberIds.filter((id) => id !== last)
          const run = yield* imports.refresh(domain, quiet)
          // Unlinked: the product with its two variants. Its picture is still among the files.
          assert.deepInclude(run.summary, { created: 0, updated: 1, conflicts: 1, unlinked: 3 })
          const [conflict] = yield* imports.conflicts(run.id, 0, 10)
          assert.deepInclude(conflict, { field: "title", draft_value: "Ours", store_value: "Theirs" })
          yield* imports.accept(run.id, quiet, { rest: "take_store" })
          const [entity] = yield* sql`SELECT attributes, pending_publish FROM entity WHERE id = ${entityId}`
          const attributes = entity?.attributes as Readonly<Record<string, { readonly value: string }>>
          assert.deepStrictEqual(
            ["title", "vendor", "description_html"].map((key) => attributes[key]?.value),
            ["Theirs", "Ours", "<p>New</p>"]
          )
          assert.isTrue(entity?.pending_publish)
        }).pipe(actingAs(actor))
      })
    )

    for (const order of [
      ["product", "former", "added"],
      ["product", "added", "former"],
      ["former", "product", "added"],
      ["former", "added", "product"],
      ["added", "product", "former"],
      ["added", "former", "product"]
    ] as const)
      for (const isBetween of [false, true])
        it.effect(
          `finds no edit after a live product got its first option by publishes of ${order.join(", ")}${isBetween ? ", nor after the first of them" : ""}`,
          () =>
            Effect.gen(function* () {
              const { accountId, actor, stores } = yield* aMerchant
              const shop = (yield* ShopifyTestServer).open(token)
              yield* Effect.gen(function* () {
                const drafts = yield* Drafts
                const sql = yield* SqlClient.SqlClient
                const [{ id: storeId }] = stores
                const [product, former, added] = [yield* newId, yield* newId, yield* newId]
                const publish = (entityId: EntityId) => publishDraft(entityId, storeId)
                const drafted = sql`SELECT id, attributes, draft_revision FROM entity WHERE account_id = ${accountId} ORDER BY id`
                // A refresh accepts what the publishes that are left would send, so the product may count as updated.
                const findsNothing = Effect.gen(function* () {
                  const before = yield* drafted
                  assert.deepInclude((yield* refreshed).summary, { created: 0, conflicts: 0, unlinked: 0 })
                  assert.deepStrictEqual(yield* drafted, before)
                })
                yield* drafts.create(
                  NewEntity.Product({
                    id: product,
                    attributes: [{ key: "title", value: "Mug" }],
                    variantId: former,
                    variant: [{ key: "price", value: "1.00" }],
                    storeIds: [storeId]
                  })
                )
                assert.strictEqual(yield* publish(product), "published")
                const live = firstProduct(shop)
                const before = live.variantList.map(({ id }) => id)
                yield* drafts.create(
                  NewEntity.Variant({
                    id: added,
                    productId: product,
                    attributes: [],
                    optionValues: ["L"],
                    firstOption: { name: "Size", former: "S" }
                  })
                )
                for (const [index, name] of order.entries()) {
                  const expected = isBetween && index > 0 ? ["published", "nothing_to_publish"] : ["published"]
                  assert.include(expected, yield* publish({ product, former, added }[name]))
                  assert.deepStrictEqual(live.variantList[0]?.options, [{ name: "Size", value: "S" }])
                  if (isBetween) yield* findsNothing
                }
                yield* findsNothing
                assert.deepStrictEqual(live.optionList, [{ name: "Size", values: ["S", "L"] }])
                assert.deepStrictEqual(
                  live.variantList.map(({ id, options }) => [before.includes(id), options[0]?.value]),
                  [
                    [true, "S"],
                    [false, "L"]
                  ]
                )
                const waiting = yield* sql`
                  SELECT entity_id FROM store_version WHERE account_id = ${accountId} AND pending_publish`
                assert.deepStrictEqual(waiting, [])
              }).pipe(actingAs(actor))
            })
        )

    for (const [fault, operation, message] of [
      ["refused", "RunBulk", "The store's platform refused the request (ACCESS_DENIED): Access denied for field."],
      ["html", "BulkState", "The store's platform cannot be reached: its answer is not valid."],
      ["half", "BulkState", "The store's platform cannot be reached: the connection failed."],
      ["half", "BulkFile", "The store's platform cannot be reached: its answer is not valid."],
      // A record that is missing in an incomplete file does not count as deleted.
      ["short", "BulkFile", "The store's platform cannot be reached: its answer is not valid."]
    ] as const)
      it.effect(
        `fails with one reason when the platform does (${operation}: ${fault}), and nothing is half-written`,
        () =>
          Effect.gen(function* () {
            const { accountId, actor } = yield* aMerchant
            const server = yield* ShopifyTestServer
            fillShop(server.open(token), 3)
            const asker = operation === "BulkFile" ? "" : token
            server.script(asker, operation, fault, 99)
            const before = yield* rows(accountId)
            const imports = yield* Imports
            const error = yield* Effect.flip(imports.refresh(domain, quiet)).pipe(actingAs(actor))
            assert.include(["PlatformRefused", "PlatformUnavailable"], error._tag)
            const [run] = yield* imports.list.pipe(actingAs(actor))
            assert.deepInclude(run, { phase: "failed", error: message })
            assert.deepStrictEqual(yield* rows(accountId), before)
            server.repair(asker)
          })
      )
  })
})
