import { get } from "./client.ts"
import { around } from "./morph.ts"

interface Command {
  readonly name: string
  readonly path: string
  readonly icon?: Node | undefined
  /** The kind of the result, and its SKU. */
  readonly note?: string
}

/** The pages of the navigation, and the commands of the page. */
const commands = (): ReadonlyArray<Command> =>
  [...document.querySelectorAll<HTMLAnchorElement>("#menu li a, a[data-command]")].map((link) => ({
    name: (link.textContent ?? "").trim(),
    path: link.href,
    icon: link.querySelector("svg")?.cloneNode(true)
  }))

type Word = "palette" | "pages" | "searchFor" | "goTo" | "product" | "collection" | "results" | "none" | "failed"

/** The words of the palette, which its button has in the language of the page. */
const wordsOf = (name: Word): string => document.querySelector<HTMLElement>("[data-palette]")?.dataset[name] ?? ""

const inNumbers = (count: number) => new Intl.NumberFormat(document.documentElement.lang).format(count)

const matchingCommands = (words: string): ReadonlyArray<Command> => {
  const wanted = words.toLowerCase().split(/\s+/)
  return commands().filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)))
}

const toSearch = (search: string): Command => ({
  name: wordsOf("searchFor").replace("{search}", () => search),
  path: `/products?${new URLSearchParams({ search })}`
})

/** The products and collections that the service finds. */
const searchCommands = async (search: string, signal: AbortSignal): Promise<ReadonlyArray<Command>> => {
  const { data } = await get("search", { search }, signal)
  return data.map(({ kind, path, sku, title }) => ({
    name: title || wordsOf(kind),
    path,
    note: [wordsOf(kind), ...(sku === null ? [] : [sku])].join(" · ")
  }))
}

const itemOf = ({ icon, name, note }: Command, index: number): HTMLLIElement => {
  const item = document.createElement("li")
  item.id = `palette-${index}`
  item.role = "option"
  if (icon !== undefined) item.append(icon)
  const title = document.createElement("bdi")
  title.textContent = name
  item.append(title)
  if (note === undefined) return item
  const beside = document.createElement("small")
  beside.textContent = note
  item.append(" ", beside)
  return item
}

const makeField = (list: HTMLElement): HTMLInputElement => {
  const input = document.createElement("input")
  for (const [name, value] of Object.entries({
    type: "text",
    role: "combobox",
    placeholder: wordsOf("palette"),
    "aria-label": wordsOf("palette"),
    "aria-expanded": "true",
    "aria-controls": list.id,
    autocomplete: "off",
    maxlength: "200",
    spellcheck: "false"
  }))
    input.setAttribute(name, value)
  return input
}

/** The time without typing after which the service is asked, in milliseconds. */
const pause = 150

/** A list box below a text field: arrows move, Enter opens, Escape closes. Gives the function that opens it. */
const makePalette = (): (() => void) => {
  const dialog = document.createElement("dialog")
  dialog.className = "palette"
  dialog.ariaLabel = wordsOf("goTo")
  const list = document.createElement("ul")
  list.id = "palette-list"
  list.role = "listbox"
  list.ariaLabel = wordsOf("pages")
  const input = makeField(list)
  const status = document.createElement("p")
  status.role = "status"
  dialog.append(input, list, status)

  let shown: ReadonlyArray<Command> = []
  let chosen = 0
  let pendingSearch: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const mark = () => {
    for (const [index, item] of [...list.children].entries()) {
      item.ariaSelected = String(index === chosen)
      if (index === chosen) item.scrollIntoView({ block: "nearest" })
    }
    input.setAttribute("aria-activedescendant", shown.length === 0 ? "" : `palette-${chosen}`)
  }
  const go = () => {
    const command = shown[chosen]
    if (command !== undefined) location.assign(command.path)
  }
  /** Shows these commands. The one that a person moved to stays chosen. */
  const show = (next: ReadonlyArray<Command>) => {
    const index = chosen === 0 ? 0 : next.findIndex(({ path }) => path === shown[chosen]?.path)
    shown = next
    chosen = Math.max(0, index)
    list.replaceChildren(...shown.map(itemOf))
    mark()
  }
  const ask = async (search: string, pages: ReadonlyArray<Command>) => {
    const request = new AbortController()
    pendingSearch = request
    try {
      const results = [...pages, ...(await searchCommands(search, request.signal))]
      if (request.signal.aborted) return
      show([...results, toSearch(search)])
      status.textContent =
        results.length === 0 ? wordsOf("none") : wordsOf("results").replace("{count}", inNumbers(results.length))
    } catch {
      if (!request.signal.aborted) status.textContent = wordsOf("failed")
    }
  }
  const forget = () => {
    clearTimeout(timer)
    pendingSearch?.abort()
    status.textContent = ""
  }
  input.addEventListener("input", () => {
    forget()
    const search = input.value.trim()
    const pages = matchingCommands(input.value)
    chosen = 0
    show(search === "" ? pages : [...pages, toSearch(search)])
    if (search !== "") timer = setTimeout(() => void ask(search, pages), pause)
  })
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === "Enter") go()
    if (step === undefined || shown.length === 0) return
    event.preventDefault()
    chosen = (chosen + step + shown.length) % shown.length
    mark()
  })
  list.addEventListener("click", (event) => {
    const item = around(event, "li")
    if (item === null) return
    chosen = [...list.children].indexOf(item)
    go()
  })
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close()
  })
  document.body.append(dialog)
  return () => {
    if (dialog.open) return
    // Not at the close: its event may come after the next opening, and what was typed since would be lost.
    input.value = ""
    input.dispatchEvent(new Event("input"))
    dialog.showModal()
  }
}

let open: (() => void) | undefined

export const openPalette = (): void => {
  open ??= makePalette()
  open()
}
