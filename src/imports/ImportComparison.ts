import { Chunk, Effect, Option, Sink, Stream } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { Aggregate } from "../drafts/Aggregate.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { typesFor } from "../drafts/DraftWrite.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { definitionOf } from "../model/Definition.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, type ImportId, type StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import type { Store } from "../model/Store.ts"
import { makeBreath } from "../runtime/Breath.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { UuidSource } from "../runtime/Identifiers.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { readShopifyCsv, type ShopifyCsvPart } from "./csv/ShopifyCsv.ts"
import type { InspectedCsv } from "./csv/ShopifyCsvInspection.ts"
import type { ImportSummary } from "./Import.ts"
import { ImportedMetafields } from "./ImportedMetafields.ts"
import { type ImportedProduct, ImportProblems, quoted } from "./ImportedProduct.ts"
import { planImport } from "./ImportPlan.ts"
import { type Compared, ImportStaging, partsAtOnce, type ReportProgress } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"

/** A Shopify product export that was checked. SKUs that several of its products share match nothing. */
export interface CheckedFile extends InspectedCsv {
  /** Absolute. */
  readonly path: string
}

/**
 * Compares a whole export with the catalog and stages what it will do, in place of what was staged for this import before.
 * ImportFileRejected: everything in which it does not fit the catalog.
 */
export const makeImportComparison = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
  const drafts = yield* DraftsRepo
  const faults = yield* FaultInjector
  const importLock = yield* ImportLockRepo
  const repo = yield* ImportsRepo
  const stores = yield* StoresRepo
  const transaction = yield* Transaction

  /** The products that a batch of the file leads to, with all that planning them reads. */
  const compare = (
    accountId: AccountId,
    store: Store,
    batch: ReadonlyArray<ImportedProduct>,
    { rules, sharedSkus }: Pick<CheckedFile, "sharedSkus"> & { readonly rules: KeyRules },
    taken: ReadonlyMap<EntityId, number>,
    problems: ImportProblems
  ) =>
    transaction.run(
      Effect.gen(function* () {
        // Whoever holds it alone takes locks of entities in an order of its own.
        yield* importLock.share(accountId)
        const skusOf = ({ variants }: ImportedProduct) =>
          variants.flatMap(({ values }) => (values.sku && !sharedSkus.has(values.sku) ? [values.sku] : []))
        const { byHandle, bySku } = yield* repo.match(
          accountId,
          batch.flatMap(skusOf),
          batch.flatMap(({ handle, writtenHandle = handle }) => [...new Set([handle, writtenHandle])])
        )
        const targets = new Map<ImportedProduct, EntityId>()
        const lines = new Map<EntityId, number>()
        for (const product of batch) {
          const target = targetOf(product, { byHandle, bySku, taken, lines }, problems)
          if (target === undefined) continue
          lines.set(target, product.line)
          targets.set(product, target)
        }
        if (problems.count > 0) return { plans: [], lines }
        const { aggregates, storeIds } = yield* drafts.lock(accountId, [...targets.values()], [])
        const products = new Map([...aggregates].map(([id, aggregate]) => [id, shownBy(storeIds, aggregate)]))
        const mediaIds = [...products.values()].flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId))
        const media = yield* drafts.lock(accountId, [...new Set(mediaIds)], [])
        const nextUuid = yield* UuidSource
        const plans = yield* Effect.sync(() =>
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
            const given = {
              ...product,
              values: { ...product.values, ...handle },
              types: typesFor(rules, "product", Object.keys(product.values)),
              variants: product.variants.map((variant) => ({
                ...variant,
                types: typesFor(rules, "variant", Object.keys(variant.values))
              }))
            }
            return planImport(
              given,
              { product: here, variants, media: files },
              { storeId: store.id, isComplete: false, isAnsweredByStore: store.platform !== "none" },
              () => EntityId.make(nextUuid())
            )
          })
        )
        return { plans, lines }
      })
    )

  const stageFile = (accountId: AccountId, store: Store, id: ImportId, file: CheckedFile, report: ReportProgress) =>
    Effect.gen(function* () {
      const version = yield* repo.accountVersion(accountId)
      // After the version: one that is unlinked later moves it.
      if (Option.isNone(yield* stores.find(accountId, store.id)))
        return yield* ValidationFailed.at("store", `${store.domain} was unlinked while its file was read`)
      yield* repo.clear(accountId, id)
      // A column without a value makes no definition.
      const filled = file.metafields.filter(({ count }) => count > 0)
      const rules = yield* definitions.rulesWith(accountId, filled.map(definitionOf))
      const metafields = new ImportedMetafields(file, rules)
      const problems = new ImportProblems()
      // Lines of the file by the product here that they lead to.
      const taken = new Map<EntityId, number>()
      const staging = new ImportStaging(repo, accountId, id, store.id)
      const breathe = yield* makeBreath
      const stageBatch = (batch: ReadonlyArray<ImportedProduct>) =>
        Effect.gen(function* () {
          const { lines, plans } = yield* compare(
            accountId,
            store,
            batch,
            { rules, sharedSkus: file.sharedSkus },
            taken,
            problems
          )
          for (const [target, line] of lines) taken.set(target, line)
          yield* staging.stage(plans.map((plan) => ["products", plan]))
          yield* faults.at("staged")
          yield* breathe
        })
      yield* readShopifyCsv(file.path).pipe(
        Stream.filter((part) => part._tag === "Product"),
        Stream.transduce(
          Sink.foldWeighted({
            initial: Chunk.empty<Extract<ShopifyCsvPart, { readonly _tag: "Product" }>>(),
            maxCost: partsAtOnce,
            cost: (_, { product }) => 1 + product.variants.length + product.images.length,
            body: (parts, part) => Chunk.append(parts, part)
          })
        ),
        Stream.runForEach((parts) =>
          Effect.zipRight(
            Effect.suspend(() =>
              stageBatch(
                Chunk.toReadonlyArray(parts).map(({ product }) =>
                  metafields.settle(product, (problem) => problems.add(problem))
                )
              )
            ),
            Option.match(Chunk.last(parts), {
              onNone: () => Effect.void,
              onSome: ({ bytesRead, totalBytes }) => report({ step: "comparing", done: bytesRead, total: totalBytes })
            })
          )
        )
      )
      if (problems.rejected !== null) return yield* problems.rejected
      const summary: ImportSummary = {
        ...staging.summary,
        variants: file.variants,
        images: file.images,
        unpublished: file.unpublished,
        metafields: file.metafields,
        ignored_columns: [
          ...file.ignoredColumns.map(({ filledCells, name }) => ({ name, filled_cells: filledCells })),
          ...[...metafields.unresolved].map(([name, filled_cells]) => ({ name, filled_cells }))
        ]
      }
      return { version, summary } satisfies Compared
    })

  return stageFile
})

