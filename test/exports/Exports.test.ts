import { SqlClient } from "@effect/sql"
import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, type Context, Deferred, Effect, Exit, Fiber, Layer, Option, Queue, Runtime, Stream } from "effect"
import { Workload } from "../../src/database/Deadlines.ts"
import { HasSpareConnection } from "../../src/database/SpareTransaction.ts"
import type { Lines } from "../../src/exports/CatalogLines.sql.ts"
import type { ExportSelection } from "../../src/exports/ExportSelection.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { ExportsRepo } from "../../src/exports/ExportsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import {
  actingAs,
  anAccount,
  Catalog,
  CatalogChange,
  CatalogChanges,
  definedAs,
  Stores
} from "../../src/testing/index.ts"
import { untilQuiet } from "../faults/ServerServices.ts"
import { featureEngines, isServerCluster, layerServer, serverAnswers } from "../support/TestDatabase.ts"

type Line = Readonly<Record<string, unknown>>

/** The lines of an export of the catalog, or of a selection. */
const linesOf = (selection: ExportSelection | null) =>
  Effect.gen(function* () {
    const { jsonl, selectedJsonl } = yield* Exports
    const parts = yield* Stream.runCollect(selection === null ? jsonl : selectedJsonl(selection))
    const text = Buffer.concat([...parts].map(({ bytes }) => bytes)).toString("utf8")
    const lines = text.split("\n")
    assert.strictEqual(lines.pop(), "", "the last line ends with a line break")
    const last = [...parts].at(-1)
    return { last, lines: lines.map((line): Line => JSON.parse(line)) }
  })

const exported = linesOf(null)

/** A product with a variant on two stores, with another title on the second one. */
const aProduct = (title: string) =>
  Effect.gen(function* () {
    const { apply } = yield* CatalogChanges
    const stores = yield* (yield* Stores).list
    const [productId, variantId, mediaId, collectionId] = yield* Effect.replicateEffect(mintId(EntityId), 4)
    const ids = [productId, variantId, mediaId, collectionId] as [EntityId, EntityId, EntityId, EntityId]
    yield* apply([
      CatalogChange.CreateEntity({
        id: ids[2],
        kind: "media",
        parentId: null,
        values: { url: "https://x.example/1.jpg" }
      }),
      CatalogChange.CreateEntity({ id: ids[0], kind: "product", parentId: null, values: { title, handle: "tent" } }),
      CatalogChange.CreateEntity({
        id: ids[1],
        kind: "variant",
        parentId: ids[0],
        values: { title, sku: 'T-1 "a"\nb' }
      }),
      CatalogChange.CreateEntity({ id: ids[3], kind: "collection", parentId: null, values: { title: "Camp" } }),
      ...stores.flatMap(({ id }) =>
        ids.slice(0, 3).map((entityId) => CatalogChange.AddToStore({ entityId, storeId: id }))
      ),
      CatalogChange.SetMembers({ collectionId: ids[3], productIds: [ids[0]] }),
      CatalogChange.SetGallery({
        entityId: ids[0],
        entries: [{ mediaId: ids[2], storeIds: stores.slice(0, 1).map(({ id }) => id) }]
      }),
      ...stores
        .slice(1)
        .map(({ id }) => CatalogChange.SetOverrides({ entityId: ids[0], storeId: id, values: { title: "Zelt" } }))
    ])
    return ids
  })

const aWorld = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const { link } = yield* Stores
  const { store: first } = yield* link({ domain: "a.example" }).pipe(actingAs(actor))
  const { store: second } = yield* link({ domain: "b.example" }).pipe(actingAs(actor))
  return { accountId, actor, first, second }
}).pipe(Effect.orDie)

