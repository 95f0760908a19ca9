import { Effect, Either, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts, type LayerUpdate, type Sheet } from "../../drafts/Drafts.ts"
import { NotFound, type PimLocked, type RevisionConflict, type ValidationFailed } from "../../model/Errors.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { eachItem } from "../../model/KeyRule.ts"
import { decoded, idOf } from "../PageHandlers.ts"
import { type CellRefusal, cellFields, type Editing } from "./CellForm.tsx"
import { fromTyped, sameTyped } from "./CellInput.ts"
import { digestOf, rowOf, storedIn } from "./Cells.ts"
import { type CellPlace, type GridView, viewOf } from "./GridAddress.ts"

/** The revision that a form is based on. */
export const RevisionForm = Schema.Struct({ draft_revision: Schema.NumberFromString.pipe(Schema.int()) })

type Action = "save" | "next" | "clear" | "copy"
const actions: ReadonlyArray<Action> = ["save", "next", "clear", "copy"]

/** A cell's form as it was sent. `id`: the entity that it edits. */
interface CellEdit {
  readonly id: EntityId
  readonly view: GridView
  readonly place: CellPlace
  readonly action: Action
  readonly draftRevision: number
  /** The digest of the stored value that the form was opened with. */
  readonly seen: string
  /** The digest of the value that the form showed, which a store may inherit. */
  readonly shown: string
  readonly typed: string
  readonly copyTo: ReadonlyArray<StoreId>
}

/** `Same`: the typed value does not differ, so nothing was written. */
type CellOutcome =
  | {
      readonly _tag: "Saved" | "Cleared" | "Copied" | "Same"
      readonly edit: CellEdit
      readonly sheet: Sheet
      /** The revision that was written. 0: nothing was written. */
      readonly revision: number
    }
  | { readonly _tag: "Refused"; readonly edit: CellEdit; readonly editing: Editing; readonly status: 400 | 409 | 423 }

const readId = Schema.decode(StoreId)

const readEdit = (form: Parameters) =>
  Effect.gen(function* () {
    const id = yield* idOf(EntityId, form)
    const storeId = form.get(cellFields.store) === undefined ? null : yield* idOf(StoreId, form, cellFields.store)
    const of = form.get(cellFields.of) === undefined ? undefined : yield* idOf(EntityId, form, cellFields.of)
    const { draft_revision } = yield* decoded(RevisionForm, [cellFields.revision], form)
    const copyTo = yield* Effect.forEach(
      form.names.filter((name) => name.startsWith(cellFields.copyTo)),
      (name) => Effect.mapError(readId(name.slice(cellFields.copyTo.length)), () => new NotFound())
    )
    return {
      id: of ?? id,
      view: viewOf(id, form),
      place: { of, key: form.get(cellFields.key) ?? "", storeId },
      action: actions.find((each) => each === form.get(cellFields.does)) ?? "save",
      draftRevision: draft_revision,
      seen: form.get(cellFields.seen) ?? "",
      shown: form.get(cellFields.shown) ?? "",
      typed: form.get(cellFields.value) ?? "",
      copyTo
    } satisfies CellEdit
  })

const layersOf = ({ action, copyTo, place: { key, storeId } }: CellEdit, value: string): ReadonlyArray<LayerUpdate> => {
  const of = (target: StoreId | null, written: string | null) => ({
    storeId: target,
    attributes: [{ key, value: written }]
  })
  return action === "clear"
    ? [of(storeId, null)]
    : [
        of(storeId, value),
        ...(action === "copy" ? copyTo.filter((id) => id !== storeId) : []).map((id) => of(id, value))
      ]
}

const outcomes = { save: "Saved", next: "Saved", clear: "Cleared", copy: "Copied" } as const

export const lockedMessage = "Not saved: an import has locked the catalog. Accept or discard it, then save again."

