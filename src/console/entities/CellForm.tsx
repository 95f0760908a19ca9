import type { HistoryActor } from "../../drafts/History.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { Alert, Hidden, HiddenFields } from "../Frame.tsx"
import type { Saying } from "../languages/Words.tsx"
import { actorName } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { readable, Value } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"
import { controlOf, fromTyped, toTyped } from "./CellInput.ts"
import { type Cell, digestOf, type FieldRow } from "./Cells.ts"
import { type CellPlace, cellId, cellPath, type GridView, inputId, parametersOfView, viewPath } from "./GridAddress.ts"
import { RichText } from "./RichText.tsx"
import { directionOf } from "./StoreLanguage.ts"

/** The cell whose form is open. `typed`: the text of a refused form; undefined: the form shows the draft. */
export interface Editing extends CellPlace {
  readonly typed?: string | undefined
  readonly copyTo?: ReadonlyArray<StoreId>
  readonly refusal?: CellRefusal | undefined
}

/** Why a form was refused. `newer`: the value that somebody else saved meanwhile, and the author. */
export type CellRefusal =
  | { readonly _tag: "Refused"; readonly message: Saying }
  | { readonly _tag: "Newer"; readonly value: string | null; readonly author: HistoryActor | undefined }

/** The names of the fields of a cell's form. */
export const cellFields = {
  key: "key",
  store: "store",
  /** The variant, in the table of variants. */
  of: "of",
  revision: "draft_revision",
  seen: "seen",
  shown: "shown",
  value: "value",
  does: "do",
  copyTo: "to-"
} as const

interface CellFormProps {
  readonly csrf: string
  readonly view: GridView
  readonly of: EntityId | undefined
  readonly draftRevision: number
  readonly row: FieldRow
  readonly cell: Cell
  /** The value that the layer itself stores. */
  readonly stored: string | null
  /** The stores that have the entity. */
  readonly stores: ReadonlyArray<Store>
  readonly editing: Editing
  /** The name of the field. */
  readonly field: string
  /** The name of the column. */
  readonly where: string
  readonly hasNext: boolean
}

const idsOf = (place: CellPlace) => {
  const id = cellId(place)
  return { input: inputId(place), refusal: `${id}-refusal`, hint: `${id}-hint` }
}

const Control = ({ cell, editing, field, of, row, stores, where }: CellFormProps) => {
  const t = useWords()

  const control = controlOf(row, cell.value)
  const ids = idsOf({ of, key: row.key, storeId: cell.storeId })
  const typed = editing.typed ?? toTyped(row, cell.value)
  const store = stores.find(({ id }) => id === cell.storeId)
  const hasWords = control._tag === "Area" || (control._tag === "Line" && control.inputMode === "text")
  const hint = control._tag === "Area" ? control.hint : undefined
  const described = [editing.refusal !== undefined && ids.refusal, hint !== undefined && ids.hint].filter(Boolean)
  const label = `${field}${t(", ")}${where}`
  const language = store && { lang: store.primary_locale, dir: directionOf(store.primary_locale) }
  const common = {
    id: ids.input,
    name: cellFields.value,
    autofocus: true,
    "aria-label": label,
    ...(described.length > 0 && { "aria-describedby": described.join(" ") }),
    ...(editing.refusal !== undefined && { "aria-invalid": "true" as const }),
    ...(hasWords && language)
  }
  return (
    <>
      {hint === "HTML" && <RichText id={ids.input} label={label} {...language} />}
      {control._tag === "Choice" ? (
        <select {...common}>
          {["", ...new Set([...control.choices, ...(typed === "" ? [] : [typed])])].map((choice) => (
            <option key={choice} value={choice} selected={choice === typed}>
              {choice === "" ? t("empty") : choice}
            </option>
          ))}
        </select>
      ) : control._tag === "Area" ? (
        // Browsers drop the first line break of a text area.
        <textarea {...common} rows={typed.length > 200 ? 10 : 4}>{`\n${typed}`}</textarea>
      ) : (
        <input {...common} type="text" inputMode={control.inputMode} value={typed} autocomplete="off" />
      )}
      {hint !== undefined && (
        <p class="quiet" id={ids.hint}>
          {t.say(hint)}
        </p>
      )}
    </>
  )
}

