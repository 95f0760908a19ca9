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
import type { Words } from "../languages/Words.tsx"
import { titleOr } from "../Naming.tsx"
import { type DropForm, type Fold, nameOf } from "./DropForm.ts"
import { dayOfYear, leftOutWords, timeOfDay } from "./DropWords.tsx"
import { isKnownZone } from "./NewDropFields.tsx"
import type { DropReview } from "./ReviewDropPage.tsx"

/** Maximum number of things in a drop: each has at least one change. */
export const maxThings = maxDropChanges
/** Maximum number of problems that a form shows: each of its things can have one. */
const maxMisfits = 20

/** The problems of a form, by field. */
class FormRefused extends Data.TaggedError("FormRefused")<{ readonly misfits: ReadonlyArray<Misfit> }> {}

const capitalize = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** The instant of a local time, or the reason why it has none. */
const timeOf = (t: Words, text: string, zone: string, fold: Fold): Either.Either<Timestamp, string> => {
  const found = instantsOf(text, zone)
  const timeWords = () => ({ time: text.slice(11, 16), day: dayOfYear(t, text.slice(0, 10)), zone })
  switch (found._tag) {
    case "Once":
      return Either.right(found.at)
    case "Unreadable":
      return Either.left(t("Must be a date and a time, such as 2027-01-31T09:30."))
    case "Never":
      return Either.left(
        t(
          "{time} on {day} does not exist in {zone}: the clocks are turned forward from {from} to {to}. Choose another time.",
          { ...timeWords(), from: found.from.slice(11), to: found.to.slice(11) }
        )
      )
    case "Twice":
      return fold !== ""
        ? Either.right(found[fold])
        : Either.left(
            t(
              "{time} on {day} exists twice in {zone}, because the clocks are turned back: at {first} UTC and at {second} UTC. Choose one of them.",
              { ...timeWords(), first: timeOfDay(t, found.first, "UTC"), second: timeOfDay(t, found.second, "UTC") }
            )
          )
  }
}

const timesOf = (t: Words, { ends, endsFold, starts, startsFold, zone }: DropForm, misfits: Array<Misfit>) => {
  if (!isKnownZone(zone)) {
    misfits.push({ field: "zone", message: "Choose a time zone." })
    return { starts: null, ends: null }
  }
  const read = (field: "starts" | "ends", text: string, fold: Fold) => {
    const time = timeOf(t, text, zone, fold)
    if (Either.isLeft(time)) misfits.push({ field, message: time.left })
    return Either.getOrNull(time)
  }
  return { starts: read("starts", starts, startsFold), ends: ends === "" ? null : read("ends", ends, endsFold) }
}

/** The changes of the form: the discount and the fields. */
const choiceOf = (form: DropForm, store: Store | null, rules: KeyRules, misfits: Array<Misfit>) => {
  const percent = form.percent.trim() === "" ? undefined : parsePercent(form.percent)
  if (percent !== undefined && Either.isLeft(percent))
    misfits.push({
      field: "percent",
      message: "Must be a number above 0 and below 100, with at most two decimals, such as 20 or 12.5."
    })
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
const misfitOf = (
  t: Words,
  { message, path }: Issue,
  form: DropForm,
  changes: ReadonlyArray<ComposedChange>
): Misfit => {
  const own: Readonly<Record<string, string>> = { name: "name", starts_at: "starts", ends_at: "ends", timezone: "zone" }
  const at = own[path]
  if (at !== undefined) return { field: at, message: `${capitalize(message)}.` }
  const change = changes[Number(/^changes\[(\d+)\]/.exec(path)?.[1] ?? -1)]
  if (change === undefined) return { field: "search", message: `${capitalize(message)}.` }
  const { field, thing } = change
  const typed = form.values.find(({ key, kind }) => key === field && kind === thing.kind)
  if (/\.(?:field|value)$/.test(path))
    return { field: typed === undefined ? "percent" : nameOf(typed), message: `${capitalize(message)}.` }
  return { field: "search", message: `${titleOr(t, thing.kind, thing.title)}: ${message}.` }
}

const unique = (misfits: ReadonlyArray<Misfit>) => [
  ...new Map(misfits.map((misfit) => [JSON.stringify([misfit.field, misfit.message]), misfit])).values()
]

const order = ["name", "starts", "ends", "zone", "search", "percent"]

/** In the order of the form: the first one gets the focus. */
const inOrder = (misfits: ReadonlyArray<Misfit>): ReadonlyArray<Misfit> => {
  const place = ({ field }: Misfit) => (order.includes(field) ? order.indexOf(field) : field === "add" ? 8 : 7)
  const sorted = [...unique(misfits)].sort((left, right) => place(left) - place(right))
  const count = sorted.length - maxMisfits
  if (count <= 0) return sorted
  const more = {
    sentence: "{count, plural, one {# more problem} other {# more problems}}.",
    values: { count }
  } as const
  return [...sorted.slice(0, maxMisfits), { field: "search", message: more }]
}

/** Why a choice of things changes nothing. */
const nothingChanges = (t: Words, count: number, [first, ...others]: DropReview["leftOut"]) => {
  if (first !== undefined) {
    const { price, reason, thing } = first
    const why = t(leftOutWords[reason], { thing: titleOr(t, thing.kind, thing.title), price: t.amount(price) })
    return others.length === 0
      ? t("Nothing would change: {why}.", { why })
      : t("Nothing would change: {why}, and {count, plural, one {# other item} other {# other items}} likewise.", {
          why,
          count: others.length
        })
  }
  return count === 0
    ? t("Choose at least one product, variant, collection or media file.")
    : t("Nothing would change: none of the chosen items has these fields.")
}

/** Works out a drop from the form and checks it, without storing it. `id`: the drop itself, which does not overlap itself. */
export const makeReview = Effect.gen(function* () {
  const drops = yield* Drops

  return (t: Words, form: DropForm, store: Store | null, id?: DropId) =>
    Effect.gen(function* () {
      const misfits: Array<Misfit> = []
      const { ends, starts } = timesOf(t, form, misfits)
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
      const isCut = things.length > 2 * maxThings
      if (isCut || count > maxDropChanges)
        misfits.push({
          field: "search",
          message: {
            sentence: isCut
              ? "These are more than {count, number} changes. A drop has at most {max, number}: choose fewer items or fields."
              : "These are {count, number} changes. A drop has at most {max, number}: choose fewer items or fields.",
            values: { count: isCut ? maxThings : count, max: maxDropChanges }
          }
        })
      else if (things.length === 0 || (count === 0 && misfits.length === 0))
        misfits.push({ field: "search", message: nothingChanges(t, things.length, composed.leftOut) })
      const dropOf = (changes: ReadonlyArray<ComposedChange>): NewDrop => ({
        name: form.name,
        // An invalid start is already in the list of misfits. This placeholder passes the other checks.
        starts_at: starts ?? "9998-12-31T00:00:00Z",
        ends_at: starts === null ? null : ends,
        timezone: isKnownZone(form.zone) ? form.zone : "UTC",
        changes: toNewChanges(changes)
      })
      const checked = yield* Effect.either(drops.check(dropOf(composed.changes)))
      if (Either.isLeft(checked)) {
        const isCounted = ({ path }: Issue) => path === "changes" && misfits.length > 0
        const issues = checked.left.issues.filter((issue) => !isCounted(issue))
        misfits.push(...issues.map((issue) => misfitOf(t, issue, form, composed.changes)))
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