const sentence = (text: string) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}.`

/** The issues as sentences that begin with `subject`. Those of a list's items have a subject of their own. */
export const sentencesOf = (subject: string, { issues }: ValidationFailed): string =>
  issues.map(({ message }) => sentence(message.startsWith(eachItem) ? message : `${subject} ${message}`)).join(" ")

/** Attempts of a write if others write other fields of the entity at the same time. */
export const maxAttempts = 5

/** Saves the form of a cell as a draft. */
export const makeEditCell = Effect.map(Drafts, (drafts) => {
  /** The newest author of a field on a layer. */
  const authorOf = (id: EntityId, { key, storeId }: CellPlace) =>
    Effect.map(drafts.history(id, 1, { key, storeId }), ([newest]) => newest?.actor)

  /**
   * Writes based on the revision of the form. If only other fields have changed since, writes again with the current revision. A
   * copy is never repeated, because the form did not show the values of the other stores. Returns the revision that was written,
   * or 0 if the write had no effect.
   */
  const write = (
    edit: CellEdit,
    layers: ReadonlyArray<LayerUpdate>,
    revision = edit.draftRevision,
    attempt = 1
  ): Effect.Effect<
    number,
    NotFound | PimLocked | RevisionConflict | ValidationFailed,
    Effect.Effect.Context<ReturnType<typeof drafts.sheet>>
  > =>
    drafts.updateLayers(edit.id, revision, layers).pipe(
      Effect.map(({ draft_revision }) => (draft_revision === revision ? 0 : draft_revision)),
      Effect.catchTag("RevisionConflict", (conflict) =>
        Effect.flatMap(drafts.sheet(edit.id), (sheet) =>
          attempt < maxAttempts &&
          edit.action !== "copy" &&
          digestOf(storedIn(sheet, edit.place.storeId, edit.place.key)) === edit.seen
            ? write(edit, layers, conflict.currentRevision, attempt + 1)
            : conflict
        )
      )
    )

  const refuse = (edit: CellEdit, status: 400 | 409 | 423, refusal: CellRefusal): CellOutcome => ({
    _tag: "Refused",
    edit,
    status,
    editing: { ...edit.place, typed: edit.typed, copyTo: edit.copyTo, refusal }
  })

  const explain = (
    edit: CellEdit,
    layers: ReadonlyArray<LayerUpdate>,
    error: PimLocked | RevisionConflict | ValidationFailed
  ) =>
    Effect.gen(function* () {
      const { id, place } = edit
      switch (error._tag) {
        case "PimLocked":
          return refuse(edit, 423, { _tag: "Refused", message: lockedMessage })
        case "ValidationFailed":
          return refuse(edit, 400, {
            _tag: "Refused",
            message: sentencesOf("this value", error)
          })
        case "RevisionConflict": {
          const sheet = yield* drafts.sheet(id)
          const value = storedIn(sheet, place.storeId, place.key)
          // A browser sends a form again if the answer was lost.
          if (edit.action !== "copy" && value === layers[0]?.attributes[0]?.value)
            return { _tag: "Same", edit, sheet, revision: 0 } as CellOutcome
          return digestOf(value) === edit.seen
            ? refuse(edit, 409, {
                _tag: "Refused",
                message: "Not saved: somebody changed other fields meanwhile. Check the stores, then save again."
              })
            : refuse(edit, 409, { _tag: "Newer", value, author: yield* authorOf(id, place) })
        }
      }
    })

  return (form: Parameters) =>
    Effect.gen(function* () {
      const edit = yield* readEdit(form)
      const { action, id, place, typed } = edit
      const sheet = yield* drafts.sheet(id)
      const row = rowOf(sheet, place.key)
      const cell = row?.cells.find(({ storeId }) => storeId === place.storeId)
      if (row === undefined || cell === undefined) return yield* new NotFound()
      // An inherited value that was not edited stays inherited, also if the catalog's value has changed since the form was opened.
      const isUnedited = digestOf(fromTyped(row, typed)) === edit.shown || sameTyped(row, typed, cell.value)
      if ((action === "save" || action === "next") && isUnedited)
        if (digestOf(storedIn(sheet, place.storeId, place.key)) === edit.seen)
          return { _tag: "Same", edit, sheet, revision: 0 } as CellOutcome
      const layers = layersOf(edit, fromTyped(row, typed))
      const written = yield* Effect.either(write(edit, layers))
      if (Either.isRight(written))
        return { _tag: outcomes[action], edit, sheet, revision: written.right } as CellOutcome
      return written.left._tag === "NotFound" ? yield* written.left : yield* explain(edit, layers, written.left)
    })
})
