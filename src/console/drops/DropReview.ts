import { hash } from "node:crypto"
import { Data, Effect, Either } from "effect"
import {
  type ComposedChange,
  compose,
  type FieldValue,
  toNewChanges,
  withoutOverlaps
} from "../../drops/Composition.ts"
import { parsePercent } from "../../drops/Discount.ts"
import { maxDropChanges, type NewDrop } from "../../drops/Drop.ts"
import { Drops } from "../../drops/Drops.ts"
import { instantsOf } from "../../drops/Zone.ts"
import type { Issue } from "../../model/Errors.ts"
import type { DropId } from "../../model/Ids.ts"
import type { KeyRules } from "../../model/KeyRules.ts"
import type { Store } from "../../model/Store.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import { fromTyped } from "../entities/CellInput.ts"
import type { Misfit } from "../Field.tsx"
import { english } from "../languages/Words.tsx"
import { counted, titleOr } from "../Naming.tsx"
import type { DropForm, Fold } from "./DropForm.ts"
import { nameOf } from "./DropForm.ts"
import { dayWords, timeOfDay } from "./DropWords.tsx"
import { isKnownZone } from "./NewDropPage.tsx"
import type { DropReview } from "./ReviewDropPage.tsx"

/** Maximum number of things in a drop: each has at least one change. */
export const maxThings = 250

/** The problems of a form, by field. */
export class FormRefused extends Data.TaggedError("FormRefused")<{ readonly misfits: ReadonlyArray<Misfit> }> {}

const capitalize = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** The instant of a local time, or the reason why it has none. */
export const timeOf = (text: string, zone: string, fold: Fold): Either.Either<Timestamp, string> => {
  const found = instantsOf(text, zone)
  const day = (local: string) => `${local.slice(11, 16)} on ${dayWords(local.slice(0, 10))} ${local.slice(0, 4)}`
  switch (found._tag) {
    case "Once":
      return Either.right(found.at)
    case "Unreadable":
      return Either.left("Must be a date and a time, such as 2027-01-31T09:30.")
    case "Never":
      return Either.left(
        `${day(text)} does not exist in ${zone}: the clocks are turned forward from ${found.from.slice(11)} to ${found.to.slice(11)}. Choose another time.`
      )
    case "Twice":
      return fold !== ""
        ? Either.right(found[fold])
        : Either.left(
            `${day(text)} exists twice in ${zone}, because the clocks are turned back: at ${timeOfDay(found.first, "UTC")} UTC and at ${timeOfDay(found.second, "UTC")} UTC. Choose one of them.`
          )
  }
}

const timesOf = ({ ends, endsFold, starts, startsFold, zone }: DropForm, misfits: Array<Misfit>) => {
  if (!isKnownZone(zone)) {
    misfits.push({ field: "zone", message: "Choose a time zone." })
    return { starts: null, ends: null }
  }
  const read = (field: "starts" | "ends", text: string, fold: Fold) => {
    const time = timeOf(text, zone, fold)
    if (Either.isLeft(time)) misfits.push({ field, message: time.left })
    return Either.getOrNull(time)
  }
  return { starts: read("starts", starts, startsFold), ends: ends === "" ? null : read("ends", ends, endsFold) }
}

/** What is to be changed: the discount and the fields. */
const choiceOf = (form: DropForm, store: Store | null, rules: KeyRules, misfits: Array<Misfit>) => {
  const percent = form.percent.trim() === "" ? undefined : parsePercent(form.percent)
  if (percent !== undefined && Either.isLeft(percent))
    misfits.push({ field: "percent", message: `${capitalize(percent.left)}.` })
  const discount = percent === undefined ? null : Either.getOrNull(percent)
  if (discount !== null && store === null)
    misfits.push({ field: "percent", message: "Choose one store: prices differ between stores." })
  const values = form.values.map(({ key, kind, typed }): FieldValue => {
    const type = rules.find(kind, key)?.type ?? "single_line_text_field"
    return { kind, field: key, value: fromTyped({ key, type }, typed) }
  })
  const doubled = discount === null ? [] : ["price", ...(form.keepsOldPrice ? ["compare_at_price"] : [])]
  for (const { field, kind } of values)
    if (kind === "variant" && doubled.includes(field))
      misfits.push({
        field: nameOf({ kind, key: field }),
        message: "The percentage sets this field. Remove one of them."
      })
  if (percent === undefined && values.length === 0)
    misfits.push({ field: "add", message: "Set a percentage off, or add a field." })
  return { store, discount, keepsOldPrice: form.keepsOldPrice, values }
}

