import { builtInFields, EntityKind } from "./Attribute.ts"

/** Built-in keys of all kinds, each once, in the order in which `builtInFields` first has them. */
const builtInKeys = [...new Set(EntityKind.literals.flatMap((kind) => Object.keys(builtInFields[kind])))]
const order: ReadonlyMap<string, number> = new Map(builtInKeys.map((key, place) => [key, place]))

/** The relationships that a publish includes, by their names in `fields` of data health issues. */
export const relationships: ReadonlyArray<string> = ["variant_ids", "media_ids", "members"]

/** Compares fields of one kind: built-in keys in definition order, then metafields by key, then relationships. */
export const compareFields =
  (kind: EntityKind) =>
  (left: string, right: string): number => {
    const place = (field: string) => {
      const builtIn = Object.keys(builtInFields[kind]).indexOf(field)
      const relationship = relationships.indexOf(field)
      return builtIn !== -1 ? builtIn : relationship !== -1 ? 2_000 + relationship : 1_000
    }
    return place(left) - place(right) || (left < right ? -1 : left === right ? 0 : 1)
  }

/** Compares fields of entities of different kinds, in the same order. */
export const compareAnyFields = (left: string, right: string): number => {
  const place = (field: string) => {
    const relationship = relationships.indexOf(field)
    return order.get(field) ?? (relationship !== -1 ? 20_000 + relationship : 10_000)
  }
  return place(left) - place(right) || (left < right ? -1 : left === right ? 0 : 1)
}
