import { Effect, Option, Schema } from "effect"
import type { ComponentChildren } from "preact"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { Target } from "../../drafts/CatalogChange.ts"
import { EntityId } from "../../model/Ids.ts"
import { PageRefused } from "../Browser.ts"
import { Note } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { useWords } from "../Viewer.tsx"

/** The names of the fields of forms that move an item of an ordered list. */
export const moveFields = {
  /** The id of the item, what moves it, and for `undo` the place that it had before, from 1. */
  move: "move",
  /** The place that a person typed. */
  position: "position"
} as const

/** `to`: the typed place. `undo`: the place that the item had before. */
type MovedBy = "up" | "down" | "to" | "undo"

/** A form as it was sent. */
interface Move {
  readonly id: EntityId
  readonly by: MovedBy
  /** For `undo`: the place that the item had before; otherwise 0. */
  readonly back: number
  readonly typed: string
}

/** A saved move: the places of the item before and now, and the length of the list. */
export interface Moved {
  readonly id: EntityId
  readonly before: number
  readonly place: number
  readonly count: number
}

const readId = Schema.decodeOption(EntityId)

const notUnderstood = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "The form does not say what to move. Open the page again and repeat it there."
})

export const readMove = (form: Parameters): Effect.Effect<Move, PageRefused> => {
  const [, text = "", by = "", back = ""] =
    /^(\S+) (up|down|to|undo(?= ))(?: ([1-9]\d{0,6}))?$/.exec(form.get(moveFields.move) ?? "") ?? []
  return Option.match(readId(text), {
    onNone: () => notUnderstood,
    onSome: (id) =>
      Effect.succeed({ id, by: by as MovedBy, back: Number(back), typed: form.get(moveFields.position) ?? "" })
  })
}

/** Where a form moves its item. Text that is no whole number is no place of any list. */
export const targetOf = ({ back, by, typed }: Move): Target =>
  by === "undo" ? back : by === "to" ? (/^\d{1,9}$/.test(typed.trim()) ? Number(typed) : Number.NaN) : by

/** The id of the control that moves an item. */
const moveControlId = (id: EntityId, by: MovedBy): string => `move-${id}-${by}`

/**
 * The note of a saved move, and the id of the control that gets the focus: at an end of the list an item can only be moved the other
 * way. Undefined: the item was there already, so there is nothing to say or to undo.
 */
export const afterMove = ({ by, id }: Move, { before, count, place }: Omit<Moved, "id">) => ({
  note: before === place ? undefined : `ordered ${id} ${before} ${place} ${count}`,
  control: moveControlId(id, by === "up" && place === 1 ? "down" : by === "down" && place === count ? "up" : by)
})

/** Reads a note of `afterMove`. */
export const movedIn = (note: string | undefined): Moved | undefined => {
  const [, text = "", ...places] = /^ordered (\S+) (\d{1,7}) (\d{1,7}) (\d{1,7})$/.exec(note ?? "") ?? []
  const [before = 0, place = 0, count = 0] = places.map(Number)
  return Option.getOrUndefined(Option.map(readId(text), (id) => ({ id, before, place, count })))
}

interface Movable {
  readonly id: EntityId
  readonly name: string
  /** The form that the buttons send. */
  readonly form: string
}

/** `form`: the form that the button sends. `value`: what it sends. */
const MoveButton = ({
  by,
  id,
  value,
  ...others
}: Pick<Move, "by" | "id"> & {
  readonly form: string
  readonly formAction?: string | undefined
  readonly value: string
  readonly class?: string
  readonly disabled?: boolean
  readonly title?: string
  readonly "aria-label"?: string
  readonly children: ComponentChildren
}) => <button type="submit" class="plain" id={moveControlId(id, by)} name={moveFields.move} value={value} {...others} />

/** The buttons that move an item one place up and down. `action`: where they send their form, if that form does something else. */
export const MoveButtons = ({
  action,
  count,
  form,
  id,
  name,
  place
}: Movable & { readonly place: number; readonly count: number; readonly action?: string }) => {
  const t = useWords()
  const Button = ({ by }: { readonly by: "up" | "down" }) => (
    <MoveButton
      by={by}
      id={id}
      form={form}
      formAction={action}
      class="plain icon-only"
      value={`${id} ${by}`}
      disabled={place === (by === "up" ? 1 : count)}
      aria-label={t(by === "up" ? "Move {item} up" : "Move {item} down", { item: name })}
      title={by === "up" ? t("Move up") : t("Move down")}
    >
      <Icon name={by === "up" ? "arrow-up" : "arrow-down"} />
    </MoveButton>
  )
  return (
    <>
      <Button by="up" />
      <Button by="down" />
    </>
  )
}

/** The button that moves an item to the typed place. */
export const MoveToButton = ({ form, id, name }: Movable) => {
  const t = useWords()
  return (
    <MoveButton
      by="to"
      id={id}
      form={form}
      value={`${id} to`}
      aria-label={t("Move {item} to this position", { item: name })}
    >
      {t("Move")}
    </MoveButton>
  )
}

/** The button that undoes the last move by moving the item back. */
export const UndoMove = ({ form, moved: { before, id } }: { readonly form: string; readonly moved: Moved }) => {
  const t = useWords()
  return (
    <MoveButton by="undo" id={id} form={form} value={`${id} undo ${before}`}>
      <Icon name="undo-2" />
      {t("Undo")}
    </MoveButton>
  )
}

/** Says where an item is after its move. */
export const MovedNote = ({ moved: { count, place }, name }: { readonly moved: Moved; readonly name: string }) => {
  const t = useWords()
  return (
    <Note>
      <p>
        {t.rich("{item} is number {place, number} of {all, number} now: saved as a draft.", {
          item: <bdi>{name}</bdi>,
          place,
          all: count
        })}
      </p>
    </Note>
  )
}