for (const { absent, layer: database, name } of featureEngines)
  describe.skipIf(absent)(`an export as JSON lines, ${name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(database)), { excludeTestServices: true })((it) => {
      it.effect("has every entity with its values, versions and relationships", () =>
        Effect.gen(function* () {
          const { accountId, actor, first, second } = yield* aWorld
          const empty = yield* exported.pipe(actingAs(actor))
          assert.deepStrictEqual(
            empty.lines.map(({ type }) => type),
            ["catalog", "store", "store", "end"]
          )
          const [product, variant, media, collection] = yield* aProduct("The tent").pipe(actingAs(actor))
          const { last, lines } = yield* exported.pipe(actingAs(actor))
          const [head, one, other, ...rest] = lines
          assert.deepInclude(head, { type: "catalog", format: 1, account_id: accountId, entities: 4 })
          assert.deepInclude(one, { type: "store", id: first.id, domain: "a.example", platform: "none" })
          assert.deepInclude(other, { type: "store", id: second.id, domain: "b.example" })
          assert.deepStrictEqual(rest.at(-1), { type: "end", entities: 4 })
          assert.deepStrictEqual([last?.done, last?.total], [4, 4])
          assert.deepStrictEqual(
            rest.slice(0, -1).map(({ id, type }) => [type, id]),
            [
              ["media", media],
              ["variant", variant],
              ["product", product],
              ["collection", collection]
            ]
          )
          const [, variantLine, productLine, collectionLine] = rest
          const catalog = yield* Catalog
          const detail = yield* catalog.get("product", product).pipe(actingAs(actor))
          assert.deepInclude(productLine, {
            title: "The tent",
            attributes: detail.attributes,
            draft_revision: detail.draftRevision,
            pending_publish: true,
            last_publish_status: "never_published",
            variant_ids: [variant],
            media: [{ media_id: media, store_ids: [first.id] }],
            product_ids: null,
            created_at: detail.createdAt,
            updated_at: detail.updatedAt
          })
          const stores = productLine?.stores as ReadonlyArray<Line>
          assert.deepStrictEqual(
            stores.map(({ accepted, overrides, store_domain }) => [store_domain, overrides, accepted]),
            [
              ["a.example", {}, null],
              ["b.example", { title: { type: "single_line_text_field", value: "Zelt" } }, null]
            ]
          )
          assert.deepInclude(variantLine, { product_id: product, position: 0 })
          assert.deepInclude(variantLine?.attributes, { sku: { type: "single_line_text_field", value: 'T-1 "a"\nb' } })
          assert.deepInclude(collectionLine, { product_ids: [product], variant_ids: null })
        })
      )

      it.effect("ends if the database interrupts it after its first part, and repeats nothing", () =>
        Effect.gen(function* () {
          const { actor } = yield* aWorld
          let reads = 0
          const Interrupted = Layer.effect(
            ExportsRepo,
            Effect.map(ExportsRepo, (repo) => ({
              ...repo,
              lines: (...part: Parameters<typeof repo.lines>) =>
                Effect.suspend(() => {
                  reads += 1
                  return reads === 2 ? Effect.die(new SqlError({ cause: { code: "40001" } })) : repo.lines(...part)
                })
            }))
          )
          const exit = yield* Effect.gen(function* () {
            yield* aProduct("The tent")
            yield* aProduct("The stove")
            return yield* Effect.exit(exported)
          }).pipe(Effect.provide(Exports.layer.pipe(Layer.provide(Interrupted))), actingAs(actor))
          assert.strictEqual(reads, 2)
          const defect = Exit.isFailure(exit) ? Option.getOrThrow(Cause.dieOption(exit.cause)) : undefined
          assert.instanceOf(defect, Unavailable)
          assert.strictEqual(defect.message, "The database interrupted the export. Export again.")
        })
      )

      it.effect("reads few collections at once, because a line names all members of its collection", () =>
        Effect.gen(function* () {
          const { actor } = yield* aWorld
          const read: Array<number> = []
          const Counted = Layer.effect(
            ExportsRepo,
            Effect.map(ExportsRepo, (repo) => ({
              ...repo,
              lines: (...part: Parameters<typeof repo.lines>) =>
                Effect.tap(repo.lines(...part), ({ entities }) => {
                  if (part[1] === "collection") read.push(entities)
                })
            }))
          )
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const ids = yield* Effect.replicateEffect(mintId(EntityId), 25)
            yield* apply(
              ids.map((id) => CatalogChange.CreateEntity({ id, kind: "collection", parentId: null, values: {} }))
            )
            yield* exported
            yield* linesOf({ kind: "collection", ids })
          }).pipe(Effect.provide(Exports.layer.pipe(Layer.provide(Counted))), actingAs(actor))
          assert.deepStrictEqual(
            read.sort((a, b) => a - b),
            [5, 5, 10, 10, 10, 10]
          )
        })
      )

      it.effect("reads products with long descriptions in several texts, which keep all of them in their order", () =>
        Effect.gen(function* () {
          const { actor } = yield* aWorld
          const texts: Array<Lines> = []
          const Counted = Layer.effect(
            ExportsRepo,
            Effect.map(ExportsRepo, (repo) => ({
              ...repo,
              lines: (...part: Parameters<typeof repo.lines>) =>
                Effect.tap(repo.lines(...part), (read) => (read.lines === "" ? undefined : texts.push(read)))
            }))
          )
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const [first, second] = yield* (yield* Stores).list
            if (first === undefined || second === undefined) return assert.fail("no stores")
            const ids = yield* Effect.replicateEffect(mintId(EntityId), 14)
            // A line of 3 MB in UTF-8, with half as many characters. The first products have short ones.
            const long = { description: "é".repeat(524_288) }
            yield* apply(
              ids.flatMap((id, index) => [
                CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: index < 6 ? {} : long }),
                ...[first, second].flatMap((store) => [
                  CatalogChange.AddToStore({ entityId: id, storeId: store.id }),
                  CatalogChange.SetOverrides({ entityId: id, storeId: store.id, values: index < 6 ? {} : long })
                ])
              ])
            )
            for (const selection of [null, { kind: "product", ids: ids.toReversed() }] as const) {
              texts.length = 0
              const { last, lines } = yield* linesOf(selection)
              assert.deepStrictEqual(
                lines.flatMap(({ id, type }) => (type === "product" ? [id] : [])),
                ids
              )
              assert.deepStrictEqual(lines.at(-1), { type: "end", entities: ids.length })
              assert.deepStrictEqual([last?.done, last?.total], [ids.length, ids.length])
              assert.deepStrictEqual(
                texts.map(({ entities }) => entities),
                [12, 2]
              )
              assert.isAtMost(Math.max(...texts.map(({ lines }) => Buffer.byteLength(lines))), 20_000_000)
            }
          }).pipe(Effect.provide(Exports.layer.pipe(Layer.provide(Counted))), actingAs(actor))
        })
      )

      it.effect("fails if one line is longer than a text can be", () =>
        Effect.gen(function* () {
          const { actor } = yield* aWorld
          const Short = Layer.effect(
            ExportsRepo,
            Effect.map(ExportsRepo, (repo) => ({
              ...repo,
              lines: (...[accountId, kind, part]: Parameters<typeof repo.lines>) =>
                repo.lines(accountId, kind, part, 100)
            }))
          )
          const exit = yield* Effect.gen(function* () {
            yield* aProduct("The tent")
            return yield* Effect.exit(exported)
          }).pipe(Effect.provide(Exports.layer.pipe(Layer.provide(Short))), actingAs(actor))
          const defect = Exit.isFailure(exit) ? Option.getOrThrow(Cause.dieOption(exit.cause)) : undefined
          assert.instanceOf(defect, Error)
          assert.strictEqual(defect.message, "The line of an entity is longer than 500 MB.")
        })
      )

      it.effect(
        "of selected entities has these alone, products with their variants, and begins with their number",
        () =>
          Effect.gen(function* () {
            const { actor } = yield* aWorld
            yield* Effect.gen(function* () {
              const [product, variant, media, collection] = yield* aProduct("The tent")
              const [other, otherVariant] = yield* aProduct("The stove")
              const whole = (yield* exported).lines
              for (const [selection, selected, ids] of [
                [
                  { kind: "product", ids: [product, other, product] },
                  { kind: "product", count: 2 },
                  // Both products are in one part of the file.
                  [variant, otherVariant, product, other]
                ],
                [{ kind: "product", filters: { search: "tent" } }, { kind: "product", count: 1 }, [variant, product]],
                [{ kind: "variant", ids: [otherVariant] }, { kind: "variant", count: 1 }, [otherVariant]],
                [{ kind: "media", ids: [media] }, { kind: "media", count: 1 }, [media]],
                [{ kind: "collection", ids: [collection] }, { kind: "collection", count: 1 }, [collection]]
              ] as const) {
                const { last, lines } = yield* linesOf(selection)
                const [head, one, two, ...rest] = lines
                assert.deepInclude(head, { type: "catalog", format: 1, entities: ids.length, selected })
                assert.deepStrictEqual([one?.type, two?.type], ["store", "store"])
                assert.deepStrictEqual(rest.at(-1), { type: "end", entities: ids.length })
                assert.deepStrictEqual([last?.done, last?.total], [ids.length, ids.length])
                assert.deepStrictEqual(
                  rest.slice(0, -1),
                  ids.map((id) => whole.find((line) => line.id === id) ?? assert.fail(id))
                )
              }
              assert.notProperty(whole[0], "selected")
            }).pipe(actingAs(actor))
          })
      )

      it.effect("of unknown entities, entities of another kind or account, or none is refused", () =>
        Effect.gen(function* () {
          const stranger = yield* aWorld
          const [foreign] = yield* aProduct("Not mine").pipe(actingAs(stranger.actor))
          const { actor } = yield* aWorld
          yield* Effect.gen(function* () {
            const [product, variant] = yield* aProduct("The tent")
            const { count } = yield* Exports
            for (const ids of [[foreign], [product, variant], [yield* mintId(EntityId)]]) {
              assert.strictEqual((yield* Effect.flip(linesOf({ kind: "product", ids })))._tag, "NotFound")
              assert.strictEqual((yield* Effect.flip(count({ kind: "product", ids })))._tag, "NotFound")
            }
            assert.strictEqual(yield* count({ kind: "product", ids: [product] }), 1)
            const nothing = { kind: "product", filters: { search: "nowhere" } } as const
            assert.strictEqual(yield* count(nothing), 0)
            assert.strictEqual((yield* Effect.flip(linesOf(nothing))).message, "The filters find no product.")
          }).pipe(actingAs(actor))
        })
      )

      it.effect("has nothing of another account", () =>
        Effect.gen(function* () {
          const other = yield* aWorld
          yield* aProduct("Not mine").pipe(actingAs(other.actor))
          const { actor } = yield* aWorld
          assert.lengthOf((yield* exported.pipe(actingAs(actor))).lines, 4)
        })
      )
    })
  })

/** The export's second connection, with a snapshot of its own (planted fault). */
const layerOwnSnapshot = Layer.fresh(ExportsRepo.layer).pipe(
  Layer.provide(
    Layer.effect(
      SqlClient.SqlClient,
      Effect.map(
        SqlClient.SqlClient,
        (sql) =>
          new Proxy(sql, {
            get: (target, key) =>
              key === "unsafe"
                ? (text: string) => target.unsafe(text.replace(/; SET TRANSACTION SNAPSHOT .*/, ""))
                : Reflect.get(target, key)
          })
      )
    )
  )
)

/** A repository that reads parts of one entity. `beforePart` runs on the connection of each part, before the part is read. */
const inSmallParts = (
  repo: Context.Tag.Service<ExportsRepo>,
  beforePart: (kind: EntityKind, backend: number) => Effect.Effect<void>
) =>
  Effect.map(
    SqlClient.SqlClient,
    (sql): Context.Tag.Service<ExportsRepo> => ({
      ...repo,
      places: (accountId, kind, after, _, storeId) => repo.places(accountId, kind, after, 1, storeId),
      selected: (accountId, selection, after) => repo.selected(accountId, selection, after, 1),
      lines: (accountId, kind, part, maxBytes) =>
        sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`.pipe(
          Effect.orDie,
          Effect.flatMap(([row]) => beforePart(kind, row?.pid ?? 0)),
          Effect.zipRight(repo.lines(accountId, kind, "ids" in part ? part : { ...part, limit: 1 }, maxBytes))
        )
    })
  )

