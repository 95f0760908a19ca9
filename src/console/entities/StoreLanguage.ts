import type { Store } from "../../model/Store.ts"
import { localeOf } from "../languages/Language.ts"
import type { Words } from "../languages/Words.tsx"

/** Languages that are written from right to left. */
const rightToLeft: ReadonlyArray<string> = ["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]

/** The writing direction of a language. */
export const directionOf = (locale: string): "rtl" | "ltr" =>
  rightToLeft.includes(locale.split("-")[0]?.toLowerCase() ?? "") ? "rtl" : "ltr"

/** A code in the reader's language; an unknown or malformed one unchanged. */
const nameOf = (t: Words, type: "currency" | "language", code: string): string => {
  try {
    return new Intl.DisplayNames(localeOf(t.language), { type, fallback: "code" }).of(code) ?? code
  } catch {
    return code
  }
}

/** A language in the reader's language; a malformed tag unchanged. */
export const languageName = (t: Words, locale: string): string => nameOf(t, "language", locale)

/** A currency in the reader's language; an unknown code unchanged. */
export const currencyName = (t: Words, code: string): string => nameOf(t, "currency", code)

/** The language and currency of a store. */
export const marketOf = (t: Words, { currency, primary_locale }: Pick<Store, "currency" | "primary_locale">): string =>
  `${languageName(t, primary_locale)}, ${currency}`
