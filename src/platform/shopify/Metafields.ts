import { Array as Arr, Effect } from "effect"
import { isReservedKey, valueOf } from "../../model/Attribute.ts"
import { sameValue } from "../../model/SameValue.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformRefused, PlatformUnavailable, type PlatformWriteError } from "../PlatformErrors.ts"
import type { PublishedEntity } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import { maxElements, type ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import * as Mapping from "./Mapping.ts"
import { failIfPassing, failIfRefused, withNames } from "./Refusals.ts"

/** Maximum number of metafields in one call of `metafieldsSet`, of all their owners together. */
const maxMetafields = 25

/** The kinds of records that have our entity id in a metafield. */
export type IdOwner = "PRODUCT" | "PRODUCTVARIANT" | "COLLECTION"

/** The type of the definition of our id metafield. Null: no definition, so nothing was published to the store yet. */
export const idDefinition = (client: ShopifyClient, store: PlatformStore, ownerType: IdOwner) =>
  Effect.map(
    client.read(store, Documents.idDefinition, Answers.IdDefinition, { ownerType, ...Mapping.idMetafield }),
    ({ metafieldDefinitions }) => metafieldDefinitions.nodes[0]?.type.name ?? null
  )

/** Makes sure that a store has the definition of our id metafield for a kind of record. */
export type DefineId = (store: PlatformStore, ownerType: IdOwner) => ReturnType<typeof defineId>

/**
 * Creates the definition of our id metafield. Without it, a record cannot be found by our id, and every publish would create
 * another record. `defined`: stores and kinds for which the definition is known to exist.
 */
export const defineId = (client: ShopifyClient, defined: Set<string>, store: PlatformStore, ownerType: IdOwner) =>
  Effect.gen(function* () {
    const name = `${store.storeId} ${ownerType}`
    if (defined.has(name)) return
    const type = yield* idDefinition(client, store, ownerType)
    if (type === null) {
      const sent = { definition: { ...Mapping.idMetafield, ownerType, name: "Catalog entity", type: "id" } }
      const { metafieldDefinitionCreate } = yield* client.write(store, Documents.defineId, Answers.DefineId, sent)
      // TAKEN: another process has created the definition meanwhile.
      yield* failIfRefused(
        metafieldDefinitionCreate.userErrors.filter(({ code }) => code !== "TAKEN"),
        sent
      )
    } else if (type !== "id")
      return yield* new PlatformRefused({
        code: "ID_DEFINITION",
        message: "The store's metafield catalog.entity_id is not of type id: remove its definition and publish again.",
        field: null
      })
    defined.add(name)
  }).pipe(
    // Only the definition was written and nothing of the publication, so the whole publish can be repeated.
    Effect.catchTag("PlatformOutcomeUnknown", ({ reason }) => new PlatformUnavailable({ reason }))
  )

/** A record of a store, the metafields that it has, and the entity whose metafields it gets. */
interface MetafieldOwner {
  readonly id: string
  readonly entity: PublishedEntity
  readonly current: ReadonlyArray<Answers.MetafieldValues>
}

/** A metafield's input, and the name by which a refusal tells which one it is. */
interface ToWrite<A> {
  readonly name: string
  readonly input: A
}

/** Writes metafields in groups. A group is sent again without those that Shopify refused. Returns the refusals. */
const writeGroups = <A>(
  metafields: ReadonlyArray<ToWrite<A>>,
  max: number,
  write: (metafields: ReadonlyArray<A>) => Effect.Effect<Answers.UserErrors, PlatformWriteError>
): Effect.Effect<Answers.UserErrors, PlatformWriteError> => {
  const writeGroup = (group: ReadonlyArray<ToWrite<A>>): Effect.Effect<Answers.UserErrors, PlatformWriteError> =>
    Effect.gen(function* () {
      const userErrors = yield* write(group.map(({ input }) => input))
      yield* failIfPassing(userErrors)
      const refused = new Set(userErrors.map(({ field }) => field?.[1]))
      const rest = group.filter((_, index) => !refused.has(String(index)))
      const refusals = withNames(userErrors, { metafields: group })
      return rest.length === 0 || rest.length === group.length ? refusals : [...refusals, ...(yield* writeGroup(rest))]
    })
  return Effect.map(Effect.forEach(Arr.chunksOf(metafields, max), writeGroup), (refusals) => refusals.flat())
}

/**
 * Sets metafields whose value differs from the current one, and deletes those whose new value is empty. Reserved ones that the record does
 * not have are left out, because Shopify would refuse them at each publish. Returns the refusals: Shopify has written the others.
 */
export const setMetafields = (
  client: ShopifyClient,
  store: PlatformStore,
  owners: ReadonlyArray<MetafieldOwner>
): Effect.Effect<Answers.UserErrors, PlatformWriteError> =>
  Effect.gen(function* () {
    const wanted = owners.flatMap(({ current, entity, id }) => {
      const values = new Map(current.map((field) => [`${field.namespace}.${field.key}`, field.value]))
      const sku = valueOf(entity.attributes, "sku")
      // Our id is first, so that it is there if a later call fails.
      return [{ ...Mapping.idMetafield, type: "id", value: entity.entityId }, ...Mapping.metafieldsOf(entity)].map(
        ({ key, namespace, type, value }) => {
          const fullKey = `${namespace}.${key}`
          const name = sku === "" ? fullKey : `${sku}, ${fullKey}`
          const isUnwritable = isReservedKey(fullKey) && !values.has(fullKey)
          return {
            name,
            type,
            value,
            isUnwritable,
            before: values.get(fullKey),
            input: { ownerId: id, namespace, key }
          }
        }
      )
    })
    const toSet = wanted
      .filter(({ isUnwritable, value }) => value !== "" && !isUnwritable)
      .filter(({ before, type, value }) => before === undefined || !sameValue("", type, before, value))
      .map(({ input, name, type, value }) => ({ name, input: { ...input, type, value } }))
    const unset = yield* writeGroups(toSet, maxMetafields, (metafields) =>
      Effect.map(
        client.write(store, Documents.setMetafields, Answers.SetMetafields, { metafields }),
        ({ metafieldsSet }) => metafieldsSet.userErrors
      )
    )
    const toDelete = wanted.filter(({ before, value }) => value === "" && before !== undefined)
    const undeleted = yield* writeGroups(toDelete, maxElements, (metafields) =>
      Effect.map(
        client.write(store, Documents.deleteMetafields, Answers.DeleteMetafields, { metafields }),
        ({ metafieldsDelete }) => metafieldsDelete.userErrors
      )
    )
    return [...unset, ...undeleted]
  })

/** The metafields of a new record, without reserved ones. */
export const newMetafields = (entity: PublishedEntity) => [
  ...Mapping.metafieldsOf(entity).filter(
    ({ key, namespace, value }) => value !== "" && !isReservedKey(`${namespace}.${key}`)
  ),
  { ...Mapping.idMetafield, type: "id", value: entity.entityId }
]