/** Runs an export with another repository. */
const withRepo = (repo: Context.Tag.Service<ExportsRepo>) =>
  Effect.provide(Layer.fresh(Exports.layer).pipe(Layer.provide(Layer.succeed(ExportsRepo, repo))))

type Fault = "none" | "no snapshot" | "own snapshot"

const products = 12

/** Writes to the catalog while an export reads parts. Returns the titles in the file, and the number of connections that it used. */
const titlesWhileWritten = (fault: Fault, selection: ExportSelection | null) =>
  Effect.gen(function* () {
    const { actor } = yield* aWorld
    const ids = yield* aProduct("before").pipe(actingAs(actor))
    const more = yield* Effect.replicateEffect(mintId(EntityId), products - 1)
    const { apply } = yield* CatalogChanges
    yield* apply(
      more.map((id) => CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "before" } }))
    ).pipe(actingAs(actor))
    const runtime = yield* Effect.runtime<never>()
    const writeAll = apply(
      [...ids.slice(0, 2), ...more].map((entityId) =>
        CatalogChange.SetAttributes({ entityId, values: { title: "after" } })
      )
    ).pipe(
      Effect.provideService(CurrentActor, actor),
      // Requests have their own pool. In the background, the export may hold all connections that the account may have, and waits for the writer.
      Effect.provideService(Workload, "request"),
      Effect.orDie
    )
    let parts = 0
    const backends = new Set<number>()
    const own = yield* Effect.provide(ExportsRepo, fault === "own snapshot" ? layerOwnSnapshot : Layer.empty)
    const repo = yield* inSmallParts(own, (kind, backend) => {
      backends.add(backend)
      return kind === "product" && parts++ === 0
        ? // In a runtime of its own, because a fiber inside the snapshot would write in the snapshot's transaction.
          Effect.promise(() => Runtime.runPromise(runtime)(writeAll))
        : Effect.void
    })
    const { lines } = yield* linesOf(selection).pipe(
      withRepo(fault === "no snapshot" ? { ...repo, inSnapshot: (reads) => reads((read) => read) } : repo),
      actingAs(actor)
    )
    // Without a selection, the last part, after the last position, is empty. Without a snapshot, the writer leaves nothing to select.
    assert.strictEqual(parts, selection === null ? products + 1 : fault === "none" ? products : 1)
    const titles = lines.flatMap(({ title, type }) => (type === "product" || type === "variant" ? [title] : []))
    return { backends: backends.size, titles }
  })

