/** Takes over the islands of a page: Preact draws them again when their state or their props change. */
import { type ComponentType, h, hydrate, render } from "preact"
import { islands } from "../islands/Islands.ts"
import type { SelectAllProps, SelectAllState } from "../islands/SelectAll.tsx"
import { languageOf } from "../languages/Language.ts"
import { makeWords } from "../languages/MakeWords.tsx"

/** The state of `SelectAll` is in the checkboxes of its form. With Shift, a click selects all rows from the last clicked one. */
const watchSelection = (
  marker: HTMLElement,
  { prefix }: SelectAllProps,
  draw: (state: SelectAllState) => void
): void => {
  const form = marker.closest("form")
  if (form === null) return
  let isEverything = false
  let last: HTMLInputElement | undefined
  const boxes = () => [...form.querySelectorAll<HTMLInputElement>(`input[type=checkbox][name^="${prefix}"]`)]
  const show = () => {
    const all = boxes()
    const selected = all.filter(({ checked }) => checked).length
    isEverything &&= selected === all.length
    draw({
      selected,
      isEverything,
      select: (isSelected) => {
        for (const box of boxes()) box.checked = isSelected
        show()
      },
      selectEverything: (is) => {
        isEverything = is
        show()
      }
    })
  }
  form.addEventListener("click", ({ shiftKey, target }) => {
    const all = boxes()
    const box = all.find((each) => each === target)
    if (box === undefined) return
    if (shiftKey && last !== undefined) {
      const [from = 0, to = 0] = [all.indexOf(last), all.indexOf(box)].sort((one, other) => one - other)
      for (const each of all.slice(from, to + 1)) each.checked = box.checked
    }
    last = box
  })
  form.addEventListener("change", show)
  // Browsers restore the checkboxes of a page to which a person returns.
  addEventListener("pageshow", show)
  show()
}

/** Connects an island to the page around it. */
const connections = { SelectAll: watchSelection } as const

const isIsland = (name: string): name is keyof typeof islands => Object.hasOwn(islands, name)

const open = (marker: HTMLElement): void => {
  const { island = "", messages = "{}", props = "{}" } = marker.dataset
  if (!isIsland(island)) return
  const values = JSON.parse(props)
  const translations = JSON.parse(messages) as Readonly<Record<string, string>>
  const t = makeWords(languageOf(document.documentElement.lang) ?? "en", (text) => translations[text])
  const Component = islands[island].Component as ComponentType<unknown>
  hydrate(h(Component, { ...values, t }), marker)
  connections[island](marker, values, (state) => render(h(Component, { ...values, t, state }), marker))
}

const opened = new WeakSet<HTMLElement>()

/** Opens the islands that are new on the page. */
export const openIslands = (): void => {
  for (const marker of document.querySelectorAll<HTMLElement>("[data-island]")) {
    if (opened.has(marker)) continue
    opened.add(marker)
    open(marker)
  }
}
