import { Array as Arr, Context, Effect, Layer, Option, Stream } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { type AccountId, type EntityId, ExportId, type StoreId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Stores } from "../stores/Stores.ts"
import type { Lines, Part, SelectedCount } from "./CatalogLines.sql.ts"
import type { ExportItem } from "./ExportItem.ts"
import { ExportItemsRepo } from "./ExportItemsRepo.ts"
import { refuseWithPlatform } from "./ExportJobs.ts"
import { type ExportSelection, makeSelected } from "./ExportSelection.ts"
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

/**
 * Reads the chosen entities in parts, or, without any, all; `next` gives the position after a part, or null. A part is used while the
 * next one is read, so the database and this process work at the same time.
 */
const inParts = <A, E, R>(
  chosen: ReadonlyArray<EntityId> | null,
  size: number,
  read: (part: Part) => Effect.Effect<A>,
  next: (part: A) => number | null | undefined,
  use: (part: A) => Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> => {
  const parts =
    chosen === null
      ? Stream.paginateEffect(0, (after) =>
          Effect.map(read({ after, limit: size }), (part) => [part, Option.fromNullable(next(part))])
        )
      : Stream.mapEffect(Stream.fromIterable(Arr.chunksOf(chosen, size)), (ids) => read({ ids }))
  return Stream.runForEach(Stream.buffer(parts, { capacity: 1 }), use)
}

/** Makes the function that writes the first lines of JSON. It returns those that write the others. */
const makeLines =
  (repo: Context.Tag.Service<ExportsRepo>) =>
  (write: WriteExport, accountId: AccountId, selected: SelectedCount | null) =>
    Effect.gen(function* () {
      const { entities: total, line, stores } = yield* repo.head(accountId, selected)
      let done = 0
      yield* write([line, ...stores, ""].join("\n"), done, total)
      return {
        /** `chosen`: only these entities of the kind; null: all. */
        entities: (kind: EntityKind, chosen: ReadonlyArray<EntityId> | null) =>
          inParts(
            chosen,
            linesAtOnce,
            (part) => repo.lines(accountId, kind, part),
            ({ last }) => last,
            ({ entities, lines }: Lines) => {
              done += entities
              return write(lines, done, total)
            }
          ),
        end: Effect.suspend(() =>
          Effect.as(write(`${JSON.stringify({ type: "end", entities: done })}\n`, done, total), {
            exportId: null,
            notes: []
          } satisfies ExportEnd)
        )
      }
    })

const make = Effect.gen(function* () {
  const items = yield* ExportItemsRepo
  const repo = yield* ExportsRepo
  const { chosenOf, idsOf } = yield* makeSelected
  const stores = yield* Stores
  const beginLines = makeLines(repo)
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
      const { end, entities } = yield* beginLines(write, accountId, null)
      for (const kind of kindsInOrder) yield* entities(kind, null)
      return yield* end
    })

  /** Products are written with their variants, which come first. */
  const writeSelected = (selection: ExportSelection) => (write: WriteExport, accountId: AccountId) =>
    Effect.gen(function* () {
      const { kind } = selection
      const chosen = yield* chosenOf(accountId, selection)
      const parts = Arr.chunksOf(chosen, kind === "product" ? productsAtOnce : linesAtOnce)
      let variants = 0
      if (kind === "product") for (const ids of parts) variants += (yield* repo.variants(accountId, ids)).length
      const count = chosen.length
      const { end, entities } = yield* beginLines(write, accountId, { kind, count, entities: count + variants })
      for (const ids of parts) {
        if (kind === "product") yield* entities("variant", yield* repo.variants(accountId, ids))
        yield* entities(kind, ids)
      }
      return yield* end
    })

  const writeProducts =
    (storeId: StoreId, exportId: ExportId | null, selection: ExportSelection | null) =>
    (write: WriteExport, accountId: AccountId) =>
      Effect.gen(function* () {
        const chosen = selection === null ? null : yield* chosenOf(accountId, selection)
        const overview = yield* repo.overview(accountId, storeId, chosen)
        const metafields = yield* repo.metafields(accountId, storeId, chosen)
        yield* write(headerOf(metafields), 0, overview.products)
        let done = 0
        let staged = 0
        const read = (part: Part) =>
          Effect.tap(repo.products(accountId, storeId, part), (rows) => {
            if (exportId === null) return Effect.void
            const before = staged
            staged += rows.length
            return items.stage(accountId, exportId, before, rows.map(toItem))
          })
        yield* inParts(
          chosen,
          productsAtOnce,
          read,
          (rows) => rows.at(-1)?.place,
          (rows) => {
            done += rows.length
            return write(rows.map((row) => recordsOf(row, metafields)).join(""), done, overview.products)
          }
        )
        return { exportId, notes: notesOf(overview, chosen) }
      })

  const csv = (storeId: StoreId, forPublish: boolean, selection: ExportSelection | null) =>
    Effect.gen(function* () {
      const store = yield* stores.find(storeId)
      if (forPublish) yield* refuseWithPlatform(store)
      const exportId = forPublish ? yield* mintId(ExportId) : null
      return exporting(writeProducts(storeId, exportId, selection))
    })

  return {
    /** All entities with their values, store versions and relationships, as lines of JSON. docs/exports.md has the format. */
    jsonl: exporting(writeCatalog),
    /**
     * As `jsonl`, of selected entities, and of the variants of selected products. NotFound: an unknown id, or one of another kind.
     * ValidationFailed: the filters find nothing, or more than `maxSelected`.
     */
    selectedJsonl: (selection: ExportSelection) => exporting(writeSelected(selection)),
    /**
     * The products of a store as the product CSV of Shopify. `forPublish`: saves the exported revisions, so that they can count as
     * published when the file is complete. `selection`: only those of these products that are on the store. NotFound: no such store.
     * ValidationFailed: `forPublish`, but the store has a platform. Also the errors of `selectedJsonl`.
     */
    csv: (storeId: StoreId, forPublish: boolean, selection: ExportSelection | null = null) =>
      Stream.unwrap(csv(storeId, forPublish, selection)),
    /** The number of selected entities at present. Of too many, it is more than `maxSelected`. NotFound: as for `selectedJsonl`. */
    count: (selection: ExportSelection) =>
      Effect.flatMap(CurrentActor, ({ accountId }) => Effect.map(idsOf(accountId, selection), ({ length }) => length))
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

const notesOf = (
  { products, withoutHandle, withoutTitle, withSharedHandle }: StoreOverview,
  chosen: ReadonlyArray<EntityId> | null
): ReadonlyArray<string> => [
  ...countText(chosen === null ? 0 : chosen.length - products, "not on this store: the file does not have them."),
  ...countText(withoutTitle, "without a title: an import refuses the file until they have one."),
  ...countText(withoutHandle, "without a handle: the file has the id instead, which an import sets as the handle."),
  ...countText(withSharedHandle, "with the handle of another product: an import refuses the file until handles differ.")
]
