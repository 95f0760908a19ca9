import { Array as Arr, Chunk, Context, Effect, Layer, Option, Stream } from "effect"
import { asBackground, Workload } from "../database/Deadlines.ts"
import { type CurrentActor, withAccountId } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, Unavailable, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, type EntityId, ExportId, type StoreId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Stores } from "../stores/Stores.ts"
import type { Lines, Part, SelectedCount } from "./CatalogLines.sql.ts"
import { makeCsvNotes } from "./CsvNotes.ts"
import type { ExportItem } from "./ExportItem.ts"
import { ExportItemsRepo } from "./ExportItemsRepo.ts"
import { ExportJobs } from "./ExportJobs.ts"
import type { ExportSelection } from "./ExportSelection.ts"
import { type ExportReads, ExportsRepo, readsBeside } from "./ExportsRepo.ts"
import { headerOf, type MetafieldColumn, recordsOf } from "./ShopifyCsvWriter.ts"
import { type ExportEnd, spool, type WriteExport } from "./Spool.ts"
import type { MetafieldKey, StoreProductRow } from "./StoreProducts.sql.ts"

/** Maximum number of exports that one process reads at the same time. Each uses one of the connections for background work until it is read. */
const maxAtOnce = 2

/** Entities of one statement, by kind. The line of a collection names all its members, and those that each store has accepted. */
const linesAtOnce: Readonly<Record<EntityKind, number>> = { media: 500, variant: 500, product: 500, collection: 10 }

/**
 * A text ends with the line that reaches this number of bytes. Several texts are in memory at once, and one of more than 512 MiB would end
 * the process, because the driver of the database cannot read it.
 */
const maxTextBytes = 16_777_216
/** A longer line cannot be exported. */
const maxLineBytes = 500_000_000

/** Products of one statement, if their variants are read with them. */
const productsAtOnce = 200
/** Products or variants of one statement that counts them or looks for their metafields. */
const metafieldsAtOnce = 5_000

/** Entities of one statement that counts them. Counting all entities of 1,000,000 products at once can take longer than its deadline. */
const countedAtOnce = 100_000

/** Related entities come first: a collection after its products, a product after its variants and media. */
const kindsInOrder: ReadonlyArray<EntityKind> = ["media", "variant", "product", "collection"]

/** The number of parts that are read at the same time, each on a connection of its own if there are two. */
const partsAtOnce = 2

const interrupted = "The database interrupted the export. Export again."

const tooLong = "The line of an entity is longer than 500 MB."

/** The number of selected entities whose ids are read at once, a multiple of the numbers above. */
const selectedAtOnce = 10_000

/** The parts of all entities. `places` gives the last positions of the next parts after a position, and is called while parts are used. */
const partsOfAll = (
  limit: number,
  places: (after: number, size: number) => ReturnType<ExportReads["places"]>
): Stream.Stream<Part> =>
  Stream.paginateChunkEffect(0, (after) =>
    Effect.map(places(after, limit), ({ hasMore, places }) => {
      const starts = [after, ...places]
      const next = hasMore ? Option.fromNullable(starts.pop()) : Option.none()
      return [Chunk.unsafeFromArray(starts.map((after): Part => ({ after, limit }))), next]
    })
  ).pipe(Stream.bufferChunks({ capacity: 1 }))

/** The parts of these entities. */
const partsOf = (ids: ReadonlyArray<EntityId>, limit: number) => Arr.chunksOf(ids, limit).map((ids) => ({ ids }))

/** The entities of a part with long lines, by the text that has them. */
const textsOf = ({ bytes, ids }: Lines) => {
  const texts: Array<Array<EntityId>> = []
  let room = 0
  ids.forEach((id, index) => {
    if (room <= 0) {
      texts.push([])
      room = maxTextBytes
    }
    texts.at(-1)?.push(id)
    room -= bytes[index] ?? 0
  })
  return texts
}

