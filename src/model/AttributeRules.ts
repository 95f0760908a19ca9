import { Schema } from "effect"
import type { Attributes, EntityKind } from "./Attribute.ts"
import type { Issue } from "./Errors.ts"
import { misfitOf } from "./KeyRule.ts"
import { isWritable, type KeyRules, maxIndexedCharacters } from "./KeyRules.ts"
import { textMisfit } from "./Text.ts"

/** A new value of a key. `null` clears a canonical value, or removes an override. */
export const AttributeEdit = Schema.Struct({
  key: Schema.String.annotations({
    description: "A built-in key, or `namespace.key` of a defined metafield."
  }),
  value: Schema.NullOr(Schema.String).annotations({
    description:
      'Always a string; lists and objects are JSON in a string. null empties a canonical value and removes a store\'s override. On a store `""` is deliberately empty.'
  })
})
export type AttributeEdit = typeof AttributeEdit.Type

/** The built-in keys that have a database index, which limits the length of their values. */
const indexedKeys: ReadonlyArray<string> = ["handle", "sku"]

/** Why the database cannot store a value of a key. Undefined: it can. */
export const storageRule = (key: string, value: string): string | undefined =>
  textMisfit(value) ??
  (indexedKeys.includes(key) ? misfitOf({ type: "", maxLength: maxIndexedCharacters }, value) : undefined)

const pathOf = (key: string, index: number) =>
  /^[\w.-]{1,320}$/.test(key) ? `attributes.${key}` : `attributes[${index}]`

/** Issues that do not depend on the entity: repeated keys, and text that cannot be stored. */
export const textIssues = (edits: ReadonlyArray<AttributeEdit>): ReadonlyArray<Issue> =>
  edits.flatMap(({ key, value }, index) => {
    const path = pathOf(key, index)
    if (edits.findIndex((edit) => edit.key === key) < index) return [{ path, message: "is given more than once" }]
    const rule = value === null ? undefined : textMisfit(value)
    return rule === undefined ? [] : [{ path, message: rule }]
  })

/** Why a key may not be written for entities of this kind: it is unknown or read-only. Undefined: it may be written. */
export const keyMisfit = (kind: EntityKind, key: string, rules: KeyRules): string | undefined =>
  rules.find(kind, key) === undefined
    ? rules.unknown(kind, key)
    : isWritable(kind, key)
      ? undefined
      : `is read-only; ${rules.allowed(kind)}`

/** Why a value may not be written, and whether the field or the value is wrong. Undefined: it may be written. */
export const misfitOfField = (
  kind: EntityKind,
  key: string,
  value: string,
  rules: KeyRules,
  layers: ReadonlyArray<Attributes>
): { readonly at: "field" | "value"; readonly message: string } | undefined => {
  const edits = [{ key, value }]
  const [wrong] = attributeIssues(kind, edits, rules, layers)
  if (wrong !== undefined && (rules.find(kind, key) === undefined || !isWritable(kind, key)))
    return { at: "field", message: wrong.message }
  const [first] = [...textIssues(edits), ...(wrong === undefined ? [] : [wrong])]
  return first === undefined ? undefined : { at: "value", message: first.message }
}

/**
 * Issues of edits of an entity of this kind: unknown or read-only keys, and values that violate the rule of their key. An empty
 * value is always valid. If the definition of a key was deleted, a value that is stored in one of `layers` can still be removed.
 */
export const attributeIssues = (
  kind: EntityKind,
  edits: ReadonlyArray<AttributeEdit>,
  rules: KeyRules,
  layers: ReadonlyArray<Attributes>
): ReadonlyArray<Issue> =>
  edits.flatMap(({ key, value }, index) => {
    const isRemoval = value === null || value === ""
    const rule = rules.find(kind, key)
    if (rule === undefined && isRemoval && layers.some((layer) => Object.hasOwn(layer, key))) return []
    const message = keyMisfit(kind, key, rules) ?? (isRemoval || rule === undefined ? undefined : misfitOf(rule, value))
    return message === undefined ? [] : [{ path: pathOf(key, index), message }]
  })
