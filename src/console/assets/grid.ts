/** The keys of a grid of values: arrows move, F2 opens a cell; in its form Tab saves and opens the next cell, Escape closes. */
import { around, type Control, isChanged } from "./morph.ts"

/** The step of the right arrow, in the direction of the page. */
export const onward = document.documentElement.dir === "rtl" ? -1 : 1

const steps: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, onward],
  ArrowLeft: [0, -onward]
}

/** The links that open cells, by rows. Columns that a narrow screen hides are left out. */
const linksOf = (grid: HTMLTableElement): ReadonlyArray<ReadonlyArray<HTMLAnchorElement>> =>
  [...(grid.tBodies[0]?.rows ?? [])]
    .map((row) =>
      [...row.querySelectorAll<HTMLAnchorElement>("a.edit")].filter((link) => link.getClientRects().length > 0)
    )
    .filter((links) => links.length > 0)

/** Makes one cell of the grid reachable by Tab, and no other. */
const rove = (grid: HTMLTableElement, chosen: HTMLAnchorElement | undefined): void => {
  for (const link of grid.querySelectorAll<HTMLAnchorElement>("a.edit")) link.tabIndex = link === chosen ? 0 : -1
}

const columnOf = (link: HTMLAnchorElement): number => link.closest("td")?.cellIndex ?? 0

const targetOf = (
  rows: ReadonlyArray<ReadonlyArray<HTMLAnchorElement>>,
  from: HTMLAnchorElement,
  { ctrlKey, key }: KeyboardEvent
): HTMLAnchorElement | undefined => {
  const at = rows.findIndex((row) => row.includes(from))
  const row = rows[at] ?? []
  if (key === "Home") return (ctrlKey ? rows[0] : row)?.[0]
  if (key === "End") return (ctrlKey ? rows.at(-1) : row)?.at(-1)
  const [down, right] = steps[key] ?? [0, 0]
  if (right !== 0) return row[row.indexOf(from) + right]
  const column = columnOf(from)
  return down === 0 ? undefined : rows[at + down]?.find((link) => columnOf(link) >= column)
}

const inGrid = (grid: HTMLTableElement, event: KeyboardEvent): void => {
  const { target } = event
  if (!(target instanceof HTMLAnchorElement) || !target.matches("a.edit") || event.altKey || event.metaKey) return
  if (event.key === "F2") {
    event.preventDefault()
    target.click()
    return
  }
  const next = targetOf(linksOf(grid), target, event)
  if (next === undefined) return
  event.preventDefault()
  rove(grid, next)
  next.focus()
}

/** The control of the open cell. Two cells are never open at a time. */
export const openControl = (): Control | null =>
  document.querySelector<Control>("table[data-grid] form.cell [name=value]")

/**
 * Saves the open cell if a person has changed it. A refused cell that was not changed since only gets the focus: to send it again can
 * overwrite the value of somebody else. False: no cell is changed or refused.
 */
export const saveChanged = (): boolean => {
  const control = openControl()
  if (!control?.form) return false
  if (isChanged(control)) return press(control.form, "save")
  control.focus()
  return control.matches('[aria-invalid="true"]')
}

export const press = (form: HTMLFormElement, name: string): boolean => {
  const button = form.querySelector<HTMLButtonElement>(`button[name=do][value=${name}]`)
  if (button !== null) form.requestSubmit(button)
  return button !== null
}

/**
 * The keys of an open form. Tab saves only a changed value; otherwise it moves to the buttons of the form. Alt and
 * arrow down always moves there.
 */
const inForm = (form: HTMLFormElement, event: KeyboardEvent): void => {
  const control = openControl()
  if (event.key === "Escape") {
    event.preventDefault()
    form.querySelector<HTMLAnchorElement>("a.cancel")?.click()
    return
  }
  const isInEditor = event.target instanceof HTMLElement && event.target.isContentEditable
  if ((event.target !== control && !isInEditor) || control === null) return
  if (event.altKey && event.key === "ArrowDown" && !(control instanceof HTMLSelectElement)) {
    event.preventDefault()
    form.querySelector<HTMLElement>(".buttons button")?.focus()
  } else if (event.key === "Tab" && !event.shiftKey && isChanged(control)) {
    if (press(form, "next") || press(form, "save")) event.preventDefault()
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault()
    press(form, "save")
  }
}

/** Makes one cell of each grid reachable by Tab: the one with this id, the one that was reachable before, or the first. */
export const arrangeGrids = (id: string): void => {
  const landed = document.getElementById(id)?.closest("td")?.querySelector<HTMLAnchorElement>("a.edit")
  for (const grid of document.querySelectorAll<HTMLTableElement>("table[data-grid]")) {
    grid.role = "grid"
    const before = grid.querySelector<HTMLAnchorElement>('a.edit[tabindex="0"]')
    rove(grid, landed != null && grid.contains(landed) ? landed : (before ?? linksOf(grid).flat()[0]))
  }
}

export const openGrids = (): void => {
  arrangeGrids(location.hash.slice(1))
  document.addEventListener("keydown", (event) => {
    const grid = around<HTMLTableElement>(event, "table[data-grid]")
    if (grid === null || event.isComposing || event.defaultPrevented) return
    const form = around<HTMLFormElement>(event, "form.cell")
    if (form === null) inGrid(grid, event)
    else inForm(form, event)
  })
}
