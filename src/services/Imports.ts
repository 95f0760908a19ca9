import { basename } from "node:path"
import { Cause, Context, Effect, Layer, Option, Schedule, Stream } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../domain/Actor.ts"
import type { Aggregate } from "../domain/Aggregate.ts"
import { type CatalogChange, ownersOf } from "../domain/CatalogChange.ts"
import { NotFound, ValidationFailed } from "../domain/Errors.ts"
import { type AccountId, EntityId, ImportId, type StoreId } from "../domain/Ids.ts"
import { type ImportRun, type ImportSummary, noProducts } from "../domain/Import.ts"
import { type ImportedProduct, ImportFileRejected } from "../domain/ImportedProduct.ts"
import { planImport } from "../domain/ImportPlan.ts"
import type { Store } from "../domain/Store.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { ImportLockRepo } from "../repos/ImportLockRepo.ts"
import { ImportsRepo, type LeasedRun, type StagedItem } from "../repos/ImportsRepo.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { CatalogChanges } from "./CatalogChanges.ts"
import { mintId, UuidSource } from "./Identifiers.ts"
import { readShopifyCsv } from "./ShopifyCsv.ts"

/** How far an import is: bytes of the file while it is checked and compared, products while it is applied. */
export interface ImportProgress {
  readonly step: "checking" | "comparing" | "applying"
  readonly done: number
  readonly total: number
}

type Report = (progress: ImportProgress) => Effect.Effect<void>

/** Products that are matched and planned together. */
const productsAtOnce = 100
/** Entities that one transaction writes at most: decisions on imports. */
const entitiesAtOnce = 1_000
/** A lease of 60 s is renewed so often. */
const renewal = Schedule.spaced("15 seconds")
const mostTakeovers = 3
/** How often the catalog may change while a file is compared with it before we give up. */
const mostComparisons = 5

const refused = (path: string, message: string) => new ValidationFailed({ issues: [{ path, message }] })

