import type { Store } from "../../model/Store.ts"

/** Languages that are written from right to left. */
const rightToLeft: ReadonlyArray<string> = ["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]

/** The writing direction of a language. */
export const directionOf = (locale: string): "rtl" | "ltr" =>
  rightToLeft.includes(locale.split("-")[0]?.toLowerCase() ?? "") ? "rtl" : "ltr"

const languages = new Intl.DisplayNames("en", { type: "language", fallback: "code" })

/** A language in English; a malformed tag unchanged. */
export const languageName = (locale: string): string => {
  try {
    return languages.of(locale) ?? locale
  } catch {
    return locale
  }
}

/** The language and currency of a store. */
export const marketOf = ({ currency, primary_locale }: Pick<Store, "currency" | "primary_locale">): string =>
  `${languageName(primary_locale)}, ${currency}`
