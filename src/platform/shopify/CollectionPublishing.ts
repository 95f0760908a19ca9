import { Effect } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import type { CollectionPublication } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import { maxElements, type ShopifyClient } from "./Client.ts"
import { sourceTitle } from "./CollectionSource.ts"
import * as Documents from "./Documents.ts"
import { makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { awaitJob, orderMembers } from "./MemberOrder.ts"
import { type DefineId, newMetafields, setMetafields } from "./Metafields.ts"
import { makeNewRecords } from "./NewRecords.ts"
import { noId } from "./ProductPublishing.ts"
import { toPublished } from "./ReadBack.ts"
import { failIfAny, mutate } from "./Refusals.ts"

const conditionsSource = "CollectionConditionsSource"

const membersOfOthers = (count: number) =>
  new PlatformRefused({
    code: "MEMBERS_OF_THE_STORE",
    message: `The store itself has put ${count} of its products into this collection, and only the store can take them out. Take them out there, then refresh the store.`,
    field: null
  })

interface MemberChange {
  readonly toAdd: ReadonlyArray<string>
  readonly toRemove: ReadonlyArray<string>
}

/** Splits a change into parts of one call each. */
const partsOf = ({ toAdd, toRemove }: MemberChange): ReadonlyArray<MemberChange> =>
  Array.from({ length: Math.ceil(Math.max(toAdd.length, toRemove.length) / maxElements) }, (_, index) => {
    const part = (products: ReadonlyArray<string>) => products.slice(index * maxElements, (index + 1) * maxElements)
    return { toAdd: part(toAdd), toRemove: part(toRemove) }
  })

const selections = (products: ReadonlyArray<string>) => products.map((productId) => ({ productId }))

const newSource = (products: ReadonlyArray<string>) => ({
  source: { title: sourceTitle, inclusion: { selections: selections(products) } }
})

const sourceUpdate = (id: string, { toAdd, toRemove }: MemberChange) => ({
  condition: { id, inclusion: { selectionsToAdd: selections(toAdd), selectionsToRemove: selections(toRemove) } }
})

/** Publishes a collection: values, members, and their order if it is manual. */
export const makePublishCollection = (client: ShopifyClient, define: DefineId) => {
  const lookups = makeLookups(client)
  const { isCreated, putOnChannels } = makeNewRecords(client)

  /** The sources with conditions of a collection; `ours`: the one that we manage. */
  const sourcesOf = (store: PlatformStore, id: string) =>
    Effect.map(client.read(store, Documents.collectionSources, Answers.CollectionSources, { id }), ({ collection }) => {
      const sources = (collection?.sources ?? []).filter(({ __typename }) => __typename === conditionsSource)
      return { sources, ours: sources.find(({ title }) => title === sourceTitle)?.id ?? null }
    })

  /** Refuses to remove products that would stay in the collection, because other sources than ours have them. */
  const failIfOthersHave = (
    store: PlatformStore,
    ours: string,
    sources: ReadonlyArray<{ readonly id: string }>,
    products: ReadonlyArray<string>
  ) =>
    Effect.gen(function* () {
      const own = yield* lookups.sourceMembersOf(store, ours)
      const others = yield* Effect.forEach(
        sources.filter(({ id }) => id !== ours),
        ({ id }) => lookups.sourceMembersOf(store, id)
      )
      const staying = products.filter((product) => !own.has(product) || others.some((other) => other.has(product)))
      if (staying.length > 0) return yield* membersOfOthers(staying.length)
    })

  /** The members of a collection, the parts of the change that makes them equal to the publication's, and our source. */
  const membership = (store: PlatformStore, id: string, members: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const listed = yield* lookups.membersOf(store, id)
      const current = new Set(listed)
      const wanted = new Set(members)
      const toAdd = members.filter((product) => !current.has(product))
      const toRemove = [...current].filter((product) => !wanted.has(product))
      const parts = partsOf({ toAdd, toRemove })
      if (parts.length === 0) return { listed, parts, ours: null }
      const { ours, sources } = yield* sourcesOf(store, id)
      if (ours === null && toRemove.length > 0) return yield* membersOfOthers(toRemove.length)
      if (ours !== null && toRemove.length > 0) yield* failIfOthersHave(store, ours, sources, toRemove)
      return { listed, parts, ours }
    })

  /** Writes a part of a collection. Returns the job in which Shopify changes its members, if it does so later. */
  const update = (store: PlatformStore, collection: Readonly<Record<string, unknown>>) =>
    Effect.map(
      mutate(client, store, Documents.updateCollection, Answers.UpdateCollection, { collection }),
      ({ job }) => job
    )

  /** Writes the parts after the first. `source`: ours; null: the first part has created it. */
  const writeParts = (store: PlatformStore, id: string, source: string | null, parts: ReadonlyArray<MemberChange>) =>
    Effect.gen(function* () {
      if (parts.length === 0) return []
      const ours = source ?? (yield* sourcesOf(store, id)).ours
      if (ours === null) return yield* noId
      return yield* Effect.forEach(parts, (part) => update(store, { id, sourcesToUpdate: [sourceUpdate(ours, part)] }))
    })

  /** Writes the order of the members that were written with these jobs. It is not documented where Shopify puts a new member. */
  const orderWritten = (
    store: PlatformStore,
    id: string,
    members: ReadonlyArray<string>,
    jobs: ReadonlyArray<Answers.Job | null>
  ) =>
    Effect.gen(function* () {
      for (const job of jobs) yield* awaitJob(client, store, job)
      yield* orderMembers(client, store, id, members, yield* lookups.membersOf(store, id))
    })

  return (store: PlatformStore, publication: CollectionPublication) =>
    Effect.gen(function* () {
      yield* define(store, "COLLECTION")
      const current = yield* lookups.collection(store, publication)
      if (current === null) yield* lookups.failIfUnreadCollection(store, publication)
      const input = Mapping.collectionInput(publication, current)
      const members = [...new Set(publication.members)]
      if (current === null) {
        const [first, ...rest] = partsOf({ toAdd: members, toRemove: [] })
        const { collection } = yield* mutate(client, store, Documents.createCollection, Answers.CreateCollection, {
          collection: { ...input, metafields: newMetafields(publication), sources: [newSource(first?.toAdd ?? [])] }
        })
        if (collection === null) return yield* noId
        const { id } = collection
        const jobs = yield* writeParts(store, id, null, rest)
        if (input.sortOrder === Mapping.manualOrder) yield* orderWritten(store, id, members, jobs)
        return { ...toPublished([[publication.entityId, id]]), ...(yield* putOnChannels(store, id)) }
      }
      const { id } = current
      const isNew = yield* isCreated(store, publication, current)
      const { listed, ours, parts } = yield* membership(store, id, members)
      const [first, ...rest] = parts
      const firstPart =
        first === undefined
          ? {}
          : ours === null
            ? { sourcesToCreate: [newSource(first.toAdd)] }
            : { sourcesToUpdate: [sourceUpdate(ours, first)] }
      const job = yield* update(store, { id, ...input, ...firstPart })
      const jobs = [job, ...(yield* writeParts(store, id, ours, rest))]
      const owner = { id, entity: publication, current: current.metafields.nodes }
      const refusals = yield* setMetafields(client, store, [owner])
      if ((input.sortOrder ?? current.sortOrder) === Mapping.manualOrder)
        yield* parts.length === 0 && current.sortOrder === Mapping.manualOrder
          ? orderMembers(client, store, id, members, listed)
          : orderWritten(store, id, members, jobs)
      yield* failIfAny(refusals)
      return { ...toPublished([[publication.entityId, id]]), ...(isNew ? yield* putOnChannels(store, id) : {}) }
    })
}
