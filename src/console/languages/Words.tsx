import { IntlMessageFormat } from "intl-messageformat"
import { type ComponentChildren, Fragment } from "preact"
import ar from "./ar.json" with { type: "json" }
import de from "./de.json" with { type: "json" }
import { directionIn, type Language, localeOf } from "./Language.ts"
import zh from "./zh.json" with { type: "json" }

/**
 * An English sentence of the pages, in the syntax of ICU messages. It is the key of its translations, so a sentence
 * without a translation is an error of the compiler.
 */
export type Sentence = keyof typeof de & keyof typeof zh & keyof typeof ar

const translations: Readonly<Record<Exclude<Language, "en">, Readonly<Record<Sentence, string>>>> = { de, zh, ar }

const isSentence = (text: string): text is Sentence => Object.hasOwn(de, text)

/** The values of placeholders such as `{name}` or `{count, number}`. */
export type Values = Readonly<Record<string, string | number>>

/** The values of placeholders, which may be elements, and functions that make an element of the words in a tag such as `<link>`. */
export type Parts = Readonly<Record<string, ComponentChildren | ((words: ComponentChildren) => ComponentChildren)>>

/**
 * A text that is put into words later, in the language of its reader. A plain text may be words of a service, which the
 * command line shares: it is translated if it is a sentence of the pages, and is English otherwise.
 */
export type Saying = string | { readonly sentence: Sentence; readonly values: Values }

/** Translates the sentences of the pages into one language. */
export interface Words {
  /** A sentence as text. */
  (sentence: Sentence, values?: Values): string
  /** Translates a `Saying`. `values`: of its placeholders, if it is a sentence of the pages. */
  readonly say: (saying: Saying, values?: Values) => string
  /** A sentence with elements in it. `<code>`, `<strong>` and `<em>` need no value. */
  readonly rich: (sentence: Sentence, parts?: Parts) => ComponentChildren
  readonly language: Language
  /** A number, grouped as the language does. */
  readonly number: (value: number | bigint) => string
  /** An amount of money without a currency, with the decimals that it is written with. Other text is unchanged. */
  readonly amount: (text: string) => string
  /** An amount with its currency. Other text is unchanged, after the currency. */
  readonly money: (text: string, currency: string) => string
  /** Texts in a row: "a, b and c". */
  readonly list: (texts: ReadonlyArray<string>) => string
}

const tags: Parts = {
  code: (words) => <code>{words}</code>,
  strong: (words) => <strong>{words}</strong>,
  em: (words) => <em>{words}</em>
}

/** The number of decimals of a decimal number. Undefined: the text is no number that can be written exactly. */
const decimalsOf = (text: string): number | undefined => {
  const found = /^-?\d{1,12}(?:\.(\d{1,3}))?$/.exec(text)
  return found === null ? undefined : (found[1]?.length ?? 0)
}

const makeWords = (language: Language): Words => {
  const locale = localeOf(language)
  const isFromRightToLeft = directionIn(language) === "rtl"
  const messages = new Map<Sentence, IntlMessageFormat>()
  const numbers = new Intl.NumberFormat(locale)
  const lists = new Intl.ListFormat(locale)

  const messageOf = (sentence: Sentence) => {
    const known = messages.get(sentence)
    if (known !== undefined) return known
    const made = new IntlMessageFormat(language === "en" ? sentence : translations[language][sentence], locale)
    messages.set(sentence, made)
    return made
  }

  // A value keeps its own direction in a text from right to left: "SKU-1" would else move its dash.
  const isolated = (value: string) => (isFromRightToLeft ? `\u2068${value}\u2069` : value)

  const written = (sentence: Sentence, values: Values = {}) => {
    const given = Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? isolated(value) : value
    ])
    return String(messageOf(sentence).format(Object.fromEntries(given)))
  }

  const say = (saying: Saying, values?: Values): string =>
    typeof saying !== "string"
      ? written(saying.sentence, saying.values)
      : isSentence(saying)
        ? written(saying, values)
        : saying

  const rich = (sentence: Sentence, parts: Parts = {}): ComponentChildren => {
    const given = Object.entries(parts).map(([name, part]) => [
      name,
      typeof part === "string" && isFromRightToLeft ? <bdi>{part}</bdi> : part
    ])
    const made = messageOf(sentence).format<ComponentChildren>({ ...tags, ...Object.fromEntries(given) })
    return Array.isArray(made) ? made.map((part, index) => <Fragment key={index}>{part}</Fragment>) : made
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

const words: Readonly<Record<Language, Words>> = {
  en: makeWords("en"),
  de: makeWords("de"),
  zh: makeWords("zh"),
  ar: makeWords("ar")
}

export const wordsIn = (language: Language): Words => words[language]
