import { Chunk, Effect, Option, Schema, Sink, Stream } from "effect"
import { type Aggregate, variantsByProduct } from "../catalog/Aggregate.ts"
import { Transaction } from "../database/Transaction.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { typesFor } from "../drafts/DraftWrite.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { titleOf, valueOf } from "../model/Attribute.ts"
import { definitionOf } from "../model/Definition.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, type ImportId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { addressOf } from "../model/SameValue.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import { DigestMap } from "../runtime/DigestMap.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { inRuns, UuidSource, uuidOf } from "../runtime/Identifiers.ts"
import { makePause } from "../runtime/Pause.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { omitUnlinked } from "./CatalogView.ts"
import { readShopifyCsv, type ShopifyCsvPart } from "./csv/ShopifyCsv.ts"
import type { InspectedCsv } from "./csv/ShopifyCsvInspection.ts"
import type { ImportSummary } from "./Import.ts"
import { ImportedMetafields } from "./ImportedMetafields.ts"
import { type ImportedProduct, ImportProblems, quoted } from "./ImportedProduct.ts"
import { type Compared, ImportStaging, partsAtOnce, type ReportProgress } from "./ImportStaging.ts"
import { ImportsRepo } from "./ImportsRepo.ts"
import type { ImageAddresses } from "./plan/ImportPlan.ts"
import { planProduct } from "./plan/ProductPlan.ts"
import { effectiveOn } from "./plan/StoreVersion.ts"
import { findSameOptions } from "./plan/VariantPlan.ts"
import { imageAddressesOf, type StoreProduct } from "./StoreProduct.ts"

/** A checked Shopify product export. A SKU that several products of the file share is not used for matching. */
interface CheckedFile extends InspectedCsv {
  /** Absolute path of the file. */
  readonly path: string
}

type ProductPart = Extract<ShopifyCsvPart, { readonly _tag: "Product" }>

/** The input that all batches of a file share. */
interface BatchContext {
  readonly id: ImportId
  readonly file: CheckedFile
  readonly rules: KeyRules
  /** The results of earlier batches. */
  readonly earlier: {
    /** The line on which each matched product begins in the file, by the product's id in the catalog. */
    readonly lines: DigestMap
    /** The addresses of files that several products name, and that one of them creates or adds to the store. */
    readonly images: DigestMap
  }
}