/** What the products of a batch may lead to, and the lines of the file that led to a product already. */
interface Leads {
  readonly byHandle: ReadonlyMap<string, EntityId>
  readonly bySku: ReadonlyMap<string, EntityId>
  readonly taken: ReadonlyMap<EntityId, number>
  readonly lines: ReadonlyMap<EntityId, number>
}

/** The product that one of the file leads to: by its SKUs, else by its handle. None: it is new, or has a problem. */
const targetOf = (
  product: ImportedProduct,
  { byHandle, bySku, lines, taken }: Leads,
  problems: ImportProblems
): EntityId | undefined => {
  let target: EntityId | undefined
  let lead = { line: product.line, column: "Handle", by: `the handle ${quoted(product.handle)}` }
  for (const { line, values } of product.variants) {
    const led = values.sku ? bySku.get(values.sku) : undefined
    if (led === undefined) continue
    if (target !== undefined && target !== led) {
      const reason = "this SKU belongs to another product here than those of the product's lines before it"
      problems.add({ line, column: "Variant SKU", reason })
      return undefined
    }
    if (target === undefined) lead = { line, column: "Variant SKU", by: `the SKU ${quoted(values.sku ?? "")}` }
    target = led
  }
  target ??= byHandle.get(product.handle) ?? byHandle.get(product.writtenHandle ?? product.handle)
  if (target === undefined) {
    const reason = "the product is not here yet, and a new one needs a title"
    if (product.values.title === undefined) problems.add({ line: product.line, column: "Title", reason })
    return undefined
  }
  const before = taken.get(target) ?? lines.get(target)
  if (before === undefined) return target
  const reason = `${lead.by} leads to the same product here as the product on line ${before}`
  problems.add({ line: lead.line, column: lead.column, reason })
  return undefined
}

/** An aggregate whose gallery names these stores only: a change cannot name one that is unlinked. */
export const shownBy = (linked: ReadonlyArray<StoreId>, aggregate: Aggregate): Aggregate => ({
  ...aggregate,
  gallery: aggregate.gallery.map(({ mediaId, storeIds }) => ({
    mediaId,
    storeIds: storeIds.filter((id) => linked.includes(id))
  }))
})
