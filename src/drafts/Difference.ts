import type { AcceptedValues } from "../catalog/Aggregate.ts"
import { type Attributes, type EntityKind, valueOf } from "../model/Attribute.ts"
import { compareFields } from "../model/FieldOrder.ts"
import { sameOrder } from "./Aggregate.ts"

/** A field whose draft value differs from the value that a store accepted last. `""`: empty. Lists of ids are JSON. */
export interface Difference {
  /** An attribute's key, or `variant_ids`, `media_ids` or `members`. */
  readonly key: string
  readonly live: string
  readonly draft: string
}

const differsIn = (left: Attributes, right: Attributes, key: string) =>
  left[key]?.value !== right[key]?.value || left[key]?.type !== right[key]?.type

/** The fields that a publish of the draft would change on a store, in definition order. `accepted` null: all that have a value. */
export const differencesOf = (
  kind: EntityKind,
  accepted: AcceptedValues | null,
  draft: AcceptedValues
): ReadonlyArray<Difference> => {
  const live: AcceptedValues = accepted ?? { attributes: {} }
  const keys = new Set([...Object.keys(draft.attributes), ...Object.keys(live.attributes)])
  const ids = (["variants", "media", "members"] as const).flatMap((list): ReadonlyArray<Difference> => {
    const [before = [], after = []] = [live[list], draft[list]]
    const key = list === "members" ? list : list === "media" ? "media_ids" : "variant_ids"
    return sameOrder(before, after) ? [] : [{ key, live: JSON.stringify(before), draft: JSON.stringify(after) }]
  })
  const attributes = [...keys]
    .filter((key) => differsIn(live.attributes, draft.attributes, key))
    .map((key) => ({ key, live: valueOf(live.attributes, key), draft: valueOf(draft.attributes, key) }))
  const compare = compareFields(kind)
  return [...attributes, ...ids].sort((left, right) => compare(left.key, right.key))
}