for (const { absent, layer: database, name } of featureEngines)
  describe.skipIf(absent)(`a product CSV of a store, ${name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(database)), { excludeTestServices: true })((it) => {
      it.effect(
        "has the metafields of its products and their variants as columns, in however many parts it is read",
        () =>
          Effect.gen(function* () {
            const { actor, first, second } = yield* aWorld
            yield* Effect.gen(function* () {
              yield* definedAs("variant", { "care.wash": "single_line_text_field" })
              const { apply } = yield* CatalogChanges
              // The metafields of the first and third product are on the other store only.
              const ids = yield* Effect.forEach([second, first, second, first], ({ id: storeId }, place) =>
                Effect.gen(function* () {
                  const [productId, variantId] = yield* Effect.all([mintId(EntityId), mintId(EntityId)])
                  const values = { title: `Hat ${place}`, handle: `hat-${place}`, [`custom.p${place}`]: "1" }
                  yield* apply([
                    CatalogChange.CreateEntity({ id: productId, kind: "product", parentId: null, values }),
                    CatalogChange.CreateEntity({
                      id: variantId,
                      kind: "variant",
                      parentId: productId,
                      values: { [`custom.v${place}`]: "1" }
                    }),
                    ...[productId, variantId].map((entityId) => CatalogChange.AddToStore({ entityId, storeId })),
                    CatalogChange.SetOverrides({ entityId: variantId, storeId, values: { "care.wash": "cold" } })
                  ])
                  return productId
                })
              )
              const columns = (selection: ExportSelection | null) =>
                Effect.gen(function* () {
                  const parts = yield* Stream.runCollect((yield* Exports).csv(first.id, false, selection))
                  const text = Buffer.concat([...parts].map(({ bytes }) => bytes)).toString("utf8")
                  return text.split("\r\n")[0]?.match(/[^,]* \((?:product|variant)\.metafields\.[^)]*\)/g)
                })
              const own = yield* ExportsRepo
              const inSingles = withRepo({
                ...own,
                places: (accountId, kind, after, _, storeId) => own.places(accountId, kind, after, 1, storeId),
                selected: (accountId, selection, after) => own.selected(accountId, selection, after, 1),
                metafieldKeys: (accountId, storeId, owner, part) =>
                  own.metafieldKeys(accountId, storeId, owner, "ids" in part ? part : { ...part, limit: 1 }),
                products: (accountId, storeId, part, metafields) =>
                  own.products(accountId, storeId, "ids" in part ? part : { ...part, limit: 1 }, metafields)
              })
              const ofFour = ["custom.p3 (product.metafields.custom.p3)"]
              const ofBoth = ["custom.p1 (product.metafields.custom.p1)", ...ofFour]
              const ofVariants = ["wash (variant.metafields.care.wash)", "custom.v1 (variant.metafields.custom.v1)"]
              const last = "custom.v3 (variant.metafields.custom.v3)"
              const all = [...ofBoth, ...ofVariants, last]
              for (const selection of [
                null,
                { kind: "product", ids },
                { kind: "product", filters: { search: "Hat" } }
              ] as const) {
                assert.deepStrictEqual(yield* columns(selection), all)
                assert.deepStrictEqual(yield* columns(selection).pipe(inSingles), all)
              }
              const some = { kind: "product", ids: ids.slice(2) } as const
              assert.deepStrictEqual(yield* columns(some), [...ofFour, ofVariants[0], last])
            }).pipe(actingAs(actor))
          })
      )
    })
  })

// On a cluster an export uses one connection.
describe.skipIf(!serverAnswers || isServerCluster)("an export while the catalog is written", () => {
  layer(ServicesOnDatabase.pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    it.effect("shows one moment on all of its connections; without the snapshot it mixes two (planted faults)", () =>
      Effect.gen(function* () {
        const all = Array.from({ length: products + 1 }, () => "before")
        const { backends, titles } = yield* titlesWhileWritten("none", null)
        // The export holds one connection, and takes any free one for each read beside it.
        assert.isAtLeast(backends, 2)
        assert.deepStrictEqual(titles, all)
        for (const fault of ["no snapshot", "own snapshot"] as const) {
          const { titles } = yield* titlesWhileWritten(fault, null)
          assert.deepStrictEqual([...new Set(titles)].sort(), ["after", "before"], fault)
        }
        // The filters find the products by the title that the writer replaces.
        const selection = { kind: "product", filters: { search: "before" } } as const
        assert.deepStrictEqual((yield* titlesWhileWritten("none", selection)).titles, all)
        const mixed = yield* titlesWhileWritten("no snapshot", selection)
        assert.deepStrictEqual([...new Set(mixed.titles)], ["before", "after"])
      })
    )

    it.effect("reads one part after the other if there is no second connection", () =>
      Effect.gen(function* () {
        const { actor } = yield* aWorld
        yield* Effect.replicateEffect(aProduct("Tent"), products).pipe(actingAs(actor))
        const own = yield* Effect.provide(
          ExportsRepo,
          Layer.provide(
            Layer.fresh(ExportsRepo.layer),
            Layer.succeed(HasSpareConnection, () => false)
          )
        )
        let [active, most, reads] = [0, 0, 0]
        const counted = <A>(read: Effect.Effect<A>) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              reads += 1
              active += 1
              most = Math.max(most, active)
            }),
            () => read,
            () => Effect.sync(() => (active -= 1))
          )
        yield* exported.pipe(
          withRepo({
            ...own,
            places: (accountId, kind, after, _, storeId) => counted(own.places(accountId, kind, after, 1, storeId)),
            lines: (accountId, kind, part, maxBytes) =>
              counted(own.lines(accountId, kind, "ids" in part ? part : { ...part, limit: 1 }, maxBytes))
          }),
          actingAs(actor)
        )
        assert.isAtLeast(reads, 4 * products)
        assert.strictEqual(most, 1)
      })
    )

    it.effect("leaves a connection to other work of the account in the background, also while two exports run", () =>
      Effect.gen(function* () {
        const { actor } = yield* aWorld
        yield* aProduct("Tent").pipe(actingAs(actor))
        const { count } = yield* Exports
        const sql = yield* SqlClient.SqlClient
        const reading = yield* Queue.unbounded<number>()
        const stuck = yield* inSmallParts(yield* ExportsRepo, (_, backend) =>
          Effect.zipRight(Queue.offer(reading, backend), Effect.orDie(sql`SELECT pg_sleep(600)`))
        )
        const startOne = Effect.fork(exported.pipe(withRepo(stuck), actingAs(actor)))
        const first = yield* startOne
        // The first export reads its second part on a spare connection. The second export finds none.
        const backends = yield* Queue.takeN(reading, 2)
        const second = yield* startOne
        assert.lengthOf(new Set([...backends, yield* Queue.take(reading)]), 3)
        assert.strictEqual(yield* count({ kind: "product", filters: {} }).pipe(actingAs(actor)), 1)
        yield* Fiber.interruptAll([first, second])
      })
    )

    it.effect(
      "ends both transactions when it is interrupted, and the next one reads beside its own connection again",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const own = yield* ExportsRepo
          const { actor } = yield* aWorld
          for (let count = 0; count < 3; count++) yield* aProduct(`Tent ${count}`).pipe(actingAs(actor))
          for (let round = 0; round < 3; round++) {
            const reading = new Set<number>()
            const bothRead = yield* Deferred.make<void>()
            const stuck = yield* inSmallParts(own, (kind, backend) => {
              if (kind !== "variant") return Effect.void
              if (reading.add(backend).size === 2) Deferred.unsafeDone(bothRead, Effect.void)
              return Effect.orDie(sql`SELECT pg_sleep(600)`)
            })
            const exporting = yield* Effect.fork(exported.pipe(withRepo(stuck), actingAs(actor)))
            yield* Deferred.await(bothRead)
            yield* Fiber.interrupt(exporting)
            yield* untilQuiet
          }
          const used = new Set<number>()
          const whole = yield* inSmallParts(own, (_, backend) => Effect.sync(() => used.add(backend)))
          const { lines } = yield* exported.pipe(withRepo(whole), actingAs(actor))
          assert.deepStrictEqual(lines.at(-1), { type: "end", entities: 12 })
          assert.isAtLeast(used.size, 2)
        })
    )
  })
})
