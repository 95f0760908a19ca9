import type { ComponentChildren } from "preact"
import ar from "./ar.json" with { type: "json" }
import de from "./de.json" with { type: "json" }
import { serviceMessageOf } from "./FindMessage.ts"
import type { Language } from "./Language.ts"
import { makeWords } from "./MakeWords.tsx"
import zh from "./zh.json" with { type: "json" }

/**
 * An English sentence of the pages, in the syntax of ICU messages. It is the key of its translations, so a sentence
 * without a translation is an error of the compiler.
 */
export type Sentence = keyof typeof de & keyof typeof zh & keyof typeof ar

const translations: Readonly<Record<Exclude<Language, "en">, Readonly<Record<Sentence, string>>>> = { de, zh, ar }

const isSentence = (text: string): text is Sentence => Object.hasOwn(de, text)

/** A sentence in a language, as an ICU message. Undefined: the text is no sentence of the pages. */
export const messageIn = (language: Language, text: string): string | undefined =>
  !isSentence(text) ? undefined : language === "en" ? text : translations[language][text]

/** The values of placeholders such as `{name}` or `{count, number}`. */
export type Values = Readonly<Record<string, string | number>>

/** The values of placeholders, which may be elements, and functions that make an element of the words in a tag such as `<link>`. */
export type Parts = Readonly<Record<string, ComponentChildren | ((words: ComponentChildren) => ComponentChildren)>>

/**
 * A text that is put into words later, in the language of its reader. A plain text may be words of a service, which the
 * command line shares: it is translated if it is a sentence of the pages or in `ServiceMessages.ts`, and is English otherwise.
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

const words = new Map<Language, Words>()

/** The words of a language are made at their first use: those of all languages cost each start 20 ms (Node 20). */
export const wordsIn = (language: Language): Words => {
  const instance = words.get(language) ?? makeWords(language, (text) => messageIn(language, text), serviceMessageOf)
  words.set(language, instance)
  return instance
}
