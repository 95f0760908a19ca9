import type { Store } from "../../model/Store.ts"
import { localeOf } from "../languages/Language.ts"
import type { Words } from "../languages/Words.tsx"

/** Languages that are written from right to left. */
const rightToLeft: ReadonlyArray<string> = ["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]

/** The writing direction of a language. */
export const directionOf = (locale: string): "rtl" | "ltr" =>
  rightToLeft.includes(locale.split("-")[0]?.toLowerCase() ?? "") ? "rtl" : "ltr"

/** A language in the words of the reader's; a malformed tag unchanged. */
export const languageName = (t: Words, locale: string): string => {
  try {
    return new Intl.DisplayNames(localeOf(t.language), { type: "language", fallback: "code" }).of(locale) ?? locale
  } catch {
    return locale
  }
}

/** The language and currency of a store. */
export const marketOf = (t: Words, { currency, primary_locale }: Pick<Store, "currency" | "primary_locale">): string =>
  `${languageName(t, primary_locale)}, ${currency}`
