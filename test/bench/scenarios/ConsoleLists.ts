import { Effect, Layer, Logger, Redacted } from "effect"
import { type ListOrder, type MerchantFilters, MerchantLists } from "../../../src/catalog/MerchantLists.ts"
import { MerchantListsRepo } from "../../../src/catalog/MerchantListsRepo.ts"
import * as Database from "../../../src/database/Database.ts"
import { AccountId, nilUuid, StoreId } from "../../../src/model/Ids.ts"
import { actingAs } from "../../../src/testing/index.ts"
import { connected, openFilled, productsOnStores } from "../harness/Catalog.ts"
import { progress } from "../harness/Progress.ts"
import { table, whole } from "../harness/Report.ts"
import { median } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** The target is for 1,000,000. */
const products = Number(process.env.BENCH_LIST_PRODUCTS ?? 100_000)
const target = 300

/** The products that change in the order of changes: the oldest have the rare values, so a list of the newest finds them last. */
const rare = 30
const onSmallStore = 40

const value = (key: string, text: string) =>
  `jsonb_build_object('${key}', attributes -> '${key}' || jsonb_build_object('value', ${text}::text))`

/** Changes of `productsOnStores`, which has vendors, types and tags that a fifth or more of all products have. */
const changes = [
  `INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
   SELECT id, md5('store 4')::uuid, 'store-4.example', 'Store 4', 'none', 'en', '{en}', 'EUR' FROM account`,
  `UPDATE entity SET attributes = attributes || ${value("vendor", "'Old'")} WHERE change_seq BETWEEN ${rare + 1} AND ${Math.floor(products / 3)}`,
  `UPDATE entity SET attributes = attributes || ${value("vendor", "'Rare'")} || ${value("product_type", "'Rare'")}
                                             || ${value("tags", `'["new","rare"]'`)} WHERE change_seq <= ${rare}`,
  `UPDATE entity SET attributes = attributes - 'description_html' WHERE change_seq % 1000 = 3`,
  "UPDATE entity SET attributes = attributes - 'vendor' WHERE change_seq % 1000 = 7",
  "UPDATE entity SET attributes = attributes - 'tags' WHERE change_seq % 3 = 1",
  "UPDATE entity SET lacks_pictures = true WHERE change_seq % 1000 = 5",
  `UPDATE store_version v SET overrides = '{"title": {"type": "single_line_text_field", "value": "Own"}}' FROM entity e
   WHERE e.account_id = v.account_id AND e.id = v.entity_id
     AND (v.store_id = md5('store 1')::uuid AND e.change_seq <= ${rare} OR v.store_id = md5('store 2')::uuid AND e.change_seq % 10 = 1)`,
  `INSERT INTO store_version (account_id, entity_id, store_id, pending_publish)
   SELECT account_id, id, md5('store 4')::uuid, true FROM entity WHERE change_seq <= ${onSmallStore}`,
  `UPDATE entity SET store_ids = store_ids || md5('store 4')::uuid WHERE change_seq <= ${onSmallStore}`
]

const content = () => {
  const base = productsOnStores(products)
  return {
    ...base,
    versions: base.versions + onSmallStore,
    fill: async (url: string) => {
      await base.fill(url)
      await connected(url, async (client) => {
        // The stamps of the changed rows stay.
        await client.query("SET session_replication_role = replica")
        for (const statement of changes) await client.query(statement)
      })
    }
  }
}

/** Reads the id that PostgreSQL computes. */
const storeIdsOf = (url: string) =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly id: string }>("SELECT id FROM store ORDER BY domain")
    return rows.map(({ id }) => StoreId.make(id))
  })

interface Case {
  readonly name: string
  readonly filters: MerchantFilters
  readonly order?: ListOrder
}

