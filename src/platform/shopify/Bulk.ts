import { Chunk, Duration, Effect, Either, Option, Schema, Stream } from "effect"
import { addressOf } from "../../model/SameValue.ts"
import { monotonicMillis } from "../../runtime/MonotonicClock.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import { type PlatformReadError, PlatformRefused, PlatformUnavailable } from "../PlatformErrors.ts"
import type { PlatformRecord } from "../PlatformRecord.ts"
import * as Answers from "./Answers.ts"
import { nonsense, type ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import * as Mapping from "./Mapping.ts"
import { failIfRefused } from "./Refusals.ts"

/** One line of a bulk operation's result file: a node, and the id of its parent node. */
const Line = Schema.parseJson(
  Schema.Struct(
    { id: Schema.String, __parentId: Schema.optional(Schema.String) },
    { key: Schema.String, value: Schema.Unknown }
  )
)
type Line = typeof Line.Type

/** Longer lines are refused. No valid record is that long. */
const maxLineLength = 16 * 1024 * 1024

const decode = <A, I>(schema: Schema.Schema<A, I>) => {
  const decodeEither = Schema.decodeUnknownEither(schema)
  return (value: unknown) => Either.mapLeft(decodeEither(value), () => nonsense)
}

const decodeLine = decode(Line)
const decodeProduct = decode(Answers.ProductValues)
const decodeVariant = decode(Answers.VariantValues)
const decodeCollection = decode(Answers.CollectionValues)
const decodeMetafield = decode(Answers.MetafieldValues)
const decodePictured = decode(Answers.Pictured)
const decodeFile = decode(Answers.FileValues)

/** Converts the lines of one root node to records. The lines of its child nodes follow the line of the root. */
type Reading = (lines: ReadonlyArray<Line>) => Either.Either<ReadonlyArray<PlatformRecord>, PlatformUnavailable>

/**
 * Whether the parent of each line is in its group. Lines of another root would be left out, and an import would treat these records as
 * deleted.
 */
const isComplete = ([root, ...others]: ReadonlyArray<Line>): boolean => {
  const ids = new Set([root, ...others].map((line) => line?.id))
  return root?.__parentId === undefined && others.every(({ __parentId }) => ids.has(__parentId))
}

const metafieldsUnder = (lines: ReadonlyArray<Line>, id: string) =>
  Either.all(lines.filter((line) => line.__parentId === id && "namespace" in line).map(decodeMetafield))

const idsUnder = (lines: ReadonlyArray<Line>, id: string) =>
  lines.filter((line) => line.__parentId === id && "__typename" in line).map((line) => line.id)

/** The ids of the pictures in a product's gallery, by address. */
const picturesUnder = (lines: ReadonlyArray<Line>, id: string) =>
  Either.map(
    Either.all(
      lines
        .filter((line) => line.__parentId === id && "__typename" in line)
        .map((line) => Either.map(decodePictured(line), ({ image }) => [addressOf(image?.url ?? ""), line.id] as const))
    ),
    (pictures) => new Map(pictures)
  )

const readProduct: Reading = (lines) =>
  Either.gen(function* () {
    const [root] = lines
    if (root === undefined) return []
    const product = yield* decodeProduct(root)
    const records = [Mapping.productRecord(product, yield* metafieldsUnder(lines, root.id), idsUnder(lines, root.id))]
    const pictures = yield* picturesUnder(lines, root.id)
    for (const line of lines)
      if ("selectedOptions" in line) {
        const { image } = yield* decodePictured(line)
        const picture = image === null ? null : image === undefined ? undefined : pictures.get(addressOf(image.url))
        const variant = yield* decodeVariant(line)
        records.push(Mapping.variantRecord(variant, yield* metafieldsUnder(lines, line.id), root.id, picture))
      }
    return records
  })

const readCollection: Reading = (lines) =>
  Either.gen(function* () {
    const [root] = lines
    if (root === undefined) return []
    const collection = yield* decodeCollection(root)
    return [Mapping.collectionRecord(collection, yield* metafieldsUnder(lines, root.id), idsUnder(lines, root.id))]
  })

const readFile: Reading = ([root]) =>
  root === undefined
    ? Either.right([])
    : Either.map(decodeFile(root), (file) => Option.toArray(Mapping.fileRecord(file)))

/** States of a bulk operation that has not ended. */
const openStates: ReadonlySet<string> = new Set(["CREATED", "RUNNING"])

/** The URL of a bulk operation's result file (null: no records), and the number of root nodes in it. */
interface BulkResult {
  readonly url: string | null
  readonly roots: number
}

/** Codes with which Shopify refuses to start a bulk operation until others have ended. */
const busyCodes: ReadonlySet<string | null> = new Set(["OPERATION_IN_PROGRESS", "LIMIT_REACHED"])

/**
 * Starts a bulk operation. A token may run only a few at once; others are from other programs, or from refreshes that have
 * stopped.
 */
const startBulk = (client: ShopifyClient, store: PlatformStore, query: string) =>
  Effect.gen(function* () {
    const end = (yield* monotonicMillis) + Duration.toMillis(client.options.bulkStartLimit)
    for (;;) {
      // Starting is a mutation, but `read` may repeat it: a second start does not change the store.
      const { bulkOperationRunQuery } = yield* client.read(store, Documents.runBulk, Answers.RunBulk, { query })
      const { bulkOperation, userErrors } = bulkOperationRunQuery
      if (!userErrors.some(({ code }) => busyCodes.has(code))) {
        yield* failIfRefused(userErrors, { query })
        return bulkOperation === null ? yield* nonsense : bulkOperation.id
      }
      if ((yield* monotonicMillis) >= end) return yield* new PlatformUnavailable({ reason: "throttled" })
      yield* Effect.sleep(client.options.pollEvery)
    }
  })

/** Waits until a bulk operation is complete. */
const awaitBulk = (client: ShopifyClient, store: PlatformStore, id: string) =>
  Effect.gen(function* () {
    for (;;) {
      const { bulkOperation } = yield* client.read(store, Documents.bulkState, Answers.BulkState, { id })
      if (bulkOperation === null) return yield* nonsense
      const { rootObjectCount, status, url } = bulkOperation
      if (status === "COMPLETED") return { url, roots: rootObjectCount } satisfies BulkResult
      if (!openStates.has(status))
        return yield* bulkOperation.errorCode === "ACCESS_DENIED"
          ? new PlatformRefused({
              code: "ACCESS_DENIED",
              message: "The access token does not allow reading the catalog.",
              field: null
            })
          : new PlatformUnavailable({ reason: "server" })
      yield* Effect.sleep(client.options.pollEvery)
    }
  })

/** Runs a bulk operation. One that nobody waits for any more is cancelled, because it would keep others from starting. */
const runBulk = (client: ShopifyClient, store: PlatformStore, query: string) =>
  Effect.flatMap(startBulk(client, store, query), (id) =>
    Effect.onInterrupt(awaitBulk(client, store, id), () =>
      Effect.ignore(client.read(store, Documents.cancelBulk, Schema.Unknown, { id }, client.options.liveLimit))
    )
  )

/** The lines of the file, grouped by root. Only one group is in memory at a time. */
const groupsByRoot = (client: ShopifyClient, url: string) =>
  Stream.unwrapScoped(
    Effect.map(client.download(url), (response) => {
      const start: Array<Line> = []
      return response.stream.pipe(
        Stream.mapError(() => new PlatformUnavailable({ reason: "transport" })),
        Stream.timeoutFail(() => new PlatformUnavailable({ reason: "timeout" }), client.options.callLimit),
        Stream.decodeText(),
        Stream.splitLines,
        Stream.filter((line) => line !== ""),
        Stream.mapEffect((line) => (line.length > maxLineLength ? Either.left(nonsense) : decodeLine(line))),
        Stream.map(Option.some),
        Stream.concat(Stream.succeed(Option.none<Line>())),
        Stream.mapAccum(start, (buffered, next): readonly [Array<Line>, ReadonlyArray<Line>] => {
          const line = Option.getOrUndefined(next)
          if (line?.__parentId === undefined) return [line === undefined ? [] : [line], buffered]
          // Appends in place: copying the array for each member of a large collection takes too long.
          buffered.push(line)
          return [buffered, []]
        }),
        Stream.filter((lines) => lines.length > 0)
      )
    })
  )

const bulk = (
  client: ShopifyClient,
  store: PlatformStore,
  query: string,
  reading: Reading
): Stream.Stream<PlatformRecord, PlatformReadError> =>
  Stream.unwrap(
    Effect.map(runBulk(client, store, query), ({ roots: expected, url }) => {
      let found = 0
      // A result with missing records is an error, because an import would treat the missing records as deleted.
      const isWhole = Effect.suspend(() => (found < expected ? nonsense : Effect.void))
      const records =
        url === null
          ? Stream.empty
          : groupsByRoot(client, url).pipe(
              Stream.mapEffect((lines) => {
                found += 1
                return isComplete(lines) ? reading(lines) : Either.left(nonsense)
              }),
              Stream.mapConcatChunk((some) => Chunk.unsafeFromArray([...some]))
            )
      return Stream.concat(records, Stream.drain(Stream.fromEffect(isWhole)))
    })
  )

/** Reads the whole catalog by bulk operations, because these do not count against the budget of calls. */
export const pull = (client: ShopifyClient, store: PlatformStore): Stream.Stream<PlatformRecord, PlatformReadError> =>
  bulk(client, store, Documents.bulkFiles, readFile).pipe(
    Stream.concat(bulk(client, store, Documents.bulkProducts, readProduct)),
    Stream.concat(bulk(client, store, Documents.bulkCollections, readCollection))
  )