/** Compares batches of an export's products with the catalog, each in one transaction. */
const makeBatchPlanning = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const repo = yield* ImportsRepo
  const transaction = yield* Transaction

  return (
    accountId: AccountId,
    store: Store,
    batch: ReadonlyArray<ImportedProduct>,
    { earlier, file: { imageAddresses, sharedSkus }, id, rules }: BatchContext,
    problems: ImportProblems
  ) =>
    transaction.run(
      Effect.gen(function* () {
        const skusOf = ({ variants }: ImportedProduct) =>
          variants.flatMap(({ values }) => (values.sku && !sharedSkus.has(values.sku) ? [values.sku] : []))
        const { byAddress, byHandle, bySku } = yield* repo.match(accountId, {
          skus: batch.flatMap(skusOf),
          handles: batch.flatMap(({ handle, writtenHandle = handle }) => [...new Set([handle, writtenHandle])]),
          addresses: batch.flatMap((product) => [...imageAddressesOf(product)])
        })
        // Exports have the id of a product without a handle in place of it.
        const ids = batch.flatMap(({ handle }) => (isEntityId(handle) ? [handle] : []))
        const byId =
          ids.length === 0 ? new Map<EntityId, Aggregate>() : (yield* drafts.read(accountId, ids, [])).aggregates
        const targets = new Map<ImportedProduct, EntityId>()
        const lines = new Map<EntityId, number>()
        for (const product of batch) {
          const target = findTarget(product, { byHandle, byId, bySku, earlierLines: earlier.lines, lines }, problems)
          if (target === undefined) continue
          lines.set(target, product.line)
          targets.set(product, target)
        }
        const planned = new Set<string>()
        if (problems.count > 0) return { plans: [], lines, images: planned }
        const { aggregates, storeIds } = yield* drafts.read(accountId, [...targets.values()], [])
        const products = new Map([...aggregates].map(([id, aggregate]) => [id, omitUnlinked(storeIds, aggregate)]))
        const variantsOf = variantsByProduct(products.values())
        const mediaIds = [
          ...[...products.values()].flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId)),
          ...[...byAddress.values()].map(({ mediaId }) => mediaId)
        ]
        const media = yield* drafts.read(accountId, [...new Set(mediaIds)], [])
        const sharedMedia = yield* repo.shownElsewhere(
          accountId,
          [...targets.values()].flatMap((productId) =>
            (products.get(productId)?.gallery ?? []).map(({ mediaId }) => ({ mediaId, productId }))
          )
        )
        const isNamedByMore = (address: string) => imageAddresses.get(address) === 2
        /** Notes that a product names an address. True: no earlier product does. */
        const noteAddress = (address: string) => {
          const isFirst = earlier.images.get(address) === undefined && !planned.has(address)
          planned.add(address)
          return isFirst
        }
        const addresses: ImageAddresses = {
          isNamed: (address) => imageAddresses.get(address) !== undefined,
          findFile: (address) => {
            const match = byAddress.get(address)
            const file = match && media.aggregates.get(match.mediaId)
            if (!file || addressOf(valueOf(effectiveOn(file, store.id), "url")) !== address) return undefined
            const isNamed = isNamedByMore(address)
            return { file, isShared: match.isShown || isNamed, isNew: !isNamed || noteAddress(address) }
          },
          share: (address) =>
            isNamedByMore(address) ? { id: EntityId.make(uuidOf(id, address)), isNew: noteAddress(address) } : undefined
        }
        const nextUuid = inRuns(yield* UuidSource)
        const planOne = (product: ImportedProduct) => {
          const target = targets.get(product)
          const here = target === undefined ? undefined : products.get(target)
          const variants = target === undefined ? [] : (variantsOf.get(target) ?? [])
          const shown = [here, ...variants].flatMap((entity) => entity?.gallery ?? [])
          const files = [...new Set(shown.map(({ mediaId }) => mediaId))].flatMap(
            (id) => media.aggregates.get(id) ?? []
          )
          const imported = toStoreProduct(product, rules, target)
          const match = { product: here, variants, media: files, sharedMedia, addresses }
          const plan = planProduct(
            imported,
            match,
            { storeId: store.id, isComplete: false, isAnsweredByStore: store.platform !== filesOnly },
            () => EntityId.make(nextUuid())
          )
          const same = findSameOptions(imported, plan.variantIds, match, store.id)
          if (same !== undefined) {
            const { attributes } = same.other
            const name = quoted(valueOf(attributes, "sku") || titleOf("variant", attributes))
            const reason = `the variant ${name} has these option values on this store and is not in the file: give both variants their values in one file`
            problems.add({ line: product.variants[same.index]?.line ?? product.line, column: null, reason })
          }
          return plan
        }
        return { plans: yield* Effect.sync(() => batch.map(planOne)), lines, images: planned }
      })
    )
})

/**
 * Compares a whole export with the catalog and stages the changes. They replace the changes that were staged before.
 * ImportFileRejected: lists every place where the file does not fit the catalog.
 */