const casesOf = ([first, second, third, small]: ReadonlyArray<StoreId>): ReadonlyArray<Case> => [
  { name: "no filter", filters: {} },
  { name: "no filter, by title", filters: {}, order: "title" },
  { name: "search, common", filters: { search: "backpack" } },
  { name: "search, rare", filters: { search: `kestrel ${products - 1}` } },
  { name: "search, none", filters: { search: "qqqq zzzz" } },
  { name: "store with all products", filters: { storeId: first } },
  { name: `store with ${onSmallStore} products`, filters: { storeId: small } },
  ...(["live", "changed", "publishing", "failed", "unpublished"] as const).flatMap((state) => [
    { name: `state ${state}`, filters: { state } },
    { name: `state ${state} on a store`, filters: { state, storeId: first } },
    { name: `state ${state} on a store, by title`, filters: { state, storeId: first }, order: "title" as const }
  ]),
  { name: "failed on a store without failures", filters: { state: "failed", storeId: third } },
  { name: "vendor, common", filters: { vendor: "Fjell" } },
  { name: "vendor, common, by title", filters: { vendor: "Fjell" }, order: "title" },
  { name: "vendor of the oldest third", filters: { vendor: "Old" } },
  { name: "vendor, rare", filters: { vendor: "Rare" } },
  { name: "vendor, none", filters: { vendor: "Nobody" } },
  { name: "type, common", filters: { productType: "Tent" } },
  { name: "type, rare", filters: { productType: "Rare" } },
  { name: "tag, common", filters: { tag: "outdoor" } },
  { name: "tag, rare", filters: { tag: "rare" } },
  { name: "tag, none", filters: { tag: "qqqq" } },
  { name: "own values on any store", filters: { hasOwnValues: true } },
  { name: "own values, rare", filters: { hasOwnValues: true, storeId: first } },
  { name: "own values, none", filters: { hasOwnValues: true, storeId: third } },
  ...(["description", "vendor", "type", "tags", "picture"] as const).map((missing) => ({
    name: `missing ${missing}`,
    filters: { missing }
  })),
  { name: "vendor, type and tag, common", filters: { vendor: "Fjell", productType: "Tent", tag: "outdoor" } },
  { name: "common vendor, rare type", filters: { vendor: "Fjell", productType: "Rare" } },
  { name: "common vendor, failed on a store", filters: { vendor: "Fjell", state: "failed", storeId: first } },
  { name: "common vendor, store with few products", filters: { vendor: "Fjell", storeId: small } },
  { name: "common vendor, rare own values", filters: { vendor: "Fjell", storeId: first, hasOwnValues: true } },
  { name: "common vendor, missing picture", filters: { vendor: "Fjell", missing: "picture" } },
  { name: "common vendor, missing type", filters: { vendor: "Fjell", missing: "type" } },
  { name: "common search, rare tag", filters: { search: "tent", tag: "rare" } },
  { name: "common search, missing tags", filters: { search: "tent", missing: "tags" } },
  {
    name: "common type, missing tags, unpublished, on a store",
    filters: { productType: "Tent", missing: "tags", state: "unpublished", storeId: second }
  }
]

/** Measures the product list of the console with each filter. */
export const consoleLists: Scenario = {
  name: "console-lists",
  title: "Lists of the console",
  run: async ({ rounds }) => {
    const { accountId, postgresVersion, url } = await openFilled("catalog_bench_lists", content())
    const cases = casesOf(await storeIdsOf(url))
    const measured = Effect.gen(function* () {
      const lists = yield* MerchantLists
      const rows: Array<ReadonlyArray<string>> = []
      for (const { filters, name, order = "newest" } of cases) {
        /** Milliseconds of each round, and the number of rows of the page. */
        const measure = (isFar: boolean) =>
          Effect.gen(function* () {
            const from = isFar
              ? order === "title"
                ? ([" sorgel", nilUuid] as const)
                : Math.floor(products / 10)
              : undefined
            const millis: Array<number> = []
            let page: Effect.Effect.Success<ReturnType<typeof lists.page>> | undefined
            // The first round fills caches.
            for (let round = 0; round <= rounds; round++) {
              const startedAt = performance.now()
              page = yield* lists.page("product", { ...filters, from: from as never, order, limit: 50 })
              if (round > 0) millis.push(performance.now() - startedAt)
            }
            return { millis, rows: page?.rows.length ?? 0, found: page?.found ?? 0 }
          })
        const first = yield* measure(false)
        const far = yield* measure(true)
        progress(
          `${name}: ${whole(median(first.millis))} ms, far ${whole(median(far.millis))} ms, ${first.rows} of ${first.found}`
        )
        const worst = Math.max(median(first.millis), median(far.millis))
        rows.push([
          name,
          whole(first.rows),
          whole(median(first.millis)),
          whole(Math.max(...first.millis)),
          whole(far.rows),
          whole(median(far.millis)),
          worst < target ? "yes" : "no"
        ])
      }
      return rows
    })
    const rows = await Effect.runPromise(
      measured.pipe(
        Effect.provide(
          MerchantLists.layer.pipe(
            Layer.provide(MerchantListsRepo.layer),
            Layer.provide(Database.layerServer({ url: Redacted.make(url), maxConnections: 1 })),
            Layer.provideMerge(Logger.remove(Logger.defaultLogger))
          )
        ),
        actingAs({ _tag: "Cli", accountId: AccountId.make(accountId) })
      )
    )
    return {
      postgresVersion,
      report: [
        `${whole(products)} products on three stores; each page was read ${rounds} times after a first time. The far page begins after nine tenths of the list. Milliseconds are those of the service and PostgreSQL for the rows of a page, without HTML. Target: median < ${target} ms.`,
        table(["filter", "rows", "first page, ms", "max", "rows", "far page, ms", "met"], rows)
      ].join("\n\n")
    }
  }
}