/** The parts of the selected entities. */
const partsOfSelected = (reads: ExportReads, accountId: AccountId, selection: ExportSelection, limit: number) =>
  Stream.paginateChunkEffect(0, (after) =>
    Effect.map(reads.selected(accountId, selection, after, selectedAtOnce), ({ ids, next }) => [
      Chunk.unsafeFromArray(partsOf(ids, limit)),
      Option.fromNullable(next)
    ])
  )

/** Reads parts, and uses them in their order. A part is used while the next ones are read. */
const inParts = <P, A, E, R>(
  parts: Stream.Stream<P>,
  read: (part: P) => Effect.Effect<A>,
  use: (part: A) => Effect.Effect<void, E, R>
): Effect.Effect<void, E, R> => Stream.runForEach(Stream.mapEffect(parts, read, { concurrency: partsAtOnce }), use)

/** The number of all entities of the account. */
const countAll = (reads: ExportReads, accountId: AccountId) =>
  Stream.fromIterable(kindsInOrder).pipe(
    Stream.flatMap((kind) =>
      Stream.paginateEffect(0, (after) =>
        Effect.map(reads.countAfter(accountId, kind, after, countedAtOnce), ({ count, last }) => [
          count,
          Option.fromNullable(last)
        ])
      )
    ),
    Stream.runSum
  )

/** Writes the first lines of JSON. Returns the functions that write the others. `total`: the number of entities of the export. */
const beginLines = (
  write: WriteExport,
  accountId: AccountId,
  reads: ExportReads,
  total: number,
  selected: SelectedCount | null
) =>
  Effect.gen(function* () {
    const { line, stores } = yield* reads.head(accountId, total, selected)
    let done = 0
    yield* write([line, ...stores, ""].join("\n"), done, total)
    const writeText = ({ entities, lines }: Lines) => {
      done += entities
      return write(lines, done, total)
    }
    /** Writes a part. If its lines are long, they are read again in several texts. */
    const writePart = (kind: EntityKind, part: Lines) =>
      part.ids.length === 0
        ? writeText(part)
        : Effect.forEach(
            textsOf(part),
            (ids) =>
              Effect.flatMap(reads.lines(accountId, kind, { ids }, maxLineBytes), (text) =>
                text.ids.length === 0 ? writeText(text) : Effect.dieMessage(tooLong)
              ),
            { discard: true }
          )
    return {
      /** `chosen`: only these entities of the kind; null: all. */
      entities: (kind: EntityKind, chosen: ReadonlyArray<EntityId> | null) =>
        inParts(
          chosen === null
            ? partsOfAll(linesAtOnce[kind], (after, size) => reads.places(accountId, kind, after, size, null))
            : Stream.fromIterable(partsOf(chosen, linesAtOnce[kind])),
          (part) => reads.lines(accountId, kind, part, Math.floor(maxTextBytes / linesAtOnce[kind])),
          (part) => writePart(kind, part)
        ),
      end: Effect.suspend(() =>
        Effect.as(write(`${JSON.stringify({ type: "end", entities: done })}\n`, done, total), {
          exportId: null,
          notes: []
        } satisfies ExportEnd)
      )
    }
  })

/** The number of selected entities. NotFound: an unknown id, or one of another kind. */
const countOf = (reads: ExportReads, accountId: AccountId, selection: ExportSelection) =>
  Effect.filterOrFail(
    reads.countSelected(accountId, selection),
    (count) => !("ids" in selection) || count === new Set(selection.ids).size,
    () => new NotFound()
  )

/** As `countOf`. ValidationFailed: none are selected. */
const someOf = (reads: ExportReads, accountId: AccountId, selection: ExportSelection) =>
  Effect.filterOrElse(
    countOf(reads, accountId, selection),
    (count) => count > 0,
    () => ValidationFailed.at("", `The filters find no ${selection.kind}.`)
  )

