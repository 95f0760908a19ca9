import type { languages as chosenLanguages } from "../../access/Profile.ts"

/**
 * The languages of the pages, by BCP 47 tag: the locale by whose rules Intl writes numbers and times, and the writing direction. They are
 * those that a user can choose.
 */
const languages = {
  en: { locale: "en-GB", direction: "ltr" },
  de: { locale: "de", direction: "ltr" },
  zh: { locale: "zh-Hans", direction: "ltr" },
  ar: { locale: "ar", direction: "rtl" }
} as const satisfies Record<(typeof chosenLanguages)[number]["tag"], object>

export type Language = keyof typeof languages

const isLanguage = (tag: string): tag is Language => Object.hasOwn(languages, tag)

/** The language of a tag, whatever its region or script: `zh-Hant-TW` is Chinese. Undefined: the pages are not in this language. */
export const languageOf = (tag: string): Language | undefined => {
  const [language = ""] = tag.trim().toLowerCase().split("-")
  return isLanguage(language) ? language : undefined
}

export const localeOf = (language: Language): string => languages[language].locale
export const directionIn = (language: Language): "ltr" | "rtl" => languages[language].direction

/** The language of the pages that a browser prefers, by its header Accept-Language (RFC 9110, 12.5.4). */
export const acceptedLanguage = (header: string | undefined): Language => {
  const preferred = (header ?? "")
    .split(",")
    .map((range) => {
      const [tag = "", ...parameters] = range.split(";")
      const weight = parameters.map((each) => /^\s*q=([\d.]+)\s*$/i.exec(each)?.[1]).find((each) => each !== undefined)
      return { language: languageOf(tag), weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
  return preferred.find(({ language }) => language !== undefined)?.language ?? "en"
}
