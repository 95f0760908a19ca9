/**
 * Opens, saves and closes cells of a grid, publishes, and reviews a publish in a drawer, without leaving the page: it sends the link
 * or form, and makes the page like the answer. An answer that is no such page (the session has ended) is opened as without this
 * script. Without an answer the page stays as it is, says so, and offers to send the same again.
 */
import { keepKeys, keptKeys, typeKeys } from "./ahead.ts"
import { arrangeGrids, openControl, saveChanged } from "./grid.ts"
import { addField, around, focusContent, isChanged, morph } from "./morph.ts"

/** Selectors of the links and forms that are sent without leaving the page. */
const links = "table[data-grid] :is(a.edit, a.cancel), a[data-drawer]"
const forms = "table[data-grid] :is(form.cell, form.undo), dialog.drawer form.review, form[data-in-place]"

let timer: ReturnType<typeof setTimeout> | undefined

/** Screen readers read out a status whose text appears after the status itself: 100 ms later. */
const announce = (): void => {
  clearTimeout(timer)
  const note = document.querySelector<HTMLElement>("main > .note")
  if (note === null) return
  const words = [...note.childNodes]
  note.style.minHeight = `${note.offsetHeight}px`
  note.replaceChildren()
  timer = setTimeout(() => note.append(...words), 100)
}

/** The control of an open cell. A selection has no caret. */
type EditControl = HTMLElement & Partial<Pick<HTMLInputElement, "setSelectionRange">>

const drawer = (): HTMLDialogElement | null => document.querySelector("dialog.drawer")

/** Shows the review of a publish beside the page. */
const openDrawer = (review: HTMLElement): void => {
  const dialog = drawer() ?? document.createElement("dialog")
  dialog.className = "drawer"
  dialog.ariaLabel = review.querySelector("h1")?.textContent ?? ""
  review.querySelector("nav.trail")?.remove()
  dialog.replaceChildren(...review.childNodes)
  document.body.append(dialog)
  if (dialog.open) dialog.querySelector<HTMLElement>("input:not([type=hidden]), button")?.focus()
  else dialog.showModal()
}

/**
 * Takes another version of the page. `id`: of the link that has the focus afterwards, unless the form of a cell is open; empty: no cell
 * was opened or closed. `sentForm`: the form that was sent.
 */
const take = (main: HTMLElement, next: HTMLElement, id: string, sentForm: HTMLFormElement | undefined): void => {
  const { events } = main.dataset
  // A person may have gone on to a search.
  const staysThere = document.activeElement?.matches("[type=search]")
  if (events !== undefined) next.dataset.events ??= events
  for (const element of next.querySelectorAll("[autofocus]")) element.removeAttribute("autofocus")
  // They would stay as they are, because a person is in them.
  sentForm?.remove()
  if (id !== "") for (const form of main.querySelectorAll("form.cell, form.undo")) form.remove()
  drawer()?.close()
  morph(main, next)
  arrangeGrids(id)
  const control: EditControl | null = id === "" ? null : openControl()
  if (!staysThere) {
    ;(control ?? document.getElementById(id))?.focus()
    // The cursor is at the end, so that typing adds to the value, as in a spreadsheet after F2.
    control?.setSelectionRange?.(-1, -1)
  }
  if (document.activeElement === document.body) focusContent(main)
  announce()
}

/** After this time without an answer, in milliseconds, a person may try again. */
const patience = 60_000

/** Sends a request of the page. Returns whether the answer was taken, and fails without an answer of the service. */
const send = async (request: Request, id: string, sentForm?: HTMLFormElement): Promise<boolean> => {
  const response = await fetch(request, { signal: AbortSignal.timeout(patience) })
  const page = new DOMParser().parseFromString(await response.text(), "text/html")
  if (response.status >= 500) throw new Error()
  const main = document.querySelector("main")
  const next = page.querySelector("main")
  if (main === null || next === null) return false
  if (next.querySelector("form.review") !== null) {
    openDrawer(next)
    return true
  }
  if (next.querySelector("table[data-grid]") === null) return false
  take(main, next, id, sentForm)
  document.title = page.title
  if (response.ok) {
    const open = openControl()?.id ?? id
    history.replaceState(null, "", response.url + (open && `#${open}`))
  }
  return true
}

/** Lets the browser ask before a page with a changed cell is left. A cell that is being saved is inert. */
const keepChanged = (event: BeforeUnloadEvent): void => {
  const control = openControl()
  if (control?.form?.inert === false && isChanged(control)) event.preventDefault()
}

