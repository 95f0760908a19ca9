import { Effect, Option, Stream } from "effect"
import { BulkJobs } from "../../../src/bulk/BulkJobs.ts"
import { firstPart, Undo } from "../../../src/connections/Undo.ts"
import { DemoFailures } from "../../../src/demo/DemoFailures.ts"
import { NewEntity } from "../../../src/drafts/Creation.ts"
import { OwnDefinitions } from "../../../src/drafts/MetafieldDefinitions.ts"
import { Drops } from "../../../src/drops/Drops.ts"
import { ChangeFeed, type FeedPage } from "../../../src/feed/ChangeFeed.ts"
import { Imports } from "../../../src/imports/Imports.ts"
import { ReviewList } from "../../../src/imports/StagedImport.ts"
import { CurrentActor } from "../../../src/model/Actor.ts"
import type { EntityKind } from "../../../src/model/Attribute.ts"
import { ConnectionId, type EntityId, type ImportId, StoreId } from "../../../src/model/Ids.ts"
import { fromMillis } from "../../../src/model/Timestamp.ts"
import { DemoShops } from "../../../src/platform/demo/DemoShops.ts"
import { JobWorker } from "../../../src/programs/JobWorker.ts"
import { PublicationsRepo } from "../../../src/publishing/PublicationsRepo.ts"
import { PublishJobs } from "../../../src/publishing/PublishJobs.ts"
import { DataHealth, Drafts, Publishing, Remediation, Stores } from "../../../src/testing/index.ts"
import { picked, unknown, type World } from "./CarryOut.ts"
import type { ServiceOperation } from "./ServiceOperations.ts"
import { time } from "./Sides.ts"

/** The agent whose writes are undone. */
const connectionId = ConnectionId.make("00000000-0000-4000-8000-0000000a6e17")

const quiet = () => Effect.void

type Operation<Name extends ServiceOperation["do"]> = Extract<ServiceOperation, { readonly do: Name }>

/** What an operation refers to. Before the first store is linked, an unknown id is used. */
const referencesOf = ({ entities, storeIds }: World) => {
  const ofKind = (kind: EntityKind, pick: number) =>
    picked(
      entities.filter((each) => each.kind === kind),
      pick
    )?.id ?? unknown
  const store = (pick: number) => picked(storeIds, pick) ?? StoreId.make(unknown)
  return {
    any: (pick: number) => picked(entities, pick)?.id ?? unknown,
    ofKind,
    store,
    storeOrNone: (pick: number | null) => (pick === null ? undefined : store(pick)),
    gallery: (media: ReadonlyArray<readonly [number, ReadonlyArray<number>]>) =>
      [...new Map(media.map(([pick, stores]) => [ofKind("media", pick), [...new Set(stores.map(store))]]))].map(
        ([mediaId, storeIds]) => ({ mediaId, storeIds })
      )
  }
}

const byAgentIf =
  (byAgent: boolean, { accountId }: World) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    byAgent
      ? Effect.provideService(effect, CurrentActor, { _tag: "Connection", accountId, connectionId } as const)
      : effect

const revisionOf = (id: EntityId) =>
  Effect.flatMap(Drafts, (drafts) => Effect.map(drafts.get(id, null), ({ draft_revision }) => draft_revision))

const newEntityOf = (operation: Operation<"create">, world: World): NewEntity => {
  const { ofKind, storeOrNone } = referencesOf(world)
  const [id = unknown, variantId = unknown] = world.fresh
  const attributes = [{ key: "title", value: operation.title }]
  const storeId = storeOrNone(operation.store)
  const storeIds = storeId === undefined ? [] : [storeId]
  switch (operation.what) {
    case "Product":
      return NewEntity.Product({
        id,
        attributes,
        variantId,
        variant: [{ key: "sku", value: operation.title }],
        storeIds
      })
    case "Copy":
      return NewEntity.Copy({ id, productId: ofKind("product", operation.of), attributes, storeIds })
    case "Variant": {
      const optionValues = operation.option === "" ? [] : [operation.option]
      const firstOption = operation.option === "M" ? { name: "Size", former: "S" } : null
      return NewEntity.Variant({
        id,
        productId: ofKind("product", operation.of),
        attributes: [],
        optionValues,
        firstOption
      })
    }
    case "Collection":
      return NewEntity.Collection({ id, attributes, storeIds })
    case "Media":
      return NewEntity.Media({
        id,
        url: `https://cdn.example/${operation.title}.jpg`,
        attributes: [{ key: "alt", value: operation.title }],
        shownBy:
          operation.store === null ? null : ofKind(operation.option === "M" ? "variant" : "product", operation.of)
      })
  }
}

