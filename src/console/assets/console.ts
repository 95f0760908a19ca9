/** The script of all pages: shortcuts, the command palette, live updates. Every page works without it. */
import { openGallery } from "./gallery.ts"
import { openGrids } from "./grid.ts"
import { editInPlace } from "./inplace.ts"
import { watchWork } from "./live.ts"
import { openPalette } from "./palette.ts"

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"))

const focusSearch = (): void => {
  const search = document.querySelector<HTMLInputElement>("main [data-search]") ?? document.querySelector("[data-find]")
  if (!(search instanceof HTMLInputElement)) return
  search.focus()
  search.select()
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault()
    openPalette()
    return
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  if (event.key === "/") {
    event.preventDefault()
    focusSearch()
  }
  if (event.key === "?") {
    event.preventDefault()
    // The browser gives the focus back when the help is closed.
    const help = document.getElementById("help")
    if (help?.togglePopover()) help.focus()
  }
})

for (const button of document.querySelectorAll<HTMLElement>("[data-palette]")) {
  button.hidden = false
  button.addEventListener("click", openPalette)
}

for (const button of document.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
  const field = document.getElementById(button.dataset.copy ?? "")
  if (!(field instanceof HTMLInputElement) || navigator.clipboard === undefined) continue
  button.hidden = false
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.value)
    button.textContent = button.dataset.copied ?? ""
  })
}

/** Loads what only some pages need: Preact and the editor of descriptions. Parts that are open already stay as they are. */
const openParts = async (): Promise<void> => {
  if (document.querySelector("[data-island]") !== null) (await import("./islands.ts")).openIslands()
  if (document.querySelector("[data-rich]") !== null) (await import("./richtext.ts")).openEditors()
}

openGrids()
openGallery()
editInPlace(openParts)
void openParts()
watchWork(openParts)