/** Makes the function that writes the product CSV of a store. */
const makeWriteProducts = Effect.gen(function* () {
  const items = yield* ExportItemsRepo

  /** The parts of the selected products, or of all, and of their variants. */
  const partsByOwner = (reads: ExportReads, accountId: AccountId, selection: ExportSelection | null) => {
    const withOwner = (owner: MetafieldKey["owner"], parts: Stream.Stream<Part>) =>
      Stream.map(parts, (part) => ({ owner, part }))
    if (selection !== null)
      return Stream.flatMap(partsOfSelected(reads, accountId, selection, metafieldsAtOnce), (part) => {
        const variants = Effect.map(reads.variants(accountId, part.ids), (ids) => partsOf(ids, metafieldsAtOnce))
        return Stream.concat(
          withOwner("product", Stream.make(part)),
          withOwner("variant", Stream.fromIterableEffect(variants))
        )
      })
    const all = (owner: MetafieldKey["owner"]) =>
      withOwner(
        owner,
        partsOfAll(metafieldsAtOnce, (after, size) => reads.places(accountId, owner, after, size, null))
      )
    return Stream.concat(all("product"), all("variant"))
  }

  /**
   * The number of products of the file, and the metafields with a value on any of them or of their variants: its last columns. Both in
   * parts, because one statement about 1,000,000 products can take longer than its deadline.
   */
  const overviewOf = (reads: ExportReads, accountId: AccountId, storeId: StoreId, selection: ExportSelection | null) =>
    Effect.gen(function* () {
      let products = 0
      const found = new Map<string, MetafieldColumn>()
      const idOf = ({ key, owner }: MetafieldKey) => `${owner} ${key}`
      yield* inParts(
        partsByOwner(reads, accountId, selection),
        ({ owner, part }) =>
          Effect.all({
            count: owner === "product" ? reads.countProducts(accountId, storeId, part) : Effect.succeed(0),
            keys: reads.metafieldKeys(accountId, storeId, owner, part)
          }),
        ({ count, keys }) =>
          Effect.sync(() => {
            products += count
            for (const key of keys) found.set(idOf(key), { ...key, name: "" })
          })
      )
      if (found.size > 0)
        for (const named of yield* reads.metafieldNames(accountId, storeId))
          if (found.has(idOf(named))) found.set(idOf(named), named)
      const metafields = [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, column]) => column)
      return { products, metafields }
    })

  return (storeId: StoreId, exportId: ExportId | null, selection: ExportSelection | null) =>
    (write: WriteExport, accountId: AccountId, reads: ExportReads) =>
      Effect.gen(function* () {
        const selected = selection === null ? null : yield* someOf(reads, accountId, selection)
        const { metafields, products } = yield* overviewOf(reads, accountId, storeId, selection)
        const { add, notes } = makeCsvNotes()
        yield* write(headerOf(metafields), 0, products)
        let done = 0
        yield* inParts(
          selection === null
            ? partsOfAll(productsAtOnce, (after, size) => reads.places(accountId, "product", after, size, storeId))
            : partsOfSelected(reads, accountId, selection, productsAtOnce),
          (part) => reads.products(accountId, storeId, part, metafields),
          (rows) =>
            Effect.gen(function* () {
              if (exportId !== null) yield* items.stage(accountId, exportId, done, rows.map(toItem))
              done += rows.length
              rows.forEach(add)
              yield* write(rows.map((row) => recordsOf(row, metafields)).join(""), done, products)
            })
        )
        return { exportId, notes: notes(selected === null ? 0 : selected - products) }
      })
})