/** The field of the form that an issue of a drop concerns. */
const misfitOf = ({ message, path }: Issue, form: DropForm, changes: ReadonlyArray<ComposedChange>): Misfit => {
  const own: Readonly<Record<string, string>> = { name: "name", starts_at: "starts", ends_at: "ends", timezone: "zone" }
  const at = own[path]
  if (at !== undefined) return { field: at, message: `${capitalize(message)}.` }
  const change = changes[Number(/^changes\[(\d+)\]/.exec(path)?.[1] ?? -1)]
  if (change === undefined) return { field: "search", message: `${capitalize(message)}.` }
  const { field, thing } = change
  const typed = form.values.find(({ key, kind }) => key === field && kind === thing.kind)
  if (/\.(?:field|value)$/.test(path))
    return { field: typed === undefined ? "percent" : nameOf(typed), message: `${capitalize(message)}.` }
  return { field: "search", message: `${titleOr(english, thing.kind, thing.title)}: ${message}.` }
}

const unique = (misfits: ReadonlyArray<Misfit>) => [
  ...new Map(misfits.map((misfit) => [`${misfit.field} ${misfit.message}`, misfit])).values()
]

const order = ["name", "starts", "ends", "zone", "search", "percent"]

/** In the order of the form: the first one gets the focus. */
const inOrder = (misfits: ReadonlyArray<Misfit>) => {
  const place = ({ field }: Misfit) => (order.includes(field) ? order.indexOf(field) : field === "add" ? 8 : 7)
  return [...unique(misfits)].sort((left, right) => place(left) - place(right))
}

/** Why a choice of things changes nothing. */
const nothingChanges = (count: number, leftOut: DropReview["leftOut"]) => {
  const [first] = leftOut
  if (first !== undefined)
    return `Nothing would change: ${titleOr(english, first.thing.kind, first.thing.title)} ${first.reason}${leftOut.length > 1 ? `, and ${counted(leftOut.length - 1, "other thing")} likewise` : ""}.`
  return count === 0
    ? "Choose at least one product, variant, collection or media file."
    : "Nothing would change: none of the chosen things has these fields."
}

/** Works out a drop from the form and checks it, without storing it. `id`: the drop itself, which does not overlap itself. */
export const makeReview = Effect.gen(function* () {
  const drops = yield* Drops

  return (form: DropForm, store: Store | null, id?: DropId) =>
    Effect.gen(function* () {
      const misfits: Array<Misfit> = []
      const { ends, starts } = timesOf(form, misfits)
      const choice = choiceOf(form, store, yield* drops.rules, misfits)
      const fields = ["price", "compare_at_price", ...choice.values.map(({ field }) => field)]
      const things = yield* drops.things({
        ids: form.things,
        withVariants: choice.discount !== null || choice.values.some(({ kind }) => kind === "variant"),
        fields,
        // As many products, and one variant more than a drop can change.
        limit: 2 * maxThings + 1
      })
      const composed = compose(things, choice)
      const count = composed.changes.length
      const tooMany =
        things.length > 2 * maxThings ? `more than ${maxThings}` : count > maxDropChanges ? `${count}` : undefined
      if (tooMany !== undefined)
        misfits.push({
          field: "search",
          message: `These are ${tooMany} changes. A drop has at most ${maxDropChanges}: choose fewer things or fields.`
        })
      else if (things.length === 0 || (count === 0 && misfits.length === 0))
        misfits.push({ field: "search", message: nothingChanges(things.length, composed.leftOut) })
      const dropOf = (changes: ReadonlyArray<ComposedChange>): NewDrop => ({
        name: form.name,
        // An invalid start is a misfit already. This one passes the other checks.
        starts_at: starts ?? "9998-12-31T00:00:00Z",
        ends_at: starts === null ? null : ends,
        timezone: isKnownZone(form.zone) ? form.zone : "UTC",
        changes: toNewChanges(changes)
      })
      const checked = yield* Effect.either(drops.check(dropOf(composed.changes)))
      if (Either.isLeft(checked)) {
        const isCounted = ({ path }: Issue) => path === "changes" && misfits.length > 0
        const issues = checked.left.issues.filter((issue) => !isCounted(issue))
        misfits.push(...issues.map((issue) => misfitOf(issue, form, composed.changes)))
      }
      if (misfits.length > 0 || Either.isLeft(checked) || starts === null)
        return yield* new FormRefused({ misfits: inOrder(misfits) })
      const overlaps = checked.right.filter((overlap) => overlap.id !== id)
      const changes = form.leavesOverlaps ? withoutOverlaps(composed.changes, overlaps) : composed.changes
      const drop = dropOf(changes)
      const found: DropReview & { readonly drop: NewDrop } = {
        form,
        store,
        starts,
        ends,
        changes,
        leftOut: composed.leftOut,
        overlaps: form.leavesOverlaps && changes.length > 0 ? [] : overlaps,
        withdrawn: composed.changes.length - changes.length,
        drop,
        seen: hash("sha256", JSON.stringify(drop), "base64url")
      }
      return found
    })
})
