import { Context, Effect, Layer, Stream } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { type AccountId, type EntityId, ExportId, type StoreId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Stores } from "../stores/Stores.ts"
import type { ExportItem } from "./ExportItem.ts"
import { ExportItemsRepo } from "./ExportItemsRepo.ts"
import { refuseWithPlatform } from "./ExportJobs.ts"
import { ExportsRepo } from "./ExportsRepo.ts"
import { headerOf, recordsOf } from "./ShopifyCsvWriter.ts"
import { type ExportEnd, spool, type WriteExport } from "./Spool.ts"
import type { StoreOverview, StoreProductRow } from "./StoreProducts.sql.ts"

/** Maximum number of exports that one process reads at the same time. Each uses a connection until it is read. */
const maxAtOnce = 2

/** Entities of one statement, and products of one statement. */
const linesAtOnce = 500
const productsAtOnce = 200

/** Related entities come first: a collection after its products, a product after its variants and media. */
const kindsInOrder: ReadonlyArray<EntityKind> = ["media", "variant", "product", "collection"]

const make = Effect.gen(function* () {
  const items = yield* ExportItemsRepo
  const repo = yield* ExportsRepo
  const stores = yield* Stores
  const semaphore = yield* Effect.makeSemaphore(maxAtOnce)

  /** Streams the text that `reads` writes. All its reads see the catalog of one moment. */
  const exporting = <E>(
    reads: (write: WriteExport, accountId: AccountId) => Effect.Effect<ExportEnd, E, CurrentActor>
  ) =>
    spool((write: WriteExport) =>
      Effect.flatMap(CurrentActor, ({ accountId }) => repo.inSnapshot(reads(write, accountId))).pipe(
        asBackground,
        semaphore.withPermits(1)
      )
    )

  const writeCatalog = (write: WriteExport, accountId: AccountId) =>
    Effect.gen(function* () {
      const { entities: total, line, stores } = yield* repo.head(accountId)
      let done = 0
      yield* write([line, ...stores, ""].join("\n"), done, total)
      for (const kind of kindsInOrder)
        for (let after: number | null = 0; after !== null; ) {
          const page: Effect.Effect.Success<ReturnType<typeof repo.lines>> = yield* repo.lines(
            accountId,
            kind,
            after,
            linesAtOnce
          )
          done += page.entities
          after = page.last
          if (page.entities > 0) yield* write(page.lines, done, total)
        }
      yield* write(`${JSON.stringify({ type: "end", entities: done })}\n`, done, total)
      return { exportId: null, notes: [] } satisfies ExportEnd
    })

  const writeProducts = (storeId: StoreId, exportId: ExportId | null) => (write: WriteExport, accountId: AccountId) =>
    Effect.gen(function* () {
      const overview = yield* repo.overview(accountId, storeId)
      const metafields = yield* repo.metafields(accountId, storeId)
      let done = 0
      yield* write(headerOf(metafields), done, overview.products)
      for (let after = 0; ; ) {
        const rows: ReadonlyArray<StoreProductRow> = yield* repo.products(accountId, storeId, after, productsAtOnce)
        const last = rows.at(-1)
        if (last === undefined) break
        if (exportId !== null) yield* items.stage(accountId, exportId, done, rows.map(toItem))
        after = last.place
        done += rows.length
        yield* write(rows.map((row) => recordsOf(row, metafields)).join(""), done, overview.products)
      }
      return { exportId, notes: notesOf(overview) }
    })

  const csv = (storeId: StoreId, forPublish: boolean) =>
    Effect.gen(function* () {
      const store = yield* stores.find(storeId)
      if (forPublish) yield* refuseWithPlatform(store)
      const exportId = forPublish ? yield* mintId(ExportId) : null
      return exporting(writeProducts(storeId, exportId))
    })

  return {
    /** All entities with their values, store versions and relationships, as lines of JSON. docs/exports.md has the format. */
    jsonl: exporting(writeCatalog) /**
     * The products of a store as the product CSV of Shopify. `forPublish`: saves the exported revisions, so that they can count as
     * published when the file is complete. NotFound: no such store. ValidationFailed: `forPublish`, but the store has a platform.
     */,
    csv: (storeId: StoreId, forPublish: boolean) => Stream.unwrap(csv(storeId, forPublish))
  }
})

/** Writes the catalog of the actor's account as files. An export shows the catalog of one moment. */
export class Exports extends Context.Tag("catalog/Exports")<Exports, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Exports, make)
}

/** The item that records which revisions of a product the file contains. */
const toItem = ({ id, images, revision, variants }: StoreProductRow): ExportItem => ({
  productId: id,
  revisions: Object.fromEntries<number>([
    [id, revision],
    ...variants.map((variant): [EntityId, number] => [variant.id, variant.revision]),
    ...images.flatMap(
      (image): ReadonlyArray<[EntityId, number]> => (image.revision === null ? [] : [[image.id, image.revision]])
    )
  ]),
  variants: variants.map((variant) => variant.id),
  media: images.map((image) => image.id)
})

const countText = (count: number, what: string) =>
  count === 0 ? [] : [`${count.toLocaleString("en")} ${count === 1 ? "product" : "products"} ${what}`]

const notesOf = ({ withoutHandle, withoutTitle, withSharedHandle }: StoreOverview): ReadonlyArray<string> => [
  ...countText(withoutTitle, "without a title: an import refuses the file until they have one."),
  ...countText(withoutHandle, "without a handle: the file has the id instead, which an import sets as the handle."),
  ...countText(withSharedHandle, "with the handle of another product: an import refuses the file until handles differ.")
]