const make = Effect.gen(function* () {
  const exportJobs = yield* ExportJobs
  const repo = yield* ExportsRepo
  const stores = yield* Stores
  const writeProducts = yield* makeWriteProducts
  const semaphore = yield* Effect.makeSemaphore(maxAtOnce)

  /**
   * Streams the text that `writeAll` writes. All its reads see the catalog of one moment. The transaction is not repeated after its first
   * write, because the text cannot be taken back.
   */
  const exporting = <E>(
    writeAll: (
      write: WriteExport,
      accountId: AccountId,
      reads: ExportReads
    ) => Effect.Effect<ExportEnd, E, CurrentActor>
  ) =>
    spool((write: WriteExport) => {
      let hasWritten = false
      const writeOnce: WriteExport = (...text) => {
        hasWritten = true
        return write(...text)
      }
      return withAccountId((accountId) =>
        repo.inSnapshot((beside) =>
          Effect.suspend(() =>
            hasWritten
              ? Effect.die(new Unavailable({ reason: interrupted }))
              : writeAll(writeOnce, accountId, readsBeside(repo, beside))
          )
        )
      ).pipe(Effect.provideService(Workload, "export"), semaphore.withPermits(1))
    })

  const writeCatalog = (write: WriteExport, accountId: AccountId, reads: ExportReads) =>
    Effect.gen(function* () {
      const total = yield* countAll(reads, accountId)
      const { end, entities } = yield* beginLines(write, accountId, reads, total, null)
      for (const kind of kindsInOrder) yield* entities(kind, null)
      return yield* end
    })

  /** Products are written with their variants, which come first. */
  const writeSelected =
    (selection: ExportSelection) => (write: WriteExport, accountId: AccountId, reads: ExportReads) =>
      Effect.gen(function* () {
        const { kind } = selection
        const count = yield* someOf(reads, accountId, selection)
        const total = kind === "product" ? yield* reads.countWithVariants(accountId, selection) : count
        const { end, entities } = yield* beginLines(write, accountId, reads, total, { kind, count })
        const parts = partsOfSelected(
          reads,
          accountId,
          selection,
          kind === "product" ? productsAtOnce : linesAtOnce[kind]
        )
        yield* Stream.runForEach(parts, ({ ids }) =>
          Effect.gen(function* () {
            if (kind === "product") yield* entities("variant", yield* reads.variants(accountId, ids))
            yield* entities(kind, ids)
          })
        )
        return yield* end
      })

  const csv = (storeId: StoreId, forPublish: boolean, selection: ExportSelection | null) =>
    Effect.gen(function* () {
      yield* forPublish ? exportJobs.check(storeId) : stores.find(storeId)
      const exportId = forPublish ? yield* mintId(ExportId) : null
      return exporting(writeProducts(storeId, exportId, selection))
    })

  return {
    /** All entities with their values, store versions and relationships, as lines of JSON. docs/exports.md has the format. */
    jsonl: exporting(writeCatalog),
    /**
     * As `jsonl`, of selected entities, and of the variants of selected products. NotFound: an unknown id, or one of another kind.
     * ValidationFailed: the filters find nothing.
     */
    selectedJsonl: (selection: ExportSelection) => exporting(writeSelected(selection)),
    /**
     * The products of a store as the product CSV of Shopify. `forPublish`: saves the exported revisions, so that they can count as
     * published when the file is complete. `selection`: only those of these products that are on the store. NotFound: no such store.
     * ValidationFailed: `forPublish`, but the store has a platform, or another job works on it. Also the errors of `selectedJsonl`.
     */
    csv: (storeId: StoreId, forPublish: boolean, selection: ExportSelection | null = null) =>
      Stream.unwrap(csv(storeId, forPublish, selection)),
    /** The number of selected entities at present. NotFound: as for `selectedJsonl`. */
    count: (selection: ExportSelection) =>
      withAccountId((accountId) => asBackground(countOf(repo, accountId, selection))),
    /** Whether the store has any of the selected entities at present. */
    isAnyOn: (storeId: StoreId, selection: ExportSelection) =>
      withAccountId((accountId) => asBackground(repo.hasSelected(accountId, storeId, selection))),
    /** The numbers of selected entities that the stores have at present. A store without any has no number. */
    countByStore: (selection: ExportSelection) =>
      withAccountId((accountId) => asBackground(repo.countByStore(accountId, selection)))
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
