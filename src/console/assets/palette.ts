interface Command {
  readonly name: string
  readonly path: string
  readonly icon?: Node | undefined
}

/** The pages of the navigation, and the actions that the page marks. */
const commands = (): ReadonlyArray<Command> =>
  [...document.querySelectorAll<HTMLAnchorElement>("#menu li a, a[data-command]")].map((link) => ({
    name: link.dataset.command ?? (link.textContent ?? "").trim(),
    path: link.href,
    icon: link.querySelector("svg")?.cloneNode(true)
  }))

/** The words of the palette, which its button has in the language of the page. */
const wordsOf = (name: "palette" | "pages" | "searchFor" | "goTo"): string =>
  document.querySelector<HTMLElement>("[data-palette]")?.dataset[name] ?? ""

const matching = (words: string): ReadonlyArray<Command> => {
  const wanted = words.toLowerCase().split(/\s+/)
  const found = commands().filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)))
  const search = words.trim()
  const toSearch = {
    name: wordsOf("searchFor").replace("{search}", search),
    path: `/products?${new URLSearchParams({ search })}`
  }
  return search === "" ? found : [...found, toSearch]
}

/** A list box below a text field: arrows move, Enter opens, Escape closes. */
const makePalette = (): HTMLDialogElement => {
  const dialog = document.createElement("dialog")
  dialog.className = "palette"
  dialog.setAttribute("aria-label", wordsOf("goTo"))
  const input = document.createElement("input")
  const list = document.createElement("ul")
  list.id = "palette-list"
  list.setAttribute("role", "listbox")
  list.setAttribute("aria-label", wordsOf("pages"))
  for (const [name, value] of Object.entries({
    type: "text",
    role: "combobox",
    placeholder: wordsOf("palette"),
    "aria-label": wordsOf("palette"),
    "aria-expanded": "true",
    "aria-controls": list.id,
    autocomplete: "off",
    spellcheck: "false"
  }))
    input.setAttribute(name, value)
  dialog.append(input, list)

  let shown: ReadonlyArray<Command> = []
  let chosen = 0
  const mark = () => {
    for (const [index, item] of [...list.children].entries()) {
      item.setAttribute("aria-selected", String(index === chosen))
      if (index === chosen) item.scrollIntoView({ block: "nearest" })
    }
    input.setAttribute("aria-activedescendant", shown.length === 0 ? "" : `palette-${chosen}`)
  }
  const go = () => {
    const command = shown[chosen]
    if (command !== undefined) location.assign(command.path)
  }
  const show = () => {
    shown = matching(input.value)
    chosen = 0
    list.replaceChildren(
      ...shown.map(({ icon, name }, index) => {
        const item = document.createElement("li")
        item.id = `palette-${index}`
        item.setAttribute("role", "option")
        if (icon !== undefined) item.append(icon)
        item.append(name)
        item.addEventListener("click", () => {
          chosen = index
          go()
        })
        return item
      })
    )
    mark()
  }
  input.addEventListener("input", show)
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === "Enter") go()
    if (step === undefined || shown.length === 0) return
    event.preventDefault()
    chosen = (chosen + step + shown.length) % shown.length
    mark()
  })
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close()
  })
  dialog.addEventListener("close", () => {
    input.value = ""
  })
  document.body.append(dialog)
  return dialog
}

let palette: HTMLDialogElement | undefined

export const openPalette = (): void => {
  palette ??= makePalette()
  if (palette.open) return
  palette.querySelector("input")?.dispatchEvent(new Event("input"))
  palette.showModal()
}
