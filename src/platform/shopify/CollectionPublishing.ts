import { Effect } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import type { CollectionPublication } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type DefineId, failIfAny, failIfRefused, newMetafields, setMetafields } from "./Metafields.ts"
import { noId } from "./ProductPublishing.ts"
import { toPublished } from "./ReadBack.ts"

/** Title of the collection source that we manage. Members are added and removed only there; other sources do not change. */
const sourceTitle = "Catalog"
const conditionsSource = "CollectionConditionsSource"

const membersOfOthers = (count: number) =>
  new PlatformRefused({
    code: "MEMBERS_OF_THE_STORE",
    message: `The store itself has put ${count} of its products into this collection, which only the store can take out. Take them out there, then refresh the store.`,
    field: null
  })

/** Shopify refuses a call whose input has an array with more elements (https://shopify.dev/docs/api/usage/limits). */
const maxElements = 250

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

/** Publishes a collection: values and members. */
export const makePublishCollection = (client: ShopifyClient, define: DefineId) => {
  const lookups = makeLookups(client)

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

  /** The parts of the change that makes the collection's members equal to the publication's, and our source. */
  const membership = (store: PlatformStore, id: string, { members }: CollectionPublication) =>
    Effect.gen(function* () {
      const current = new Set(yield* lookups.membersOf(store, id))
      const wanted = new Set(members)
      const toAdd = [...wanted].filter((product) => !current.has(product))
      const toRemove = [...current].filter((product) => !wanted.has(product))
      const parts = partsOf({ toAdd, toRemove })
      if (parts.length === 0) return { parts, ours: null }
      const { ours, sources } = yield* sourcesOf(store, id)
      if (ours === null && toRemove.length > 0) return yield* membersOfOthers(toRemove.length)
      if (ours !== null && toRemove.length > 0) yield* failIfOthersHave(store, ours, sources, toRemove)
      return { parts, ours }
    })

  const update = (store: PlatformStore, collection: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(
      client.write(store, Documents.updateCollection, Answers.UpdateCollection, { collection }),
      ({ collectionUpdate }) => failIfRefused(collectionUpdate.userErrors, { collection })
    )

  /** Writes the parts after the first. `known`: our source; null: the first part has created it. */
  const writeParts = (store: PlatformStore, id: string, known: string | null, parts: ReadonlyArray<MemberChange>) =>
    Effect.gen(function* () {
      if (parts.length === 0) return
      const ours = known ?? (yield* sourcesOf(store, id)).ours
      if (ours === null) return yield* noId
      for (const part of parts) yield* update(store, { id, sourcesToUpdate: [sourceUpdate(ours, part)] })
    })

  return (store: PlatformStore, publication: CollectionPublication) =>
    Effect.gen(function* () {
      yield* define(store, "COLLECTION")
      const current = yield* lookups.collection(store, publication)
      const input = Mapping.collectionInput(publication)
      if (current === null) {
        const [first, ...rest] = partsOf({ toAdd: publication.members, toRemove: [] })
        const sent = {
          collection: { ...input, metafields: newMetafields(publication), sources: [newSource(first?.toAdd ?? [])] }
        }
        const { collectionCreate } = yield* client.write(
          store,
          Documents.createCollection,
          Answers.CreateCollection,
          sent
        )
        yield* failIfRefused(collectionCreate.userErrors, sent)
        if (collectionCreate.collection === null) return yield* noId
        const { id } = collectionCreate.collection
        yield* writeParts(store, id, null, rest)
        return toPublished([[publication.entityId, id]])
      }
      const { id } = current
      const { ours, parts } = yield* membership(store, id, publication)
      const [first, ...rest] = parts
      const members =
        first === undefined
          ? {}
          : ours === null
            ? { sourcesToCreate: [newSource(first.toAdd)] }
            : { sourcesToUpdate: [sourceUpdate(ours, first)] }
      yield* update(store, { id, ...input, ...members })
      yield* writeParts(store, id, ours, rest)
      const owner = { id, entity: publication, current: current.metafields.nodes }
      yield* failIfAny(yield* setMetafields(client, store, [owner]))
      return toPublished([[publication.entityId, id]])
    })
}
