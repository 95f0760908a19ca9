/**
 * Moves the pictures of a gallery: by the mouse, by touch on their handles, and by the keys of a handle. A dropped picture is
 * saved by the form of the page, which the buttons use without this script.
 */
import { onward } from "./grid.ts"
import { addField, around } from "./morph.ts"

/** Movement of the mouse, in CSS pixels, after which a press is a drag and not a click. */
const dragDistance = 6

const itemsOf = (list: HTMLElement): ReadonlyArray<HTMLElement> => [
  ...list.querySelectorAll<HTMLElement>(":scope > [data-picture]")
]

const placeOf = (list: HTMLElement, item: HTMLElement): number => itemsOf(list).indexOf(item)

/** Puts a picture at a place of the list, from 0. */
const put = (list: HTMLElement, item: HTMLElement, place: number): void => {
  const others = itemsOf(list).filter((other) => other !== item)
  list.insertBefore(item, others[place] ?? null)
}

const save = (list: HTMLElement, item: HTMLElement): void => {
  const form = document.getElementById(list.dataset.gallery ?? "")
  // While a move is saved, the form would be sent with both moves. The answer to the first one shows the order.
  if (!(form instanceof HTMLFormElement) || form.inert) return
  form.inert = true
  addField(form, { name: "move", value: `${item.dataset.picture} ${placeOf(list, item)} handle` })
  form.requestSubmit()
}

/** Reads a sentence of the page out, with the name of a picture and its place from 0. */
const announce = (list: HTMLElement, sentence: string | undefined, item: HTMLElement, place: number): void => {
  const region = document.getElementById("live-says")
  if (region === null) return
  const number = new Intl.NumberFormat(document.documentElement.lang)
  region.textContent = (sentence ?? "")
    .replace("{picture}", item.dataset.name ?? "")
    .replace("{place}", number.format(place + 1))
    .replace("{all}", number.format(itemsOf(list).length))
}

const steps: Readonly<Record<string, number>> = {
  ArrowLeft: -onward,
  ArrowUp: -1,
  ArrowRight: onward,
  ArrowDown: 1
}

/** The keys of the handles. */
const byKeys = (list: HTMLElement): void => {
  let lifted: { readonly item: HTMLElement; readonly from: number } | undefined
  let isMoving = false

  const putBack = (): void => {
    if (lifted === undefined) return
    const { from, item } = lifted
    lifted = undefined
    item.classList.remove("lifted")
    put(list, item, from)
    announce(list, list.dataset.back, item, from)
  }

  const move = (handle: HTMLElement, item: HTMLElement, place: number): void => {
    const count = itemsOf(list).length
    isMoving = true
    put(list, item, Math.min(Math.max(place, 0), count - 1))
    // An element that is moved in the document loses the focus.
    handle.focus()
    isMoving = false
    announce(list, list.dataset.moved, item, placeOf(list, item))
  }

  list.addEventListener("keydown", (event) => {
    const handle = around(event, "[data-handle]")
    const item = handle?.closest<HTMLElement>("[data-picture]")
    if (!handle || !item || event.ctrlKey || event.metaKey || event.altKey) return
    const { key } = event
    if (key === " " || key === "Enter") {
      event.preventDefault()
      if (event.repeat) return
      if (lifted === undefined) {
        lifted = { item, from: placeOf(list, item) }
        item.classList.add("lifted")
        announce(list, list.dataset.lifted, item, lifted.from)
      } else if (placeOf(list, item) === lifted.from) putBack()
      else {
        lifted = undefined
        save(list, item)
      }
      return
    }
    if (lifted === undefined) return
    const step = steps[key]
    const place = key === "Home" ? 0 : key === "End" ? Number.MAX_SAFE_INTEGER : undefined
    if (key === "Escape") {
      event.preventDefault()
      isMoving = true
      putBack()
      handle.focus()
      isMoving = false
    } else if (step !== undefined || place !== undefined) {
      event.preventDefault()
      move(handle, item, place ?? placeOf(list, item) + (step ?? 0))
    }
  })
  list.addEventListener("focusout", () => {
    if (!isMoving) putBack()
  })
}

/** Drags with the mouse, anywhere on a picture, or with a finger or a pen on its handle. */
const byPointer = (list: HTMLElement): void => {
  list.addEventListener("pointerdown", (down) => {
    const target = down.target instanceof Element ? down.target : null
    const item = target?.closest<HTMLElement>("[data-picture]")
    const isOnHandle = target?.closest("[data-handle]") !== null
    if (!item || down.button !== 0 || !down.isPrimary) return
    if (!isOnHandle && (down.pointerType !== "mouse" || target?.closest(".frame") === null)) return
    if (item.querySelector("[data-handle]") === null) return
    const from = placeOf(list, item)
    let isDragged = false

    const onMove = (event: PointerEvent): void => {
      if (event.pointerId !== down.pointerId) return
      if (!isDragged) {
        if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < dragDistance) return
        isDragged = true
        item.classList.add("lifted")
      }
      const under = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-picture]")
      if (under && under !== item && list.contains(under)) put(list, item, placeOf(list, under))
    }
    const end = (isDropped: boolean): void => {
      controller.abort()
      item.classList.remove("lifted")
      if (!isDragged) return
      if (!isDropped) put(list, item, from)
      else if (placeOf(list, item) !== from) save(list, item)
      // The press may end in a click, which would open the link under the mouse. Such a click comes before the next task, so the
      // listener is removed then and stops no later click.
      const prevent = (event: Event) => event.preventDefault()
      addEventListener("click", prevent, { capture: true, once: true })
      setTimeout(() => removeEventListener("click", prevent, { capture: true }))
    }
    const controller = new AbortController()
    const { signal } = controller
    addEventListener("pointermove", onMove, { signal })
    addEventListener("pointerup", () => end(true), { signal })
    addEventListener("pointercancel", () => end(false), { signal })
    addEventListener("keydown", (event) => event.key === "Escape" && end(false), { signal })
  })
  // Browsers would drag the image or its link themselves.
  list.addEventListener("dragstart", (event) => event.preventDefault())
}

export const openGallery = (): void => {
  const list = document.querySelector<HTMLElement>("[data-gallery]")
  if (list === null) return
  byKeys(list)
  byPointer(list)
}
