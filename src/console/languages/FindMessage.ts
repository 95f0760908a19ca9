import { messages, pageWords, rules } from "./ServiceMessages.ts"
import type { Sentence, Values } from "./Words.tsx"

/** Placeholders whose values have no blanks. */
const oneWord = ["applied", "code", "count", "depth", "domain", "id", "key", "line", "max", "min", "planned"]

interface Pattern {
  readonly sentence: Sentence
  /** The message is written for the command line. Pages have other words for it, also in English. */
  readonly isReplaced: boolean
  readonly expression: RegExp
  readonly names: ReadonlyArray<string>
}

/** `before` and `after`: what may stand around the text, as regular expressions. */
const patternOf = (text: string, sentence: Sentence, before = "", after = ""): Pattern => {
  const names: Array<string> = []
  const expression = text
    .split(/\{(\w+)\}/)
    .map((part, index) => {
      if (index % 2 === 0) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
      if (names.includes(part)) return `\\k<${part}>`
      names.push(part)
      return `(?<${part}>${oneWord.includes(part) ? "\\S" : "."}+?)`
    })
    .join("")
  return {
    sentence,
    isReplaced: text !== sentence,
    names,
    expression: new RegExp(`^${before}${expression}${after}$`, "s")
  }
}

/** A pattern that begins with a message comes first: "{cause} Tried {count} times." One that begins with any value comes last. */
const placeOf = ({ sentence }: Pattern) => (sentence.startsWith("{cause}") ? 0 : sentence.startsWith("{") ? 2 : 1)

/** Then the longer text, which is more specific: "must be one of the languages in the list" before "must be one of {choices}". */
const bySize = (one: Pattern, other: Pattern) =>
  placeOf(one) - placeOf(other) || other.sentence.length - one.sentence.length

const wholeTextPatterns = [
  ...[...messages, ...rules].map((text) => patternOf(text, text)),
  ...Object.entries(pageWords).map(([text, sentence]) => patternOf(text, sentence))
].sort(bySize)

const afterSubject = rules.map((text) => patternOf(text, text, "(?<subject>.+?) ", "(?<end>\\.?)")).sort(bySize)

const find = (patterns: ReadonlyArray<Pattern>, text: string) => {
  for (const pattern of patterns) {
    const found = pattern.expression.exec(text)
    if (found !== null) return { pattern, groups: found.groups ?? {} }
  }
  return undefined
}

/** A message that was found in the lists of `ServiceMessages.ts`. `subject`: what stands before a rule. */
export interface ServiceMessage {
  readonly sentence: Sentence
  readonly values: Values
  readonly isReplaced: boolean
  readonly subject: string | undefined
}

/** Finds a message of a service by its English text. A path before it, as in "import: ...", is left out. */
export const serviceMessageOf = (text: string): ServiceMessage | undefined => {
  const found =
    find(wholeTextPatterns, text) ??
    find(wholeTextPatterns, text.replace(/^[a-z_.]+: /, "")) ??
    find(afterSubject, text)
  if (found === undefined) return undefined
  const { groups, pattern } = found
  const values = Object.fromEntries(pattern.names.map((name) => [name, groups[name] ?? ""]))
  return { sentence: pattern.sentence, values, isReplaced: pattern.isReplaced, subject: groups.subject }
}
