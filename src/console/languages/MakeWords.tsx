import { IntlMessageFormat } from "intl-messageformat"
import { type ComponentChildren, Fragment } from "preact"
import type { ServiceMessage } from "./FindMessage.ts"
import { directionIn, type Language, localeOf } from "./Language.ts"
import type { Parts, Saying, Sentence, Values, Words } from "./Words.tsx"

const tags: Parts = {
  code: (words) => <code>{words}</code>,
  strong: (words) => <strong>{words}</strong>,
  em: (words) => <em>{words}</em>
}

/** Placeholders whose values may be messages of services. */
const nested: ReadonlyArray<string> = ["problem", "cause", "reason", "things", "counted", "duration", "state", "kind"]

/** The number of decimals of a decimal number. Undefined: the text is no number that can be written exactly. */
const decimalsOf = (text: string): number | undefined => {
  const found = /^-?\d{1,12}(?:\.(\d{1,3}))?$/.exec(text)
  return found === null ? undefined : (found[1]?.length ?? 0)
}

/**
 * `messageOf`: a sentence as an ICU message of the language; undefined: the text is no sentence of the pages. `readMessage`: finds a
 * message of a service.
 */
export const makeWords = (
  language: Language,
  messageOf: (text: string) => string | undefined,
  readMessage: (text: string) => ServiceMessage | undefined = () => undefined
): Words => {
  const locale = localeOf(language)
  const isFromRightToLeft = directionIn(language) === "rtl"
  const messages = new Map<string, IntlMessageFormat>()
  const numbers = new Intl.NumberFormat(locale)
  const lists = new Intl.ListFormat(locale)

  const formatOf = (sentence: string) => {
    const message = messages.get(sentence)
    if (message !== undefined) return message
    const format = new IntlMessageFormat(messageOf(sentence) ?? sentence, locale)
    messages.set(sentence, format)
    return format
  }

  // A value keeps its own direction in a text from right to left: "SKU-1" would else move its dash.
  const isolated = (value: string) => (isFromRightToLeft ? `\u2068${value}\u2069` : value)

  const written = (sentence: string, values: Values = {}): string => {
    const isolatedValues = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? isolated(nested.includes(name) ? saidOf(value) : value) : value
    ])
    return String(formatOf(sentence).format(Object.fromEntries(isolatedValues)))
  }

  /** A message of a service in the language. Other text is unchanged. */
  const saidOf = (text: string, values?: Values): string => {
    if (messageOf(text) !== undefined) return written(text, values)
    const found = readMessage(text)
    if (found === undefined) return text
    if (language !== "en" || found.isReplaced) {
      const words = written(found.sentence, found.values)
      return found.subject === undefined
        ? words
        : written("{subject}: {problem}.", { subject: saidOf(found.subject), problem: words })
    }
    // English text stays as it is, except for parts that name commands.
    return nested.reduce((whole, name) => {
      const part = found.values[name]
      return typeof part === "string" ? whole.replace(part, () => saidOf(part)) : whole
    }, text)
  }

  const say = (saying: Saying, values?: Values): string =>
    typeof saying === "string" ? saidOf(saying, values) : written(saying.sentence, saying.values)

  const rich = (sentence: Sentence, parts: Parts = {}): ComponentChildren => {
    const contents = Object.entries(parts).map(([name, part]) => {
      const words = typeof part === "string" && nested.includes(name) ? saidOf(part) : part
      return [name, typeof words === "string" && isFromRightToLeft ? <bdi>{words}</bdi> : words]
    })
    const output = formatOf(sentence).format<ComponentChildren>({ ...tags, ...Object.fromEntries(contents) })
    return Array.isArray(output) ? output.map((part, index) => <Fragment key={index}>{part}</Fragment>) : output
  }

  const amount = (text: string) => {
    const decimals = decimalsOf(text)
    return decimals === undefined
      ? text
      : new Intl.NumberFormat(locale, { minimumFractionDigits: decimals }).format(Number(text))
  }

  return Object.assign(written, {
    say,
    rich,
    language,
    number: (value: number | bigint) => numbers.format(value),
    amount,
    money: (text: string, currency: string) =>
      decimalsOf(text) === undefined || !/^[A-Z]{3}$/.test(currency)
        ? `${currency} ${text}`
        : new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay: "code" }).format(Number(text)),
    list: (texts: ReadonlyArray<string>) => lists.format(texts)
  })
}