const edited = (
  {
    edits,
    entity,
    isLate,
    store
  }: Omit<Operation<"draft">, "do" | "byAgent" | "edits"> & {
    readonly edits: ReadonlyArray<{ readonly key: string; readonly value: string | null }>
  },
  world: World
) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const { any, storeOrNone } = referencesOf(world)
    const id = any(entity)
    const request = {
      draft_revision: (yield* revisionOf(id)) - (isLate ? 1 : 0),
      attributes: edits.map(({ key, value }) => ({ key, value }))
    }
    const storeId = storeOrNone(store)
    return yield* storeId === undefined
      ? drafts.updateAttributes(id, request)
      : drafts.updateVersionAttributes(id, storeId, request, isLate)
  })

/**
 * Runs the publishes of all entities to all stores one after the other, because their order gives the order of the changes. Those to a store
 * that is unlinked wait until it is linked again.
 */
const published = ({ accountId, entities, storeIds }: World) =>
  Effect.gen(function* () {
    const repo = yield* PublicationsRepo
    const { settle } = yield* Publishing
    const linked = new Set((yield* (yield* Stores).list).map(({ id }) => id))
    const records = []
    for (const { id } of entities)
      for (const storeId of storeIds.filter((each) => linked.has(each))) {
        const newest = yield* repo.newest(accountId, id, storeId)
        if (Option.isNone(newest)) continue
        // Without its id, which differs if a transaction was repeated.
        for (const { id: _, ...record } of yield* settle([newest.value.id], quiet)) records.push(record)
      }
    return records
  })

const carryOutOnDrafts = (
  operation: Operation<"draft" | "create" | "addTo" | "removeFrom" | "move" | "changeMembers" | "showPictures">,
  world: World
) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const { any, gallery, ofKind, store } = referencesOf(world)
    switch (operation.do) {
      case "draft":
        return yield* byAgentIf(operation.byAgent, world)(edited(operation, world))
      case "create":
        return yield* byAgentIf(operation.byAgent, world)(drafts.create(newEntityOf(operation, world)))
      case "addTo":
      case "removeFrom": {
        const move = operation.do === "addTo" ? drafts.addStoreVersion : drafts.removeStoreVersion
        return yield* byAgentIf(operation.byAgent, world)(move(any(operation.entity), store(operation.store)))
      }
      case "move":
        return yield* operation.kind === "variant"
          ? drafts.moveVariant(ofKind("product", operation.of), ofKind("variant", operation.item), operation.to)
          : drafts.moveMember(ofKind("collection", operation.of), ofKind("product", operation.item), operation.to)
      case "changeMembers": {
        const products = (picks: ReadonlyArray<number>) => [...new Set(picks.map((pick) => ofKind("product", pick)))]
        const { add, entity, remove } = operation
        return yield* drafts.changeMembers(ofKind("collection", entity), products(add), products(remove))
      }
      case "showPictures": {
        const id = ofKind(operation.kind, operation.entity)
        const entries = gallery(operation.media)
        const shown = entries.map(({ mediaId }) => mediaId)
        return yield* drafts.updateGallery(id, yield* revisionOf(id), entries, shown)
      }
    }
  })

