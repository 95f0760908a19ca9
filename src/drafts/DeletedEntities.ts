import type { AcceptedValues, Aggregate } from "../catalog/Aggregate.ts"
import { titleOf, valueOf } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import type { Plan } from "./CatalogChange.ts"

/** The name of an entity in lists: its title, else its handle. That of a variant also has its product's title and its SKU. */
const nameInLists = (
  { attributes, kind, parentId }: Aggregate,
  aggregates: ReadonlyMap<EntityId, Aggregate>
): string => {
  const title = titleOf(kind, attributes)
  if (parentId === null) return title.trim() === "" ? valueOf(attributes, "handle") : title
  const product = titleOf("product", aggregates.get(parentId)?.attributes ?? {})
  const isGiven = (text: string) => text.trim() !== ""
  return [[product, title].filter(isGiven).join(": "), valueOf(attributes, "sku")].filter(isGiven).join(", ")
}

/** The entities with these ids, with their names. */
export const withNames = (
  ids: Iterable<EntityId>,
  aggregates: ReadonlyMap<EntityId, Aggregate>
): ReadonlyArray<Aggregate & { readonly name: string }> =>
  [...ids].flatMap((id) => {
    const aggregate = aggregates.get(id)
    return aggregate === undefined ? [] : [{ ...aggregate, name: nameInLists(aggregate, aggregates) }]
  })

/**
 * Takes deleted entities out of the values that unlinked stores accepted of other entities. Otherwise the deletion would be a draft of
 * these when the store is linked again, and its publish would change the store. `ids`: the products of deleted variants, and collections.
 */
export const makeForgetDeleted = ({ deleted, updated }: Plan) => {
  const gone = new Set(deleted.map(({ id }) => id))
  const products = deleted.flatMap(({ parentId }) => (parentId === null || gone.has(parentId) ? [] : [parentId]))
  const collections = updated.filter(({ after }) => after.kind === "collection").map(({ after }) => after.id)
  const without = (ids: ReadonlyArray<EntityId>) => ids.filter((id) => !gone.has(id))

  return {
    ids: [...new Set([...products, ...collections])],
    forget: (id: EntityId, { attributes, members, variants, ...accepted }: AcceptedValues): AcceptedValues => {
      const pair = updated.find(({ after }) => after.id === id)
      const options = pair?.after.attributes.options
      const isSame = pair !== undefined && valueOf(pair.before.attributes, "options") === valueOf(attributes, "options")
      return {
        ...accepted,
        attributes: isSame && options !== undefined ? { ...attributes, options } : attributes,
        ...(members !== undefined && { members: without(members) }),
        ...(variants !== undefined && { variants: without(variants) })
      }
    }
  }
}
