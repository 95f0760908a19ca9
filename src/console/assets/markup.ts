/** The HTML that the editor of a description can change without losing anything, and its blocks. */

const blockTags = "p h1 h2 h3 h4 h5 h6 ul ol li blockquote".split(" ")
const inlineTags = "a b strong i em u s sub sup code br".split(" ")
const linkAttributes = ["href", "title", "target", "rel"]

/** For the sanitiser. `div`: pasted lines, which become paragraphs. */
export const allowedTags: ReadonlyArray<string> = [...blockTags, ...inlineTags, "div"]
export const allowedAttributes: ReadonlyArray<string> = linkAttributes

/** A block at the top of a text. `key`: the same for blocks that differ only in spaces that browsers do not show. */
export interface Block {
  readonly html: string
  readonly key: string
}

/** A text as blocks with the white space between them. `lead` is before the first block, `gap` after each. */
export interface Source {
  readonly lead: string
  readonly blocks: ReadonlyArray<Block & { readonly gap: string }>
}

const markup =
  /<(?:(\/?)([a-z][^\s"'<>/=]*)((?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*(\/?)>|[a-z/!?])/gi
const attribute = /([^\s"'<>/=]+)(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?/g

/**
 * The names of elements and attributes that the editor would lose. It reads the text without an HTML parser, which could send requests for
 * pictures.
 */
export const lostParts = (text: string): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const [found, , name, attributes = ""] of text.matchAll(markup)) {
    const tag = name?.toLowerCase()
    if (tag === undefined) names.add(found.startsWith("<!") ? "<!-- -->" : found)
    else if (!blockTags.includes(tag) && !inlineTags.includes(tag)) names.add(`<${tag}>`)
    for (const [, given = ""] of attributes.matchAll(attribute))
      if (tag !== "a" || !linkAttributes.includes(given.toLowerCase())) names.add(given.toLowerCase())
  }
  return [...names]
}

const edges = new RegExp(` ?(</?(?:${blockTags.join("|")}|br)>) ?`, "g")

/** Elements whose content is not a part of a text. */
const unread =
  /<!--[\s\S]*?(?:-->|$)|<(script|style|title|template|textarea|iframe|noscript|select|svg|math)\b[\s\S]*?(?:<\/\1\s*>|$)/gi

/**
 * Removes scripts, event handlers and styles from pasted HTML. They would not run, but browsers report them as violations of the
 * page's Content-Security-Policy when the HTML is parsed. The sanitiser still decides what is safe.
 */
export const withoutReports = (html: string): string =>
  html
    .replace(unread, "")
    .replace(/<[!?][^>]*>/g, "")
    .replace(markup, (whole, slash: string, name: string | undefined, attributes: string) => {
      if (name === undefined) return `&lt;${whole.slice(1)}`
      const linkParts = name.toLowerCase() === "a" ? [...attributes.matchAll(attribute)] : []
      const words = linkParts
        .filter(([, given = ""]) => linkAttributes.includes(given.toLowerCase()))
        .map(([all]) => ` ${all}`)
      return `<${slash}${name}${words.join("")}>`
    })

/** Equal for two texts that browsers show alike. `html`: as browsers serialize it. */
const keyOf = (html: string): string =>
  html
    .replace(/[ \t\r\n\f]+/g, " ")
    .replace(edges, "$1")
    .replace(/<br>(?=<\/(?:p|h[1-6]|li|blockquote)>)/g, "")
    .trim()

/** A text as browsers write it. For texts without lost parts only. */
const rewritten = (text: string): string => {
  const template = document.createElement("template")
  template.innerHTML = text
  return template.innerHTML
}

/** Where the blocks at the top of a text begin and end. Text between blocks is a block too. */
const blockBounds = (text: string): ReadonlyArray<readonly [from: number, to: number]> => {
  const found: Array<readonly [number, number]> = []
  let depth = 0
  let from = 0
  const end = (to: number) => {
    if (text.slice(from, to).trim() !== "") found.push([from, to])
    from = to
  }
  for (const { 0: whole, 1: slash, 2: name = "", index } of text.matchAll(markup)) {
    if (!blockTags.includes(name.toLowerCase())) continue
    if (slash === "") {
      if (depth === 0) end(index)
      depth += 1
    } else {
      depth -= 1
      if (depth === 0) end(index + whole.length)
    }
  }
  end(text.length)
  return found
}

/** Splits a text into blocks and the blanks between them. Joined, the parts are the text again. */
export const sourceOf = (text: string): Source => {
  const pieces = blockBounds(text).map(([from, to]) => {
    const piece = text.slice(from, to)
    const start = from + piece.length - piece.trimStart().length
    return { html: piece.trim(), start, end: start + piece.trim().length }
  })
  return {
    lead: text.slice(0, pieces[0]?.start ?? text.length),
    blocks: pieces.map(({ end, html }, at) => {
      const isBlock = html.startsWith("<") && blockTags.includes(/^<([a-z0-9]+)/i.exec(html)?.[1]?.toLowerCase() ?? "")
      return {
        html,
        key: keyOf(rewritten(isBlock ? html : `<p>${html}</p>`)),
        gap: text.slice(end, pieces[at + 1]?.start ?? text.length)
      }
    })
  }
}

/** The tags that a text has for bold and italic. */
export interface Emphasis {
  readonly b: "b" | "strong"
  readonly i: "i" | "em"
}

export const emphasisOf = (text: string): Emphasis => ({
  b: /<b[\s>]/i.test(text) ? "b" : "strong",
  i: /<i[\s>]/i.test(text) ? "i" : "em"
})

const isBlockNode = (node: Node): boolean =>
  node instanceof Element && (blockTags.includes(node.localName) || node.localName === "div")

/** Copies of nodes of the editor, without what does not belong to a description: marks of the selection, styles of the browser. */
const copyCleaned = (nodes: Iterable<Node>, emphasis: Emphasis, into: Node): void => {
  const inert = into.ownerDocument ?? document
  for (const node of nodes) {
    if (node instanceof Text) {
      const text = node.data.replaceAll("\u200b", "")
      if (text !== "") into.appendChild(inert.createTextNode(text))
      continue
    }
    if (!(node instanceof Element)) continue
    const tag = node.localName
    const name = tag === "b" || tag === "i" ? emphasis[tag] : tag
    if ((!blockTags.includes(name) && !inlineTags.includes(name)) || (tag === "a" && !node.hasAttribute("href"))) {
      // A line inside a list item or a quotation.
      if (tag === "div" && into.lastChild !== null && !isBlockNode(into.lastChild))
        into.appendChild(inert.createElement("br"))
      copyCleaned(node.childNodes, emphasis, into)
      continue
    }
    const copy = inert.createElement(name)
    if (name === "a")
      for (const { name: given, value } of node.attributes)
        if (linkAttributes.includes(given)) copy.setAttribute(given, value)
    copyCleaned(node.childNodes, emphasis, copy)
    if (name === "br" || blockTags.includes(name) || copy.hasChildNodes()) into.appendChild(copy)
  }
}

/** The blocks in an element of the editor, each with its nodes. Lines without a paragraph become paragraphs. */
const topBlocks = (root: Element): ReadonlyArray<Element | ReadonlyArray<Node>> => {
  const found: Array<Element | ReadonlyArray<Node>> = []
  let line: Array<Node> | undefined
  for (const node of root.childNodes) {
    if (isBlockNode(node)) {
      line = undefined
      const element = node as Element
      found.push(...(element.localName === "div" ? topBlocks(element) : [element]))
    } else if (line !== undefined) line.push(node)
    else if (node.textContent?.trim() !== "" || node instanceof HTMLBRElement) {
      line = [node]
      found.push(line)
    }
  }
  return found
}

const emptyBlock = "<p></p>"

/** The content of the editor, as blocks. */
export const blocksIn = (root: Element, emphasis: Emphasis): ReadonlyArray<Block> =>
  topBlocks(root).map((part) => {
    const { content } = document.createElement("template")
    if (part instanceof Element) copyCleaned([part], emphasis, content)
    else copyCleaned(part, emphasis, content.appendChild(content.ownerDocument.createElement("p")))
    const block = content.firstElementChild
    const inner = block?.innerHTML ?? ""
    const tag = block?.localName ?? "p"
    const html = `<${tag}>${inner}</${tag}>`.replace(
      /(?<!<(?:p|li|h[1-6]|blockquote)>)<br>(?=<\/(?:p|li|h[1-6]|blockquote)>)/g,
      ""
    )
    return { html, key: keyOf(html) }
  })

/** Longest common subsequence of keys: for each block of the new text the place of its original, or undefined. */
const originals = (old: ReadonlyArray<Block>, now: ReadonlyArray<Block>): ReadonlyArray<number | undefined> => {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1))
  const at = (one: number, other: number) => lengths[one]?.[other] ?? 0
  for (let one = old.length - 1; one >= 0; one -= 1)
    for (let other = now.length - 1; other >= 0; other -= 1)
      (lengths[one] as Uint32Array)[other] =
        old[one]?.key === now[other]?.key
          ? at(one + 1, other + 1) + 1
          : Math.max(at(one + 1, other), at(one, other + 1))
  const found: Array<number | undefined> = []
  let one = 0
  for (let other = 0; other < now.length; other += 1) {
    while (one < old.length && old[one]?.key !== now[other]?.key && at(one + 1, other) >= at(one, other + 1)) one += 1
    found.push(old[one]?.key === now[other]?.key && one < old.length ? one++ : undefined)
  }
  return found
}

/** The text of the blocks. A block that nobody changed keeps its own text, and so does the white space around it. */
export const textOf = ({ blocks: old, lead }: Source, shown: ReadonlyArray<Block>): string => {
  // The editor may add an empty line below a list.
  let length = shown.length
  while (length > 0 && shown[length - 1]?.key === emptyBlock && old.at(-1)?.key !== emptyBlock) length -= 1
  const now = shown.slice(0, length)
  if (now.length === 0) return old.length === 0 ? lead : ""
  const places = originals(old, now)
  const last = old.length - 1
  const between = old.length > 1 ? (old[0]?.gap ?? "") : "\n"
  /** The white space of a new block is that of the block whose place it took. */
  const gapAfter = (at: number): string => {
    const [place, next] = [places[at], places[at + 1]]
    if (at === now.length - 1) return old[last]?.gap ?? ""
    if (place !== undefined && place < last) return old[place]?.gap ?? ""
    return place === undefined && next !== undefined && next > 0 ? (old[next - 1]?.gap ?? "") : between
  }
  return now.reduce((text, { html }, at) => {
    const place = places[at]
    return text + (place === undefined ? html : (old[place]?.html ?? html)) + gapAfter(at)
  }, lead)
}

/** Whether the editor shows the whole text, and nothing else. */
export const isSame = ({ blocks }: Source, shown: ReadonlyArray<Block>): boolean =>
  blocks.length === 0
    ? shown.every(({ key }) => key === emptyBlock)
    : blocks.length === shown.length && blocks.every(({ key }, at) => key === shown[at]?.key)