const RefusalAt = ({ cell, editing: { refusal }, of, row }: CellFormProps) => {
  const t = useWords()

  if (refusal === undefined) return null
  const { refusal: id } = idsOf({ of, key: row.key, storeId: cell.storeId })
  return (
    <div id={id}>
      <Alert>
        {refusal._tag === "Refused" ? (
          <p>{t.say(refusal.message)}</p>
        ) : (
          <>
            <p>
              {t("{author} changed this while you were typing. Nothing was overwritten. It is now:", {
                author: refusal.author === undefined ? t("Somebody else") : actorName(t, refusal.author)
              })}
            </p>
            <p>
              {refusal.value === null ? (
                <span class="quiet">{cell.storeId === null ? t("empty") : t("the catalog's value")}</span>
              ) : (
                <Value text={readable(refusal.value, row.type)} />
              )}
            </p>
            <p>{t("Your text is still below. Saving it replaces that value.")}</p>
          </>
        )}
      </Alert>
    </div>
  )
}

const CopyChoice = ({ cell, editing: { copyTo = [] }, stores }: CellFormProps) => {
  const t = useWords()

  const others = stores.filter(({ id }) => id !== cell.storeId)
  return others.length === 0 ? null : (
    <details open={copyTo.length > 0}>
      <summary>{t("Copy to stores")}</summary>
      <ul class="plain">
        {others.map(({ id, name }) => (
          <li key={id}>
            <label class="pick">
              <input type="checkbox" name={`${cellFields.copyTo}${id}`} value="yes" checked={copyTo.includes(id)} />{" "}
              <bdi>{name}</bdi>
            </label>
          </li>
        ))}
      </ul>
      <button type="submit" class="plain" name={cellFields.does} value="copy">
        {t("Save here and on these stores")}
      </button>
    </details>
  )
}

/** The path of the history of one field. */
const fieldHistoryPath = (id: EntityId, key: string): string =>
  `${paths.entity}?${new URLSearchParams({ id, field: key })}#history`

/** Edits one cell in place. The first button is the one that Enter presses. */
export const CellForm = (props: CellFormProps) => {
  const t = useWords()

  const { cell, csrf, draftRevision, editing, hasNext, of, row, stored, view } = props
  const place = { of, key: row.key, storeId: cell.storeId }
  const hidden = {
    ...parametersOfView(view),
    [cellFields.key]: row.key,
    [cellFields.store]: cell.storeId ?? "",
    ...(of !== undefined && { [cellFields.of]: of }),
    [cellFields.revision]: String(draftRevision),
    [cellFields.seen]: digestOf(stored),
    [cellFields.shown]: digestOf(fromTyped(row, toTyped(row, cell.value)))
  }
  return (
    <form method="post" action={paths.editEntity} class="cell">
      <HiddenFields csrf={csrf} />
      <Hidden of={Object.entries(hidden)} />
      <RefusalAt {...props} />
      <Control {...props} />
      <div class="buttons">
        <button type="submit" name={cellFields.does} value="save">
          {t("Save draft")}
        </button>
        {hasNext && (
          <button type="submit" class="plain" name={cellFields.does} value="next">
            {t("Save and next")}
          </button>
        )}
        <a class="button bare cancel" href={cellPath(view, place)}>
          {t("Cancel")}
        </a>
      </div>
      {cell.storeId !== null && cell.isOwn && (
        <button type="submit" class="plain" name={cellFields.does} value="clear">
          {t("Use the catalog's value")}
        </button>
      )}
      {cell.live !== undefined && (
        <p>
          <span class="quiet">{t("Live now:")}</span> <Value text={readable(cell.live, row.type)} />
        </p>
      )}
      <CopyChoice {...props} />
      <p>
        <a href={fieldHistoryPath(of ?? view.id, row.key)}>{t("History of this field")}</a>
      </p>
      {editing.refusal !== undefined && (
        <p class="quiet">
          {t.rich("Not saved. <link>Discard what you typed</link>", {
            link: (words) => <a href={viewPath(view)}>{words}</a>
          })}
        </p>
      )}
    </form>
  )
}