const carryOutOnDrops = (operation: Operation<"drop" | "cancelDrop">, world: World) =>
  Effect.gen(function* () {
    const drops = yield* Drops
    const { any, storeOrNone } = referencesOf(world)
    if (operation.do === "cancelDrop") {
      const id = picked(world.dropIds, operation.drop)
      return id === undefined ? undefined : yield* drops.cancel(id)
    }
    const { changes, endsAfter, startsIn } = operation
    const at = (minutes: number) => fromMillis(time.millis + minutes * 60_000)
    return yield* drops.create({
      name: "Sale",
      starts_at: at(startsIn),
      ends_at: endsAfter === null ? null : at(startsIn + endsAfter),
      timezone: "Europe/Berlin",
      changes: changes.map(({ entity, key, store, value }) => ({
        entity_id: any(entity),
        store_id: storeOrNone(store) ?? null,
        field: key,
        value
      }))
    })
  })

const carryOutOnHealth = (operation: Operation<"scan" | "issues" | "fill" | "reconcile">, world: World) =>
  Effect.gen(function* () {
    const health = yield* DataHealth
    const remediation = yield* Remediation
    const { ofKind, storeOrNone } = referencesOf(world)
    switch (operation.do) {
      case "scan":
        return JSON.parse((yield* health.scan(operation.dimension, storeOrNone(operation.store))).text) as unknown
      case "issues":
        return yield* health.issues({
          section: operation.section,
          page: operation.page,
          page_size: operation.size,
          store_id: storeOrNone(operation.store)
        })
      case "fill":
        return yield* remediation.fill(
          operation.kind,
          operation.operations.map(({ entity, key, store, value }) => {
            const storeId = storeOrNone(store)
            const entity_id = ofKind(operation.kind, entity)
            return { entity_id, field: key, value, ...(storeId !== undefined && { store_id: storeId }) }
          })
        )
      case "reconcile":
        return yield* remediation.reconcile(
          operation.kind,
          operation.operations.map(({ entity, key, value, winner }) => {
            const storeId = storeOrNone(winner)
            const entity_id = ofKind(operation.kind, entity)
            return { entity_id, field: key, ...(storeId === undefined ? { value } : { winner_store_id: storeId }) }
          })
        )
    }
  })

/** The pages of an import that a person sees before the decisions. */
const reviewOf = (id: ImportId) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    return {
      conflicts: yield* imports.conflicts(id, 0, 100),
      found: yield* imports.conflicts(id, 0, 100, { search: "boots" }),
      tally: yield* imports.tally(id),
      removals: yield* imports.removals(id, 0, 100),
      lists: yield* Effect.forEach(ReviewList.literals, (list) => imports.reviewList(id, list, -1, 100))
    }
  })

const carryOutOnImports = (
  operation: Operation<"refresh" | "editShop" | "deleteInShop" | "decide" | "acceptDecided">,
  world: World
) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    const shops = yield* DemoShops
    const [id] = world.importIds
    switch (operation.do) {
      case "refresh": {
        const run = yield* imports.refresh(operation.domain, quiet)
        return [run, yield* reviewOf(run.id)]
      }
      case "editShop":
      case "deleteInShop": {
        const shop = { accountId: world.accountId, storeId: referencesOf(world).store(operation.store) }
        const record = picked([...(yield* Stream.runCollect(shops.records(shop)))], operation.record)
        if (record === undefined) return
        if (operation.do === "deleteInShop") return yield* shops.remove(shop, record.platformId)
        const { [operation.key]: former, ...attributes } = record.attributes
        const type = former?.type ?? "single_line_text_field"
        const edited =
          operation.value === null ? attributes : { ...attributes, [operation.key]: { type, value: operation.value } }
        return yield* shops.put(shop, [{ ...record, attributes: edited }])
      }
      case "decide": {
        if (id === undefined) return
        return [yield* imports.decide(id, operation.conflicts, operation.decision), yield* reviewOf(id)]
      }
      case "acceptDecided": {
        if (id === undefined) return
        const { confirmsRemovals, rest } = operation
        return yield* imports.accept(id, quiet, { confirmsRemovals, ...(rest !== null && { rest }) })
      }
    }
  })

