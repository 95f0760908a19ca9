/** Makes one element like another, and keeps what a person does in it: focus, typed text, open details and popovers. */

export type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

/** Whether a person has changed what a control contains. */
export const isChanged = (control: Element): boolean => {
  if (control instanceof HTMLSelectElement)
    return [...control.options].some((option) => option.selected !== option.defaultSelected)
  const input = control as HTMLInputElement
  if (control.matches("[type=checkbox], [type=radio]")) return input.checked !== input.defaultChecked
  return control.matches("input:not([type=hidden]), textarea") && input.value !== input.defaultValue
}

/**
 * Whether an update must leave a form alone: it has the focus, a changed or refused value, or an editor of a script. Its hidden fields
 * stay too, because they belong to the values that it shows.
 */
const isInUse = (form: HTMLFormElement): boolean =>
  form.contains(document.activeElement) ||
  form.querySelector('[contenteditable], [aria-invalid="true"]') !== null ||
  ([...form.elements] as Array<Control>).some(isChanged)

const holdsInput = (node: Node): boolean =>
  node instanceof Element &&
  [...(node instanceof HTMLFormElement ? [node] : []), ...node.querySelectorAll("form")].some((form) =>
    ([...form.elements] as Array<Control>).some(isChanged)
  )

/** Identifies a node among its siblings: by its id, or for rows and list items by the address of their first link. */
const keyOf = (node: Node): string | undefined => {
  if (!(node instanceof Element)) return undefined
  if (node.id !== "") return `#${node.id}`
  if (!node.matches("tr, li")) return undefined
  return node.querySelector("a[href]")?.getAttribute("href") ?? undefined
}

/** Attributes that updates keep, because people and other scripts set them: open details, the keys of the grid. */
const ownAttributes: ReadonlySet<string> = new Set(["open", "role", "tabindex"])

const copyAttributes = (from: Element, to: Element): void => {
  for (const { name } of [...from.attributes])
    if (!ownAttributes.has(name) && !to.hasAttribute(name)) from.removeAttribute(name)
  for (const { name, value } of to.attributes)
    if (name !== "open" && from.getAttribute(name) !== value) from.setAttribute(name, value)
}

/** The identity of an island. An island draws itself, so with other props it is another island. */
const islandOf = (node: Node): string | undefined =>
  node instanceof HTMLElement && node.dataset.island !== undefined ? JSON.stringify(node.dataset) : undefined

const isAlike = (one: Node, other: Node): boolean =>
  one.nodeType === other.nodeType &&
  one.nodeName === other.nodeName &&
  keyOf(one) === keyOf(other) &&
  islandOf(one) === islandOf(other)

const remove = (node: ChildNode): void => {
  if (!holdsInput(node)) node.remove()
}

const copyChildren = (from: Element, to: Element): void => {
  const newKeys = new Set([...to.childNodes].map(keyOf))
  for (const child of [...from.childNodes]) {
    const key = keyOf(child)
    if (key !== undefined && !newKeys.has(key)) remove(child)
  }
  let at = from.firstChild
  for (const next of [...to.childNodes]) {
    let match = at
    while (match !== null && !isAlike(match, next)) match = match.nextSibling
    if (match === null) {
      from.insertBefore(document.importNode(next, true), at)
      continue
    }
    if (match === at) at = at.nextSibling
    else if (match.contains(document.activeElement)) {
      // A node that is moved loses the focus, so the nodes before it are moved behind it.
      const done = at?.previousSibling
      while (match.previousSibling !== done) match.after(match.previousSibling as ChildNode)
      at = match.nextSibling
    } else from.insertBefore(match, at)
    morph(match, next)
  }
  while (at !== null) {
    const rest = at
    at = at.nextSibling
    remove(rest)
  }
}

export const morph = (from: Node, to: Node): void => {
  if (from.isEqualNode(to) || islandOf(from) !== undefined) return
  if (!(from instanceof Element && to instanceof Element)) {
    from.nodeValue = to.nodeValue
    return
  }
  if (from instanceof HTMLFormElement && isInUse(from)) return
  copyAttributes(from, to)
  // The text of a text area is its default value only.
  copyChildren(from, to)
}

/** Gives the content of a page the focus, without scrolling, because the element that had it is gone. */
export const focusContent = (main: HTMLElement): void => {
  main.tabIndex = -1
  main.focus({ preventScroll: true })
}

/** Adds a field that is not shown to a form. */
export const addField = (form: HTMLFormElement, { name, value }: Pick<HTMLButtonElement, "name" | "value">): void =>
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }))

/** The nearest element around the target of an event that matches a selector. */
export const around = <E extends Element = HTMLElement>({ target }: Event, selector: string): E | null =>
  target instanceof Element ? target.closest<E>(selector) : null
