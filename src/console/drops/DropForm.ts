import { Option, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { maxDropChanges } from "../../drops/Drop.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { EntityId, inAnyCase } from "../../model/Ids.ts"
import { paths } from "../Paths.ts"

/** Which of two instants with the same local time is meant. */
export type Fold = "" | "first" | "second"

/** A value for a field of all chosen things of a kind, as it was typed. */
export interface TypedValue {
  readonly kind: EntityKind
  readonly key: string
  readonly typed: string
}

/** The form for a new drop. Its fields hold all of its state, so it needs neither state in the session nor JavaScript. */
export interface DropForm {
  readonly name: string
  /** An id, or `all` for all stores of each thing. Empty: not chosen yet. */
  readonly storeId: string
  readonly zone: string
  readonly starts: string
  readonly startsFold: Fold
  readonly ends: string
  readonly endsFold: Fold
  /** The kind that is searched. */
  readonly kind: EntityKind
  readonly search: string
  /** The words whose results are shown. Undefined: no results are shown. */
  readonly searched: string | undefined
  readonly things: ReadonlyArray<EntityId>
  /** Collections whose products are to be added. */
  readonly members: ReadonlyArray<EntityId>
  readonly percent: string
  readonly keepsOldPrice: boolean
  readonly values: ReadonlyArray<TypedValue>
  /** The field that is selected for *Add the field*: a kind and a key. Empty: none. */
  readonly add: string
  /** Whether changes that overlap another drop are left out. */
  readonly leavesOverlaps: boolean
}

/** Names of the form's fields. Things, collections and values have one field each: a prefix and what it is for. */
export const names = {
  thing: "thing-",
  members: "members-",
  set: "set-"
} as const

/** The name of the field with the store. */
export const storeField = "store_id"

/** The address of the form with these things chosen. `storeId` undefined: the form asks for the store first. */
export const newDropWith = (things: ReadonlyArray<EntityId>, storeId?: string): string =>
  `${paths.newDrop}?${new URLSearchParams([
    ...(storeId === undefined ? [] : [[storeField, storeId]]),
    ...things.map((id) => [`${names.thing}${id}`, "yes"])
  ])}`

/** Maximum number of things that a form is read with. A drop has fewer: the others are refused with a message. */
export const maxIds = 2 * maxDropChanges

export const allStores = "all"

const decodeId = Schema.decodeOption(inAnyCase(EntityId))
const isKind = Schema.is(EntityKind)

/** A kind and a key from `kind-key`. */
export const fieldIn = (text: string): { readonly kind: EntityKind; readonly key: string } | undefined => {
  const at = text.indexOf("-")
  const [kind, key] = [text.slice(0, at), text.slice(at + 1)]
  return isKind(kind) && key !== "" ? { kind, key } : undefined
}

/** The name of the field for a value. */
export const nameOf = ({ key, kind }: Pick<TypedValue, "key" | "kind">): string => `${names.set}${kind}-${key}`

const foldOf = (text: string | undefined): Fold => (text === "first" || text === "second" ? text : "")

/** Browsers send a line break as CR LF. */
const textOf = (parameters: Parameters, name: string) => (parameters.get(name) ?? "").replaceAll("\r\n", "\n")

export const formOf = (parameters: Parameters): DropForm => {
  const idsAfter = (prefix: string) =>
    parameters.names.flatMap((name) =>
      name.startsWith(prefix) ? Option.toArray(decodeId(name.slice(prefix.length))) : []
    )
  const kind = parameters.get("kind")
  return {
    name: textOf(parameters, "name"),
    storeId: textOf(parameters, storeField),
    zone: textOf(parameters, "zone"),
    starts: textOf(parameters, "starts"),
    startsFold: foldOf(parameters.get("starts_fold")),
    ends: textOf(parameters, "ends"),
    endsFold: foldOf(parameters.get("ends_fold")),
    kind: isKind(kind) ? kind : "product",
    search: textOf(parameters, "search").slice(0, 200),
    searched: parameters.names.includes("searched") ? textOf(parameters, "searched").slice(0, 200) : undefined,
    things: [...new Set(idsAfter(names.thing))].slice(0, maxIds),
    members: idsAfter(names.members),
    percent: textOf(parameters, "percent"),
    keepsOldPrice: parameters.get("old_price") === "yes",
    values: parameters.names.flatMap((name) => {
      const field = name.startsWith(names.set) ? fieldIn(name.slice(names.set.length)) : undefined
      return field === undefined ? [] : [{ ...field, typed: textOf(parameters, name) }]
    }),
    add: textOf(parameters, "add"),
    leavesOverlaps: parameters.get("leave") === "yes"
  }
}

/** The fields that carry the form through the review, or to another store. */
export const hiddenFieldsOf = (form: DropForm): ReadonlyArray<readonly [name: string, value: string]> => [
  ["name", form.name],
  [storeField, form.storeId],
  ["zone", form.zone],
  ["starts", form.starts],
  ["starts_fold", form.startsFold],
  ["ends", form.ends],
  ["ends_fold", form.endsFold],
  ["percent", form.percent],
  ...(form.keepsOldPrice ? [["old_price", "yes"] as const] : []),
  ...form.things.map((id) => [`${names.thing}${id}`, "yes"] as const),
  ...form.members.map((id) => [`${names.members}${id}`, "yes"] as const),
  ...form.values.map((value) => [nameOf(value), value.typed] as const)
]
