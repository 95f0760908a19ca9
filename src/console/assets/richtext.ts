/**
 * The editor of a description. Its form works without it: the text area keeps the value, and a text that the editor would
 * change stays in the text area.
 */
/*! With Squire, MIT License, Copyright (c) 2011-2023 by Neil Jenkins. */
import DOMPurify from "dompurify"
import Squire from "squire-rte"
import {
  allowedAttributes,
  allowedTags,
  blocksIn,
  emphasisOf,
  isSame,
  lostParts,
  sourceOf,
  textOf,
  withoutReports
} from "./markup.ts"

const headings = "h1, h2, h3, h4, h5, h6"

const sanitised = (html: string): DocumentFragment => {
  const fragment = DOMPurify.sanitize(withoutReports(html), {
    ALLOWED_TAGS: [...allowedTags],
    ALLOWED_ATTR: [...allowedAttributes],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true
  })
  // The surface shows every space, as people type them. Those of the source that browsers do not show are left out.
  const texts = document.createNodeIterator(fragment, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
    node.nodeValue = node.nodeValue?.replace(/[ \t\r\n\f]+/g, " ") ?? ""
  return document.importNode(fragment, true)
}

/** Makes paragraphs of headings, or the other way round. List items stay as they are. */
const retag = (editor: Squire, from: string, to: string): void => {
  editor.modifyBlocks((fragment: DocumentFragment) => {
    for (const block of fragment.querySelectorAll(from)) {
      const next = document.createElement(to)
      next.append(...block.childNodes)
      block.replaceWith(next)
    }
    return fragment
  })
  editor.focus()
}

interface Command {
  readonly isOn?: (editor: Squire, at: Element) => boolean
  readonly run: (editor: Squire, isOn: boolean) => unknown
}

const inside = (selector: string) => (_: Squire, at: Element) => at.closest(selector) !== null

const commands: Readonly<Record<string, Command>> = {
  bold: {
    isOn: (editor) => editor.hasFormat("B"),
    run: (editor, isOn) => (isOn ? editor.removeBold() : editor.bold())
  },
  italic: {
    isOn: (editor) => editor.hasFormat("I"),
    run: (editor, isOn) => (isOn ? editor.removeItalic() : editor.italic())
  },
  heading: {
    isOn: inside(headings),
    run: (editor, isOn) => (isOn ? retag(editor, headings, "p") : retag(editor, "p, div", "h2"))
  },
  bullets: {
    isOn: inside("ul"),
    run: (editor, isOn) => (isOn ? editor.removeList() : editor.makeUnorderedList())
  },
  numbers: {
    isOn: inside("ol"),
    run: (editor, isOn) => (isOn ? editor.removeList() : editor.makeOrderedList())
  },
  link: { isOn: (editor) => editor.hasFormat("A"), run: () => undefined },
  undo: { run: (editor) => editor.undo() },
  redo: { run: (editor) => editor.redo() }
}

/** The keys of Squire that mean something else here: Tab leaves the editor, the others belong to the browser. */
const unusedKeys = ["Tab", "Shift-Tab", "PageUp", "PageDown", "Ctrl-d", "Meta-d"]

const elementsOf = (box: HTMLElement, area: HTMLTextAreaElement) => {
  const find = <E extends HTMLElement>(selector: string) => box.querySelector(selector) as E
  return {
    box,
    area,
    surface: find<HTMLElement>("[data-surface]"),
    toolbar: find<HTMLElement>("[role=toolbar]"),
    buttons: [...box.querySelectorAll<HTMLButtonElement>("button[data-format]")],
    source: find<HTMLButtonElement>("button[data-source]"),
    reason: find<HTMLElement>("[data-reason]"),
    link: find<HTMLElement>("[data-link]"),
    address: find<HTMLInputElement>("[data-link] input"),
    misfit: find<HTMLElement>("[data-misfit]")
  }
}
type Elements = ReturnType<typeof elementsOf>

/** The keys of a toolbar: Tab reaches one button, arrows move between them. */
const rove = ({ buttons, source, toolbar }: Elements): void => {
  const all = [...buttons, source]
  const choose = (chosen: HTMLElement) => {
    for (const button of all) button.tabIndex = button === chosen ? 0 : -1
  }
  choose(source)
  toolbar.addEventListener("focusin", ({ target }) => choose(target as HTMLElement))
  toolbar.addEventListener("keydown", (event) => {
    const shown = all.filter((button) => !button.hidden)
    const at = shown.indexOf(document.activeElement as HTMLButtonElement)
    const onward = getComputedStyle(toolbar).direction === "rtl" ? -1 : 1
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: at + onward,
      ArrowLeft: at - onward,
      Home: 0,
      End: shown.length - 1
    }
    const next = steps[event.key]
    if (next === undefined || at < 0) return
    event.preventDefault()
    shown.at(next % shown.length)?.focus()
  })
}