export const makeImportComparison = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
  const faults = yield* FaultInjector
  const repo = yield* ImportsRepo
  const stores = yield* StoresRepo
  const planBatch = yield* makeBatchPlanning

  const stageFile = (accountId: AccountId, store: Store, id: ImportId, file: CheckedFile, report: ReportProgress) =>
    Effect.gen(function* () {
      const version = yield* repo.accountVersion(accountId)
      // Read after the version: unlinking the store later changes the version.
      if (Option.isNone(yield* stores.find(accountId, store.id)))
        return yield* ValidationFailed.at("store", `${store.domain} was unlinked while its file was read`)
      yield* repo.clear(accountId, id)
      // A column without values needs no definition.
      const filled = file.metafields.filter(({ count }) => count > 0)
      const rules = yield* definitions.rulesWith(accountId, filled.map(definitionOf))
      const metafields = new ImportedMetafields(file, rules)
      const problems = new ImportProblems()
      const earlier = { lines: new DigestMap(), images: new DigestMap() }
      const staging = new ImportStaging(repo, accountId, id, store.id)
      const pause = yield* makePause
      const planParts = (parts: Chunk.Chunk<ProductPart>) =>
        Effect.gen(function* () {
          const batch = Chunk.toReadonlyArray(parts).map(({ product }) =>
            metafields.convertProduct(product, (problem) => problems.add(problem))
          )
          const planned = yield* planBatch(accountId, store, batch, { id, file, rules, earlier }, problems)
          for (const [target, line] of planned.lines) earlier.lines.set(target, line)
          for (const address of planned.images) earlier.images.set(address, 1)
          return {
            plans: planned.plans,
            done: Option.match(Chunk.last(parts), { onNone: () => 0, onSome: ({ rowsRead }) => rowsRead })
          }
        })
      // The next batch is read, and the one before it planned, while a batch is staged: the process would wait for the database otherwise.
      yield* readShopifyCsv(file.path, file.version).pipe(
        Stream.filter((part) => part._tag === "Product"),
        Stream.transduce(
          Sink.foldWeighted({
            initial: Chunk.empty<ProductPart>(),
            maxCost: partsAtOnce,
            cost: (_, { product }) => 1 + product.variants.length + product.images.length,
            body: (parts, part) => Chunk.append(parts, part)
          })
        ),
        Stream.buffer({ capacity: 1 }),
        Stream.mapEffect(planParts),
        Stream.buffer({ capacity: 1 }),
        Stream.runForEach(({ done, plans }) =>
          Effect.gen(function* () {
            yield* staging.stage(plans.map((plan) => ["products", plan]))
            yield* faults.at("staged")
            yield* report({ step: "comparing", done, total: file.rows })
            yield* pause
          })
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

/** Adds the handle, unless it is the id of the `target`, and the types of metafields to a product of the file. */
const toStoreProduct = (product: ImportedProduct, rules: KeyRules, target: EntityId | undefined): StoreProduct => {
  const { handle = product.handle, ...values } = product.values
  return {
    ...product,
    values: handle === target ? values : { ...product.values, handle },
    types: typesFor(rules, "product", Object.keys(product.values)),
    variants: product.variants.map((variant) => ({
      ...variant,
      types: typesFor(rules, "variant", Object.keys(variant.values))
    }))
  }
}

const isEntityId = Schema.is(EntityId)

/** Existing products by handle, id and SKU, and the lines of the file that matched a product before (earlier batches, this batch). */
interface TargetIndex {
  readonly byHandle: ReadonlyMap<string, EntityId>
  readonly byId: ReadonlyMap<EntityId, Aggregate>
  readonly bySku: ReadonlyMap<string, EntityId>
  readonly earlierLines: DigestMap
  readonly lines: ReadonlyMap<EntityId, number>
}

/**
 * Finds the existing product that a product of the file matches: by SKU, else by handle, else by an id in place of it. undefined: new, or a
 * problem.
 */
const findTarget = (
  product: ImportedProduct,
  { byHandle, byId, bySku, earlierLines, lines }: TargetIndex,
  problems: ImportProblems
): EntityId | undefined => {
  let target: EntityId | undefined
  let match = { line: product.line, column: "Handle", by: `the handle ${quoted(product.handle)}` }
  for (const { line, values } of product.variants) {
    const owner = values.sku ? bySku.get(values.sku) : undefined
    if (owner === undefined) continue
    if (target !== undefined && target !== owner) {
      const reason = "this SKU and an earlier SKU of the product belong to different products here"
      problems.add({ line, column: "Variant SKU", reason })
      return undefined
    }
    if (target === undefined) match = { line, column: "Variant SKU", by: `the SKU ${quoted(values.sku ?? "")}` }
    target = owner
  }
  target ??= byHandle.get(product.handle) ?? byHandle.get(product.writtenHandle ?? product.handle)
  if (target === undefined && isEntityId(product.handle)) {
    const named = byId.get(product.handle)
    target = named?.kind === "product" ? named.id : undefined
  }
  if (target === undefined) {
    const reason = "the product does not exist yet, and a new product needs a title"
    if (product.values.title === undefined) problems.add({ line: product.line, column: "Title", reason })
    return undefined
  }
  const before = earlierLines.get(target) ?? lines.get(target)
  if (before === undefined) return target
  const reason = `${match.by} belongs to the product that is already on line ${before}`
  problems.add({ line: match.line, column: match.column, reason })
  return undefined
}
