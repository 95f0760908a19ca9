import { Array as Arr, Chunk, Context, Effect, Layer, Option, Stream } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { type CurrentActor, withAccountId } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { type AccountId, type EntityId, ExportId, type StoreId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Stores } from "../stores/Stores.ts"
import type { Part, SelectedCount } from "./CatalogLines.sql.ts"
import type { ExportItem } from "./ExportItem.ts"
import { ExportItemsRepo } from "./ExportItemsRepo.ts"
import { refuseWithPlatform } from "./ExportJobs.ts"
import { type ExportSelection, makeSelected } from "./ExportSelection.ts"
import { ExportsRepo, type ReadBeside } from "./ExportsRepo.ts"
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

/** The number of parts that are read at the same time, each on a connection of its own if there are two. */
const partsAtOnce = 2

type Places = Context.Tag.Service<ExportsRepo>["places"]

/** The parts of the chosen entities, or, without any, of all. `places` gives the last positions of the next parts after a position. */
const partsOf = (
  chosen: ReadonlyArray<EntityId> | null,
  limit: number,
  places: (after: number, size: number) => ReturnType<Places>
): Stream.Stream<Part> =>
  chosen === null
    ? Stream.paginateChunkEffect(0, (after) =>
        Effect.map(places(after, limit), ({ hasMore, places }) => {
          const starts = [after, ...places]
          const next = hasMore ? Option.fromNullable(starts.pop()) : Option.none()
          return [Chunk.unsafeFromArray(starts.map((after): Part => ({ after, limit }))), next]
        })
      )
    : Stream.map(Stream.fromIterable(Arr.chunksOf(chosen, limit)), (ids) => ({ ids }))

/** Reads parts, and uses them in their order. A part is used while the next ones are read. */
const inParts = <A, E, R>(
  parts: Stream.Stream<Part>,
  read: (part: Part) => Effect.Effect<A>,
  use: (part: A) => Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> => Stream.runForEach(Stream.mapEffect(parts, read, { concurrency: partsAtOnce }), use)

/** Makes the function that writes the first lines of JSON. It returns those that write the others. */
const makeLines =
  (repo: Context.Tag.Service<ExportsRepo>) =>
  (write: WriteExport, accountId: AccountId, beside: ReadBeside, selected: SelectedCount | null) =>
    Effect.gen(function* () {
      const { entities: total, line, stores } = yield* repo.head(accountId, selected)
      let done = 0
      yield* write([line, ...stores, ""].join("\n"), done, total)
      return {
        /** `chosen`: only these entities of the kind; null: all. */
        entities: (kind: EntityKind, chosen: ReadonlyArray<EntityId> | null) =>
          inParts(
            partsOf(chosen, linesAtOnce, (after, size) => repo.places(accountId, kind, after, size, null)),
            (part) => beside(repo.lines(accountId, kind, part)),
            ({ entities, lines }) => {
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
    reads: (write: WriteExport, accountId: AccountId, beside: ReadBeside) => Effect.Effect<ExportEnd, E, CurrentActor>
  ) =>
    spool((write: WriteExport) =>
      withAccountId((accountId) => repo.inSnapshot((beside) => reads(write, accountId, beside))).pipe(
        asBackground,
        semaphore.withPermits(1)
      )
    )

  const writeCatalog = (write: WriteExport, accountId: AccountId, beside: ReadBeside) =>
    Effect.gen(function* () {
      const { end, entities } = yield* beginLines(write, accountId, beside, null)
      for (const kind of kindsInOrder) yield* entities(kind, null)
      return yield* end
    })

  /** Products are written with their variants, which come first. */
  const writeSelected =
    (selection: ExportSelection) => (write: WriteExport, accountId: AccountId, beside: ReadBeside) =>
      Effect.gen(function* () {
        const { kind } = selection
        const chosen = yield* chosenOf(accountId, selection)
        const parts = Arr.chunksOf(chosen, kind === "product" ? productsAtOnce : linesAtOnce)
        let variants = 0
        if (kind === "product") for (const ids of parts) variants += (yield* repo.variants(accountId, ids)).length
        const count = chosen.length
        const { end, entities } = yield* beginLines(write, accountId, beside, {
          kind,
          count,
          entities: count + variants
        })
        for (const ids of parts) {
          if (kind === "product") yield* entities("variant", yield* repo.variants(accountId, ids))
          yield* entities(kind, ids)
        }
        return yield* end
      })

  const writeProducts =
    (storeId: StoreId, exportId: ExportId | null, selection: ExportSelection | null) =>
    (write: WriteExport, accountId: AccountId, beside: ReadBeside) =>
      Effect.gen(function* () {
        const chosen = selection === null ? null : yield* chosenOf(accountId, selection)
        const [overview, metafields] = yield* Effect.all(
          [beside(repo.overview(accountId, storeId, chosen)), beside(repo.metafields(accountId, storeId, chosen))],
          { concurrency: partsAtOnce }
        )
        yield* write(headerOf(metafields), 0, overview.products)
        let done = 0
        yield* inParts(
          partsOf(chosen, productsAtOnce, (after, size) => repo.places(accountId, "product", after, size, storeId)),
          (part) => beside(repo.products(accountId, storeId, part, metafields)),
          (rows) =>
            Effect.gen(function* () {
              if (exportId !== null) yield* items.stage(accountId, exportId, done, rows.map(toItem))
              done += rows.length
              yield* write(rows.map((row) => recordsOf(row, metafields)).join(""), done, overview.products)
            })
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
      withAccountId((accountId) => Effect.map(idsOf(accountId, selection), ({ length }) => length))
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
