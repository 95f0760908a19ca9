import type { Data, Types } from "effect"
import type { AcceptedValues, Aggregate } from "../catalog/Aggregate.ts"
import { type Attributes, type EntityKind, typeOf } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import { fits } from "../model/KeyRule.ts"
import { inOrderOf } from "./Aggregate.ts"
import type { CatalogChange, NewValues } from "./CatalogChange.ts"

/** `layers`: attributes in which the type of a metafield is looked up. */
export const withValues = (
  kind: EntityKind,
  attributes: Attributes,
  layers: ReadonlyArray<Attributes>,
  { types = {}, values }: NewValues,
  isKept: (value: string | null) => value is string
): Attributes => {
  const next: Types.Mutable<Attributes> = { ...attributes }
  for (const [key, value] of Object.entries(values)) {
    if (isKept(value)) next[key] = { value, type: types[key] ?? typeOf(kind, key, layers) }
    else delete next[key]
  }
  return next
}

/** An empty canonical value is stored as an absent key. */
export const isCanonical = (value: string | null): value is string => value !== null && value !== ""
/** An empty override is stored, because it replaces the canonical value. */
export const isOverride = (value: string | null): value is string => value !== null

export const withTypes = (attributes: Attributes, types: Readonly<Record<string, string>>): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, { type, value }]) => {
      const defined = Object.hasOwn(types, key) ? types[key] : undefined
      return [key, { value, type: defined !== undefined && fits({ type: defined }, value) ? defined : type }]
    })
  )

/** The values and relationships that a store has accepted after an import. */
export const importedValues = (
  aggregate: Aggregate,
  before: AcceptedValues,
  overrides: Attributes,
  change: Data.TaggedEnum.Value<CatalogChange, "AcceptImported">
): AcceptedValues => {
  const layers = [aggregate.attributes, overrides, before.attributes]
  const attributes = withValues(aggregate.kind, before.attributes, layers, change, isCanonical)
  const mergeLists = (accepted: ReadonlyArray<EntityId> | undefined, imported: ReadonlyArray<EntityId>) =>
    change.isComplete ? imported : inOrderOf(accepted ?? [], imported)
  switch (aggregate.kind) {
    case "product":
      return {
        ...before,
        attributes,
        media: mergeLists(before.media, change.media),
        variants: mergeLists(before.variants, change.variants)
      }
    case "collection":
      return { ...before, attributes, members: change.members ?? before.members ?? [] }
    case "variant":
    case "media": {
      const { picture } = change
      return { ...before, attributes, ...(picture !== undefined && { media: picture === null ? [] : [picture] }) }
    }
  }
}
