import { Effect, Either, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts, type LayerUpdate } from "../../drafts/Drafts.ts"
import { maxHistoryEntries } from "../../drafts/History.ts"
import { NotFound } from "../../model/Errors.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import type { Saying, Words } from "../languages/Words.tsx"
import { actorName } from "../Naming.tsx"
import { decoded, idOf } from "../PageHandlers.ts"
import { maxAttempts, sentencesOf } from "./CellEdits.ts"
import { cellFields } from "./CellForm.tsx"
import { storedIn } from "./Cells.ts"
import { type CellPlace, type GridView, viewOf } from "./GridAddress.ts"
import { undoField } from "./GridCell.tsx"

/** An undo of one revision. `place`: the cell at which the page shows the result. */
interface Undo {
  readonly id: EntityId
  readonly view: GridView
  readonly place: CellPlace
  readonly revision: number
}

/** `revision`: of the undo itself, which can be undone too. */
type UndoOutcome =
  | { readonly _tag: "Undone"; readonly undo: Undo; readonly revision: number }
  | { readonly _tag: "Refused"; readonly undo: Undo; readonly message: Saying; readonly status: 400 | 409 | 423 }

const lockedMessage = "Not undone: an import has locked the catalog. Accept or discard it, then undo again."

const UndoForm = Schema.Struct({ [undoField]: Schema.NumberFromString.pipe(Schema.int(), Schema.positive()) })

const readUndo = (form: Parameters) =>
  Effect.gen(function* () {
    const id = yield* idOf(EntityId, form)
    const storeId = form.get(cellFields.store) === undefined ? null : yield* idOf(StoreId, form, cellFields.store)
    const of = form.get(cellFields.of) === undefined ? undefined : yield* idOf(EntityId, form, cellFields.of)
    const { revision } = yield* decoded(UndoForm, [undoField], form)
    return {
      id: of ?? id,
      view: viewOf(id, form),
      place: { of, key: form.get(cellFields.key) ?? "", storeId },
      revision
    } satisfies Undo
  })

/**
 * Undoes a revision of a draft by a new write with the values before it. Where a drop that has ended wrote such a value, the value before
 * the drop is restored.
 */
export const makeUndoEdit = Effect.map(Drafts, (drafts) => {
  const attemptOnce = (t: Words, undo: Undo) =>
    Effect.gen(function* () {
      const { id, revision } = undo
      // The revision is read before the values. If a change comes between, the write is refused.
      const { draft_revision } = yield* drafts.get(id, null)
      // Changes before the newest `maxHistoryEntries` cannot be undone here.
      const history = yield* drafts.history(id, maxHistoryEntries, { revision })
      const sheet = yield* drafts.sheet(id)
      const changes = history
        .filter(({ action }) => action === "attributes")
        .flatMap(({ changes, store_id }) => changes.map((change) => ({ ...change, storeId: store_id })))
      if (changes.length === 0) return yield* new NotFound()
      const newer = changes.find(({ key, new: value, storeId }) => storedIn(sheet, storeId, key) !== value)
      if (newer !== undefined) {
        const [newest] = yield* drafts.history(id, 1, newer)
        const author = newest?.actor
        const message: Saying = {
          sentence: "Not undone: {author} has changed this since. Nothing was overwritten.",
          values: { author: author === undefined ? t("somebody") : actorName(t, author) }
        }
        return { _tag: "Refused", undo, status: 409, message } as UndoOutcome
      }
      const layers = [...new Set(changes.map(({ storeId }) => storeId))].map(
        (storeId): LayerUpdate => ({
          storeId,
          attributes: changes
            .filter((change) => change.storeId === storeId)
            .map(({ key, old }) => ({ key, value: old }))
        })
      )
      const written = yield* Effect.either(drafts.updateLayers(id, draft_revision, layers, revision))
      if (Either.isRight(written))
        return { _tag: "Undone", undo, revision: written.right.draft_revision } as UndoOutcome
      const error = written.left
      switch (error._tag) {
        case "PimLocked":
          return { _tag: "Refused", undo, status: 423, message: lockedMessage } as UndoOutcome
        case "ValidationFailed": {
          const why = sentencesOf("the earlier value", error)
          return {
            _tag: "Refused",
            undo,
            status: 400,
            message: { sentence: "Not undone. {problem}", values: { problem: why } }
          } as UndoOutcome
        }
        case "NotFound":
        case "RevisionConflict":
          return yield* error
      }
    })

  const write = (
    t: Words,
    undo: Undo,
    attempt = 1
  ): Effect.Effect<UndoOutcome, NotFound, Effect.Effect.Context<ReturnType<typeof attemptOnce>>> =>
    Effect.catchTag(attemptOnce(t, undo), "RevisionConflict", () =>
      attempt < maxAttempts
        ? write(t, undo, attempt + 1)
        : Effect.succeed({
            _tag: "Refused",
            undo,
            status: 409,
            message: "Not undone: others are changing this at the moment. Try again."
          } as const)
    )

  return (t: Words, form: Parameters) => Effect.flatMap(readUndo(form), (undo) => write(t, undo))
})