/** `updated` is called after each change of the page. */
export const editInPlace = (updated: () => void): void => {
  const template = document.querySelector<HTMLTemplateElement>("template#in-place")
  if (template === null) return
  const failure = template.content.querySelector<HTMLElement>("[role=alert]") as HTMLElement
  let isBusy = false
  /** Whether the answer opens a cell. */
  let opens = false
  /** Runs as soon as the answer is taken, unless it refuses a cell. */
  let next: (() => void) | undefined
  /** Sends the request again that had no answer. */
  let again: () => void

  failure.querySelector("button")?.addEventListener("click", () => again())

  /** Says that there was no answer, in the drawer if it is open: what is outside of it cannot be used then. */
  const sayFailure = () => {
    for (const form of document.querySelectorAll<HTMLElement>("form[inert]")) form.inert = false
    ;(document.querySelector("dialog[open]") ?? document.body).append(failure)
  }

  const isOpening = () => isBusy && (opens || next !== undefined)
  keepKeys(isOpening)
  addEventListener("beforeunload", keepChanged)

  /**
   * `id`: of the link that has the focus afterwards (`take`). `otherwise`: opens an answer that is no such page. `repeat`: does again what the
   * person did.
   */
  const attempt = async (
    request: Request,
    id: string,
    otherwise: () => void,
    repeat: () => void,
    sentForm?: HTMLFormElement
  ) => {
    isBusy = true
    failure.remove()
    const focused = document.activeElement as HTMLElement | null
    // The answer replaces these forms, so text that is typed from now on would be lost.
    for (const form of [sentForm, id && openControl()?.form]) if (form) form.inert = true
    const isTaken = await send(request, id, sentForm).catch(() => undefined)
    isBusy = false
    const following = next
    next = undefined
    if (isTaken === undefined) {
      const keys = keptKeys.splice(0)
      again = () => {
        next = following
        keptKeys.push(...keys)
        repeat()
      }
      sayFailure()
      if (document.activeElement === document.body) focused?.focus()
      return
    }
    if (!isTaken) return otherwise()
    updated()
    const control = openControl()
    // A refused form stays open, so what was typed in it is not lost.
    if (control?.matches('[aria-invalid="true"]')) keptKeys.splice(0)
    else following?.()
    typeKeys(control, isOpening)
  }

  /** Saves a changed cell, then does `following`. False: no cell is changed. */
  const saveFirst = (following: () => void): boolean => {
    const isOpen = saveChanged()
    // A refused cell that was not changed is not sent.
    if (isBusy) next = following
    return isOpen
  }

  document.addEventListener("click", (event) => {
    const link = around<HTMLAnchorElement>(event, "a")
    const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (link === null || isOther || event.defaultPrevented) return
    const isClosing = link.matches("dialog.drawer .buttons a")
    if (!isClosing && !link.matches(links)) return
    event.preventDefault()
    const repeat = () => (link.isConnected ? link : document.getElementById(link.id))?.click()
    if (isClosing) drawer()?.close()
    else if (isBusy) next = repeat
    else {
      if (link.matches("a.edit") && saveFirst(repeat)) return
      const id = link.hash.slice(1).replace(/-input$/, "-edit")
      const otherwise = () => location.assign(link.href)
      opens = link.matches("a.edit")
      void attempt(new Request(link.href), id, otherwise, repeat)
    }
  })

  document.addEventListener("submit", (event) => {
    const { submitter, target: form } = event
    if (!(form instanceof HTMLFormElement)) return
    // A move of a variant loads the page again, so a changed cell is saved first.
    if (form.matches("#variant-move") && saveFirst(() => form.requestSubmit(submitter))) event.preventDefault()
    if (!form.matches(forms)) return
    event.preventDefault()
    const id = form.matches("table[data-grid] *") ? `${form.closest("td")?.id}-edit` : ""
    const sendForm = () => {
      // These forms have no files.
      const body = new URLSearchParams([...new FormData(form, submitter)] as Array<[string, string]>)
      const otherwise = () => {
        if (submitter instanceof HTMLButtonElement) addField(form, submitter)
        // Browsers do not submit a form that was removed from the page.
        if (!form.isConnected) document.body.append(form)
        form.submit()
      }
      const request = new Request(form.action, { method: "post", body })
      opens = submitter?.matches("[value=next]") === true
      void attempt(request, id, otherwise, sendForm, form)
    }
    const submit = () => {
      // The answer to an undo closes all cells.
      if (!form.matches(".undo") || !saveFirst(sendForm)) sendForm()
    }
    if (isBusy) next = submit
    else submit()
  })
}