/** Imports of a store's catalog: checked as a whole, compared with what is here, applied when accepted. */
export class Imports extends Context.Tag("catalog/Imports")<
  Imports,
  {
    /**
     * Reads a Shopify product export of one store (an absolute path) and compares it with the catalog. It then waits in
     * `reviewing`, the account locked, until it is accepted or discarded. Nothing of the catalog is written.
     *
     * ImportFileRejected: the first thing that is wrong with the file. ValidationFailed: an unknown store, or another
     * import that is under review.
     */
    readonly csv: (
      path: string,
      storeDomain: string,
      report: Report
    ) => Effect.Effect<ImportRun, ImportFileRejected | ValidationFailed, CurrentActor>
    /** Newest first. */
    readonly list: Effect.Effect<ReadonlyArray<ImportRun>, never, CurrentActor>
    /** NotFound: the account has no such import. */
    readonly get: (id: ImportId) => Effect.Effect<ImportRun, NotFound, CurrentActor>
    /** Applies an import that is under review. ValidationFailed: it is not. */
    readonly accept: (
      id: ImportId,
      report: Report
    ) => Effect.Effect<ImportRun, NotFound | ValidationFailed, CurrentActor>
    /** Forgets an import that is under review. ValidationFailed: it is not. */
    readonly discard: (id: ImportId) => Effect.Effect<ImportRun, NotFound | ValidationFailed, CurrentActor>
    /** Finishes what a process that is gone left behind; answers how many imports it took over. */
    readonly resume: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    Imports,
    Effect.gen(function* () {
      const changes = yield* CatalogChanges
      const drafts = yield* DraftsRepo
      const importLock = yield* ImportLockRepo
      const repo = yield* ImportsRepo
      const stores = yield* StoresRepo
      const transaction = yield* Transaction

      const found = (accountId: AccountId, id: ImportId) =>
        Effect.flatMap(
          repo.find(accountId, id),
          Effect.mapError(() => new NotFound())
        )

      /** Keeps the lease while the work goes on. */
      const leased = <A, E, R>(
        accountId: AccountId,
        id: ImportId,
        phase: "fetching" | "applying",
        work: Effect.Effect<A, E, R>
      ) =>
        Effect.raceFirst(work, Effect.zipRight(Effect.repeat(repo.renew(accountId, id, phase), renewal), Effect.never))

      const fail = (accountId: AccountId, id: ImportId, error: string) =>
        transaction.run(
          Effect.gen(function* () {
            const holder = yield* importLock.take(accountId)
            yield* repo.clear(accountId, id)
            yield* repo.move(accountId, id, { phase: "failed", leased: false, error })
            if (Option.contains(holder, id)) yield* importLock.keep(accountId, null)
          })
        )

      /** The products that a batch of the file leads to, with all that planning them reads. */
      const compare = (
        accountId: AccountId,
        store: Store,
        batch: ReadonlyArray<ImportedProduct>,
        taken: Map<string, number>
      ) =>
        transaction.run(
          Effect.gen(function* () {
            // Whoever holds it alone takes locks of entities in an order of its own.
            yield* importLock.share(accountId)
            const skusOf = ({ variants }: ImportedProduct) =>
              variants.flatMap(({ values }) => (values.sku ? [values.sku] : []))
            const { byHandle, bySku } = yield* repo.match(
              accountId,
              batch.flatMap(skusOf),
              batch.map(({ handle }) => handle)
            )
            const targets = new Map<ImportedProduct, EntityId>()
            for (const product of batch) {
              let target: EntityId | undefined
              for (const { line, values } of product.variants) {
                const led = values.sku ? bySku.get(values.sku) : undefined
                if (led === undefined) continue
                if (target !== undefined && target !== led)
                  return yield* new ImportFileRejected({
                    line,
                    column: "Variant SKU",
                    reason: "this SKU belongs to another product here than those of the product's lines before it"
                  })
                target = led
              }
              target ??= byHandle.get(product.handle)
              if (target === undefined) {
                if (product.values.title === undefined)
                  return yield* new ImportFileRejected({
                    line: product.line,
                    column: "Title",
                    reason: "the product is not here yet, and a new one needs a title"
                  })
                continue
              }
              const before = taken.get(target)
              if (before !== undefined)
                return yield* new ImportFileRejected({
                  line: product.line,
                  column: null,
                  reason: `this product leads to the same product here as the one on line ${before}`
                })
              taken.set(target, product.line)
              targets.set(product, target)
            }
            const { aggregates, storeIds } = yield* drafts.lock(accountId, [...targets.values()], [])
            const products = new Map([...aggregates].map(([id, aggregate]) => [id, shownBy(storeIds, aggregate)]))
            const mediaIds = [...products.values()].flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId))
            const media = yield* drafts.lock(accountId, [...new Set(mediaIds)], [])
            const nextUuid = yield* UuidSource
            return yield* Effect.sync(() =>
              batch.map((product) => {
                const target = targets.get(product)
                const here = target === undefined ? undefined : products.get(target)
                const variants = [...products.values()]
                  .filter(({ parentId }) => parentId !== null && parentId === target)
                  .sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
                const shown = [here, ...variants].flatMap((entity) => entity?.gallery ?? [])
                const files = [...new Set(shown.map(({ mediaId }) => mediaId))].flatMap(
                  (id) => media.aggregates.get(id) ?? []
                )
                const handle = product.values.handle === undefined ? { handle: product.handle } : {}
                const given = { ...product, values: { ...product.values, ...handle } }
                return planImport(given, { product: here, variants, media: files }, store.id, () =>
                  EntityId.make(nextUuid())
                )
              })
            )
          })
        )

      /** Compares the whole file and stages what it will do; answers the summary and the catalog's version before. */
      const stageFile = (accountId: AccountId, store: Store, id: ImportId, path: string, report: Report) =>
        Effect.gen(function* () {
          const version = yield* repo.accountVersion(accountId)
          // After the version: one that is unlinked later moves it.
          if (Option.isNone(yield* stores.find(accountId, store.id)))
            return yield* refused("store", `${store.domain} was unlinked while its file was read`)
          yield* repo.clear(accountId, id)
          const taken = new Map<string, number>()
          let summary: ImportSummary = noProducts
          let ordinal = 0
          const stageBatch = (batch: ReadonlyArray<ImportedProduct>) =>
            Effect.gen(function* () {
              const plans = yield* compare(accountId, store, batch, taken)
              const items: Array<StagedItem> = []
              for (const plan of plans) {
                summary = {
                  ...summary,
                  [plan.outcome]: summary[plan.outcome] + 1,
                  conflicts: summary.conflicts + plan.conflicts
                }
                if (plan.changes.length > 0)
                  items.push({ ordinal, entities: entitiesOf(plan.changes), changes: plan.changes })
                ordinal += 1
              }
              if (items.length > 0) yield* repo.stage(accountId, id, items)
            })
          yield* readShopifyCsv(path).pipe(
            Stream.tap((part) =>
              part._tag === "Product"
                ? Effect.void
                : Effect.sync(() => {
                    summary = {
                      ...summary,
                      variants: part.variants,
                      images: part.images,
                      ignored_columns: part.ignoredColumns.map(({ filledCells, name }) => ({
                        name,
                        filled_cells: filledCells
                      }))
                    }
                  })
            ),
            Stream.filter((part) => part._tag === "Product"),
            Stream.grouped(productsAtOnce),
            Stream.runForEach((parts) => {
              const [last] = [...parts].slice(-1)
              return Effect.zipRight(
                stageBatch([...parts].map(({ product }) => product)),
                report({ step: "comparing", done: last?.bytesRead ?? 0, total: last?.totalBytes ?? 0 })
              )
            })
          )
          return { version, summary }
        })

      /** Locks the account for the review, unless it changed since the comparison began. */
      const enterReview = (
        accountId: AccountId,
        id: ImportId,
        compared: { readonly version: number; readonly summary: ImportSummary }
      ) =>
        transaction.run(
          Effect.gen(function* () {
            const holder = yield* importLock.take(accountId)
            if (Option.isSome(holder)) return yield* underReview(holder.value)
            if ((yield* repo.accountVersion(accountId)) !== compared.version) return false
            yield* repo.move(accountId, id, { phase: "reviewing", leased: false, summary: compared.summary })
            yield* importLock.keep(accountId, id)
            return true
          })
        )

      const checkFile = (path: string, report: Report) =>
        readShopifyCsv(path).pipe(
          Stream.filter((part) => part._tag === "Product"),
          Stream.grouped(productsAtOnce),
          Stream.runForEach((parts) => {
            const [last] = [...parts].slice(-1)
            return report({ step: "checking", done: last?.bytesRead ?? 0, total: last?.totalBytes ?? 0 })
          })
        )

      const applyNext = (accountId: AccountId, id: ImportId) =>
        transaction.run(
          Effect.gen(function* () {
            // A lease that ran out may have given the import to another process.
            const holder = yield* importLock.take(accountId)
            if (!Option.contains(holder, id)) return 0
            const items = yield* repo.nextItems(accountId, id, entitiesAtOnce)
            if (items.length === 0) {
              const { storeId } = yield* found(accountId, id)
              yield* repo.move(accountId, id, { phase: "applied", leased: false })
              yield* importLock.keep(accountId, null)
              // Answers show when a store was imported last: one that changed nothing is news too.
              yield* stores.recordImport(accountId, storeId)
              yield* drafts.raise(accountId, { stamped: [], drafted: [] })
              return 0
            }
            yield* changes.applyImported(items.flatMap((item) => item.changes))
            yield* repo.markDone(
              accountId,
              id,
              items.map(({ ordinal }) => ordinal)
            )
            return items.length
          })
        )

      const applyAll = (accountId: AccountId, id: ImportId, total: number, report: Report) => {
        let done = 0
        return leased(
          accountId,
          id,
          "applying",
          Effect.repeat(
            Effect.tap(applyNext(accountId, id), (count) => {
              done += count
              return report({ step: "applying", done, total })
            }),
            { while: (count) => count > 0 }
          )
        ).pipe(
          Effect.asVoid,
          // The state was locked since it was compared: what cannot be applied now is a defect of ours.
          Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die }),
          Effect.provideService(CurrentActor, { _tag: "Cli", accountId })
        )
      }

      const takeOver = ({ accountId, id, phase, takeovers }: LeasedRun) =>
        phase === "fetching"
          ? fail(accountId, id, "The process that read the file ended; import it again.")
          : takeovers > mostTakeovers
            ? Effect.flatMap(Effect.orDie(found(accountId, id)), ({ applied }) =>
                fail(
                  accountId,
                  id,
                  `Applying it was interrupted ${takeovers} times; ${applied} products were applied. Import the file again to complete it.`
                )
              )
            : applyAll(accountId, id, 0, () => Effect.void)

      return {
        csv: Effect.fn("Imports.csv")(function* (path, storeDomain, report) {
          const { accountId } = yield* CurrentActor
          const store = (yield* stores.list(accountId)).find(({ domain }) => domain === storeDomain)
          if (store === undefined)
            return yield* refused("store", `no store ${storeDomain} is linked; see \`catalog store list\``)
          const holder = yield* transaction.run(importLock.share(accountId))
          if (Option.isSome(holder)) return yield* underReview(holder.value)
          const id = yield* mintId(ImportId)
          yield* repo.create(accountId, { id, storeId: store.id, fileName: basename(path) })
          const work = Effect.gen(function* () {
            yield* checkFile(path, report)
            for (let attempt = 0; attempt < mostComparisons; attempt++)
              if (yield* enterReview(accountId, id, yield* stageFile(accountId, store, id, path, report))) return
            return yield* refused(
              "catalog",
              "keeps changing while the file is compared with it; try again in a quieter moment"
            )
          })
          yield* leased(accountId, id, "fetching", work).pipe(
            Effect.tapErrorCause((cause) => fail(accountId, id, reasonOf(cause)))
          )
          return yield* Effect.orDie(found(accountId, id))
        }),
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId)),
        get: Effect.fn("Imports.get")(function* (id) {
          const { accountId } = yield* CurrentActor
          return yield* found(accountId, id)
        }),
        accept: Effect.fn("Imports.accept")(function* (id, report) {
          const { accountId } = yield* CurrentActor
          const run = yield* found(accountId, id)
          yield* transaction.run(
            Effect.gen(function* () {
              yield* importLock.take(accountId)
              const { phase } = yield* found(accountId, id)
              if (phase !== "reviewing") return yield* refused("import", `is ${phase}, not under review`)
              yield* repo.move(accountId, id, { phase: "applying", leased: true })
            })
          )
          yield* applyAll(accountId, id, run.summary.created + run.summary.updated, report)
          return yield* found(accountId, id)
        }),
        discard: Effect.fn("Imports.discard")(function* (id) {
          const { accountId } = yield* CurrentActor
          yield* transaction.run(
            Effect.gen(function* () {
              yield* importLock.take(accountId)
              const { phase } = yield* found(accountId, id)
              if (phase !== "reviewing") return yield* refused("import", `is ${phase}, not under review`)
              yield* repo.clear(accountId, id)
              yield* repo.move(accountId, id, { phase: "discarded", leased: false })
              yield* importLock.keep(accountId, null)
            })
          )
          return yield* found(accountId, id)
        }),
        resume: Effect.gen(function* () {
          for (let count = 0; ; count++) {
            const left = yield* repo.takeOver
            if (Option.isNone(left)) return count
            yield* takeOver(left.value)
          }
        })
      }
    })
  )
}

const entitiesOf = (changes: ReadonlyArray<CatalogChange>) => new Set(changes.flatMap(ownersOf)).size

/** An aggregate whose gallery names these stores only: a change cannot name one that is unlinked. */
const shownBy = (linked: ReadonlyArray<StoreId>, aggregate: Aggregate): Aggregate => ({
  ...aggregate,
  gallery: aggregate.gallery.map(({ mediaId, storeIds }) => ({
    mediaId,
    storeIds: storeIds.filter((id) => linked.includes(id))
  }))
})

const underReview = (id: ImportId) =>
  refused(
    "import",
    `import ${id} is under review: accept it with \`catalog import accept ${id}\` or discard it with \`catalog import discard ${id}\` first`
  )

const reasonOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return error instanceof ImportFileRejected || error instanceof ValidationFailed
    ? error.message
    : "The import was interrupted."
}
