import type { IslandWords } from "./Islands.ts"

export const selectAllSentences = [
  "All items that match the list's filters",
  "Select all {count, number}",
  "{count, number} of {all, number} selected"
] as const

export interface SelectAllProps {
  /** The beginning of the names of the checkboxes. */
  readonly prefix: string
  /** The number of the checkboxes. */
  readonly all: number
  /** The name of the field that is `all` if the selection is everything that the filters find. Undefined: this cannot be selected. */
  readonly findField?: string | undefined
}

/** The state of the form in the browser. */
export interface SelectAllState {
  readonly selected: number
  readonly isEverything: boolean
  readonly select: (isSelected: boolean) => void
  readonly selectEverything: (isEverything: boolean) => void
}

/** Selects all rows of a form, and says how many are selected. Without a script it is hidden. */
export const SelectAll = ({
  all,
  findField,
  state,
  t
}: SelectAllProps & {
  readonly t: IslandWords<(typeof selectAllSentences)[number]>
  readonly state?: SelectAllState
}) => {
  const selected = state?.selected ?? 0
  return (
    <div class="select-all" hidden={state === undefined}>
      <label class="pick">
        <input
          type="checkbox"
          autocomplete="off"
          checked={selected === all}
          indeterminate={selected > 0 && selected < all}
          onChange={() => state?.select(selected < all)}
        />{" "}
        <span>{t("Select all {count, number}", { count: all })}</span>
      </label>
      {findField !== undefined && (
        <button
          type="button"
          class="chip"
          hidden={selected < all}
          aria-pressed={state?.isEverything === true}
          onClick={() => state?.selectEverything(!state.isEverything)}
        >
          {t("All items that match the list's filters")}
        </button>
      )}
      {state?.isEverything === true && <input type="hidden" name={findField} value="all" />}
      <span class="quiet" role="status">
        {selected > 0 &&
          state?.isEverything !== true &&
          t("{count, number} of {all, number} selected", { count: selected, all })}
      </span>
    </div>
  )
}
