/** The languages that a user can choose, by BCP 47 tag, each with its own name. */
export const languages = [
  { tag: "en", name: "English" },
  { tag: "de", name: "Deutsch" },
  { tag: "zh", name: "中文" },
  { tag: "ar", name: "العربية" }
] as const

/** The names of the IANA database that a user can choose. UTC is the default, and is not in the list. */
export const timeZones: ReadonlyArray<string> = Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")
