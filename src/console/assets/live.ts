/** Updates the parts of a page that are marked `data-live` when the service says that their work has changed. */
import { focusContent, morph } from "./morph.ts"

/** The changed ids of each kind. Null: any id. */
type Changes = Readonly<Record<string, ReadonlyArray<string> | null>>

/**
 * Minimum time between two updates, in milliseconds. Without it, the pages of a busy account would load all the time.
 */
const betweenUpdates = 1_000
/** Pause before the page is fetched again after the service did not answer. */
const afterFailure = 5_000
/** Pause before a refused stream is opened again. It doubles up to the maximum. */
const firstPause = 2_000
const maxPause = 60_000

const parts = (): ReadonlyArray<HTMLElement> => [...document.querySelectorAll<HTMLElement>("[data-live]")]

const concerns = ({ dataset }: HTMLElement, changes: Changes): boolean =>
  (dataset.live ?? "").split(" ").some((token) => {
    const [kind = "", id] = token.split(":")
    const ids = changes[kind]
    return ids !== undefined && (ids === null || id === undefined || ids.includes(id))
  })

const say = (text: string, isShown = false): void => {
  const region = document.getElementById("live-says")
  if (region === null) return
  region.textContent = text
  if (isShown) region.className = "note"
}

/** Takes the marked parts of another version of the page. */
const take = (main: HTMLElement, page: Document): void => {
  const before = document.activeElement
  const sentences: Array<string> = []
  for (const part of parts()) {
    const next = page.getElementById(part.id)
    if (next === null) continue
    const says = next.dataset.says
    if (says !== undefined && says !== part.dataset.says) sentences.push(says)
    morph(part, next)
  }
  if (sentences.length > 0) say(sentences.join(" "))
  main.dataset.events = page.querySelector<HTMLElement>("main")?.dataset.events ?? main.dataset.events
  // The element with the focus is gone. Without a new focus the keyboard would start at the top of the document.
  if (before?.isConnected === false) focusContent(main)
}

const watch = (main: HTMLElement, updated: () => void): void => {
  let source: EventSource | undefined
  let pause = firstPause
  let isOver = false
  let isUpdating = false
  let isStale = false

  const close = () => {
    source?.close()
    source = undefined
  }

  const fetchPage = async (): Promise<boolean> => {
    const { href } = location
    const response = await fetch(href, { headers: { "x-live-update": "1" }, cache: "no-store" })
    const { pathname } = new URL(response.url)
    if (pathname === location.pathname && response.ok) {
      const text = await response.text()
      // A cell was opened or closed meanwhile: this version of the page would undo it.
      if (href !== location.href) return false
      take(main, new DOMParser().parseFromString(text, "text/html"))
      updated()
      return true
    }
    if (response.status >= 500) return false
    isOver = true
    close()
    if (pathname === "/sign-in") say(document.getElementById("live-says")?.dataset.ended ?? "", true)
    return true
  }

  const update = async (): Promise<void> => {
    isStale = true
    if (isUpdating) return
    isUpdating = true
    while (isStale && !isOver) {
      isStale = false
      const isDone = await fetchPage().catch(() => false)
      if (!isDone) isStale = true
      await new Promise((resolve) => setTimeout(resolve, isDone ? betweenUpdates : afterFailure))
      if (document.hidden) break
    }
    isUpdating = false
  }

  const open = () => {
    if (source !== undefined || isOver || document.hidden) return
    const opened = new EventSource(main.dataset.events ?? "")
    source = opened
    opened.addEventListener("open", () => {
      pause = firstPause
    })
    opened.addEventListener("change", ({ data }: MessageEvent<string>) => {
      const changes = JSON.parse(data) as Changes
      if (parts().some((part) => concerns(part, changes))) void update()
    })
    opened.addEventListener("ended", () => {
      close()
      void update()
    })
    opened.addEventListener("error", () => {
      // Otherwise the browser connects again by itself.
      if (opened.readyState !== EventSource.CLOSED || source !== opened) return
      source = undefined
      // The random part spreads the pages that lost their stream at the same restart.
      setTimeout(() => void update().then(open), pause * (1 + Math.random()))
      pause = Math.min(2 * pause, maxPause)
    })
  }

  // A hidden page has no stream: browsers allow few connections to one service. A page that is shown again catches up.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()))
  addEventListener("pagehide", close)
  addEventListener("pageshow", open)
  open()
}

/** `updated` is called after each update. */
export const watchWork = (updated: () => void): void => {
  const main = document.querySelector<HTMLElement>("main[data-events]")
  if (main !== null && parts().length > 0) watch(main, updated)
}