/** Connects the editor with the form below the toolbar that sets and removes links. Returns the function that opens the form. */
const openLinks = (editor: Squire, { address, link, misfit }: Elements) => {
  const anchor = () => {
    const at = editor.getSelection().commonAncestorContainer
    return (at instanceof Element ? at : at.parentElement)?.closest<HTMLAnchorElement>("[data-surface] a")
  }
  const close = () => {
    link.hidden = true
    editor.focus()
  }
  const say = (isWrong: boolean) => {
    misfit.hidden = !isWrong
    address.ariaInvalid = String(isWrong)
  }
  const set = () => {
    const url = address.value.trim()
    if (!/^(?:https?:\/\/.|mailto:.|tel:.|\/|#)/i.test(url) || !DOMPurify.isValidAttribute("a", "href", url)) {
      say(true)
      address.focus()
      return
    }
    close()
    // The link around the cursor as a whole.
    const current = anchor()
    if (current != null) {
      editor.saveUndoState()
      current.setAttribute("href", url)
    } else editor.makeLink(url)
  }
  link.addEventListener("click", ({ target }) => {
    const does = target instanceof Element ? target.closest<HTMLElement>("[data-does]")?.dataset.does : undefined
    if (does === "set") set()
    if (does === "remove") {
      close()
      const current = anchor()
      const range = editor.getSelection()
      if (current != null && range.collapsed) {
        range.selectNodeContents(current)
        editor.setSelection(range)
      }
      editor.removeLink()
    }
  })
  link.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close()
    else if (event.key === "Enter" && event.target === address) set()
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  const open = () => {
    const current = anchor()
    address.value = current?.getAttribute("href") ?? ""
    say(false)
    link.hidden = false
    ;(link.querySelector("[data-does=remove]") as HTMLElement).hidden = current == null
    address.focus()
  }
  for (const key of ["Ctrl-k", "Meta-k"])
    editor.setKeyHandler(key, (_: Squire, event: Event) => {
      event.preventDefault()
      open()
    })
  return open
}

const openEditor = (elements: Elements): void => {
  const { area, box, buttons, link, reason, source, surface } = elements
  const editor = new Squire(surface, { blockTag: "P", addLinks: false, sanitizeToDOMFragment: sanitised })
  for (const key of unusedKeys) editor.setKeyHandler(key, null)
  let base = sourceOf("")
  let emphasis = emphasisOf("")

  const showState = () => {
    const { commonAncestorContainer: at } = editor.getSelection()
    const element = at instanceof Element ? at : (at.parentElement ?? surface)
    for (const button of buttons) {
      const { isOn } = commands[button.dataset.format ?? ""] ?? {}
      if (isOn !== undefined) button.ariaPressed = String(isOn(editor, element))
    }
  }

  const show = (isEditor: boolean) => {
    surface.hidden = !isEditor
    area.hidden = isEditor
    link.hidden = true
    for (const button of buttons) button.hidden = !isEditor
    source.ariaPressed = String(!isEditor)
  }

  const explain = (lost: ReadonlyArray<string>) => {
    const { changes = "", loses = "" } = reason.dataset
    reason.textContent = lost.length > 0 ? loses.replace("{parts}", () => lost.slice(0, 5).join(", ")) : changes
    reason.hidden = false
  }

  /** Shows the value in the editor, unless the editor would change it. */
  const enter = (): boolean => {
    const parts = lostParts(area.value)
    if (parts.length === 0) {
      base = sourceOf(area.value)
      emphasis = emphasisOf(area.value)
      editor.setHTML(area.value)
    }
    const fits = parts.length === 0 && isSame(base, blocksIn(surface, emphasis))
    if (fits) reason.hidden = true
    else {
      editor.setHTML("")
      explain(parts)
    }
    show(fits)
    return fits
  }

  editor.addEventListener("input", () => {
    if (surface.hidden) return
    // When two lines are merged, browsers keep the appearance of the second as inline styles.
    for (const styled of surface.querySelectorAll("[style]")) styled.removeAttribute("style")
    area.value = textOf(base, blocksIn(surface, emphasis))
    showState()
  })
  for (const type of ["pathChange", "select", "cursor"]) editor.addEventListener(type, showState)

  const openLink = openLinks(editor, elements)
  for (const button of buttons) {
    const name = button.dataset.format ?? ""
    // The selection stays where it is.
    button.addEventListener("mousedown", (event) => event.preventDefault())
    button.addEventListener("click", () => {
      if (name === "link") openLink()
      else {
        editor.focus()
        commands[name]?.run(editor, button.ariaPressed === "true")
        showState()
      }
    })
  }
  source.addEventListener("click", () => {
    if (!area.hidden && enter()) surface.focus()
    else if (area.hidden) {
      show(false)
      area.focus()
    }
  })
  rove(elements)

  // When a person returns to a page, browsers restore the text of its text areas. It could differ from the text in the editor.
  area.autocomplete = "off"
  surface.ariaInvalid = area.ariaInvalid
  const hadFocus = document.activeElement === area
  // The cursor stays after letters that were typed before this script ran.
  let typed = area.selectionStart
  box.hidden = false
  if (enter() && hadFocus) {
    editor.focus()
    while (typed-- > 0) getSelection()?.modify("move", "forward", "character")
  }
}

/** Opens the editors that are not open yet. */
export const openEditors = (): void => {
  for (const box of document.querySelectorAll<HTMLElement>("[data-rich][hidden]")) {
    const area = box.parentElement?.querySelector("textarea")
    if (area != null) openEditor(elementsOf(box, area))
  }
}