const carryOutInBulk = (operation: Operation<"bulk">, world: World) =>
  Effect.gen(function* () {
    const { ofKind, store, storeOrNone } = referencesOf(world)
    const { change, entities, kind } = operation
    const job = yield* (yield* BulkJobs).begin(
      { kind, ids: entities.map((pick) => ofKind(kind, pick)) },
      change._tag === "SetField"
        ? { _tag: "SetField", storeId: storeOrNone(change.store) ?? null, key: change.key, value: change.value }
        : change._tag === "Delete"
          ? change
          : { _tag: change._tag, storeId: store(change.store) }
    )
    return yield* (yield* JobWorker).settle(job.id, quiet)
  })

const carryOutOnDefinitions = ({ do: change, key, owner, type }: Operation<"define" | "setType" | "undefine">) =>
  Effect.flatMap(OwnDefinitions, (definitions): Effect.Effect<unknown, unknown, CurrentActor> => {
    const given = { owner_type: owner, key, type }
    switch (change) {
      case "define":
        return definitions.create(given)
      case "setType":
        return definitions.setType(given)
      case "undefine":
        return definitions.delete(given)
    }
  })

const cancelAll = (storeId: StoreId) =>
  Effect.gen(function* () {
    const job = yield* (yield* PublishJobs).cancelAll(storeId)
    return yield* (yield* JobWorker).settle(job.id, quiet)
  })

/** The operations that wait for the end of publishes or of a job. Both wait while an import locks the account. */
const waiting: ReadonlyArray<ServiceOperation["do"]> = ["work", "bulk", "cancelAll"]

/** Executes an operation of a service on one implementation. */
export const carryOutService = (operation: ServiceOperation, world: World) =>
  Effect.gen(function* () {
    if (waiting.includes(operation.do) && Option.isSome(yield* (yield* Imports).holder)) return "locked"
    const { any, store } = referencesOf(world)
    const publishing = yield* Publishing
    switch (operation.do) {
      case "undo": {
        const undo = yield* Undo
        const until = yield* undo.settledNow
        const window = { since: fromMillis(time.millis - operation.minutes * 60_000), until }
        return [
          yield* undo.count(connectionId, window, firstPart),
          yield* undo.review(connectionId, window, firstPart, 100),
          yield* undo.run(connectionId, window, firstPart)
        ]
      }
      case "bulk":
        return yield* carryOutInBulk(operation, world)
      case "request": {
        const [id, storeId] = [any(operation.entity), store(operation.store)]
        const preview = yield* publishing.preview(id, storeId)
        return [preview, yield* publishing.request(id, storeId, undefined, operation.isAgain)]
      }
      case "cancelPublish":
        return yield* publishing.cancel(any(operation.entity), store(operation.store))
      case "cancelAll":
        return yield* cancelAll(store(operation.store))
      case "define":
      case "setType":
      case "undefine":
        return yield* carryOutOnDefinitions(operation)
      case "setField":
        return yield* edited({ edits: [operation], entity: operation.entity, isLate: false, store: null }, world)
      case "work": {
        const { runDue } = yield* Drops
        return [yield* runDue, yield* published(world), yield* runDue]
      }
      case "breakShop":
        return yield* (yield* DemoFailures).fail(operation.domain, { kind: "refuse", percent: 100, delayMillis: 0 })
      case "repairShop":
        return yield* (yield* DemoFailures).repair(operation.domain)
      case "drop":
      case "cancelDrop":
        return yield* carryOutOnDrops(operation, world)
      case "scan":
      case "issues":
      case "fill":
      case "reconcile":
        return yield* carryOutOnHealth(operation, world)
      case "refresh":
      case "editShop":
      case "deleteInShop":
      case "decide":
      case "acceptDecided":
        return yield* carryOutOnImports(operation, world)
      case "feed": {
        const cursor = operation.cursor === null ? undefined : picked(world.feedCursors, operation.cursor)
        const { text } = yield* (yield* ChangeFeed).page({ limit: operation.limit, cursor })
        const { data, next_cursor } = JSON.parse(text) as FeedPage
        return { count: data.length, next_cursor }
      }
      default:
        return yield* carryOutOnDrafts(operation, world)
    }
  })
