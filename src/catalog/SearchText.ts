import { Brand } from "effect"

// JavaScript's \s lacks NEXT LINE, which Unicode counts as white space.
const whiteSpace = /[\s\u0085]+/gu

/** Accents and other marks, and what has no shape of its own: joiners, soft hyphens, variation selectors. */
const unseen = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu

/** Characters that are words by themselves: of scripts written without blanks, and all but letters and digits. */
const standalone = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]|[^\p{L}\p{N}\s\u0085]/gu

/**
 * The form in which text and query are compared: NFKD, marks and invisible characters removed, case folded, one blank
 * for any white space and around every character that is a word by itself, none at the ends.
 *
 * Han, Kana, Hangul (as the letters NFKD gives) and Thai have no blanks of their own, so each character is a word.
 * So is everything that is neither letter nor digit: `TEE-XL` is `tee - xl`, in which `xl` begins a word.
 *
 * Each character is treated without regard to its neighbours, so the form of any run of whole characters lies within
 * the form of the text they were taken from. That is what makes matching by substring right.
 */
export const fold = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(unseen, "")
    // Lower case alone keeps ß apart from SS and ı from I; upper case alone keeps ẞ. What stays apart is the Greek iota
    // subscript, which is a mark until upper case writes it as a letter: ᾳ folds to α, and its upper case ΑΙ to αι.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    // The one lower case that depends on neighbours.
    .replaceAll("ς", "σ")
    .replace(standalone, " $& ")
    .replace(whiteSpace, " ")
    .trim()

/**
 * The stored search text of a record: its fields folded, each after a blank (a word begins there) and on a line of its
 * own (nothing matches across two fields). Fields that fold to nothing, or to what another gave, are left out.
 */
export const searchText = (fields: ReadonlyArray<string>): string => {
  const folded = new Set(Array.from(new Set(fields), fold))
  folded.delete("")
  return Array.from(folded, (field) => ` ${field}`).join("\n")
}

/** A string that must occur in the stored search text. */
export type Needle = string & Brand.Brand<"Needle">
const Needle = Brand.nominal<Needle>()

/** From this many characters on (folded, blanks not counted), a term matches anywhere and not only where a word begins. */
const anywhereFrom = 3

/**
 * What a query asks for: every needle must occur. The query is split on white space as it was sent, so that a term which
 * folding takes apart (手机 becomes `手 机`) still matches as one phrase. None for a blank query, which filters nothing.
 *
 * A term counts by what is left of it: an `e` with two accents is one character, and matches where a word begins.
 */
export const terms = (search: string): ReadonlyArray<Needle> => {
  const needles = new Set<Needle>()
  for (const term of search.split(whiteSpace)) {
    const folded = fold(term)
    if (folded === "") continue
    const length = Array.from(folded.replaceAll(" ", "")).length
    needles.add(Needle(length < anywhereFrom ? ` ${folded}` : folded))
  }
  return Array.from(needles)
}

/** Whether a stored search text has all needles. */
export const matches = (stored: string, needles: ReadonlyArray<Needle>): boolean =>
  needles.every((needle) => stored.includes(needle))

/** The same test for one needle as a pattern of SQL's LIKE, whose escape character is the backslash by default. */
export const likePattern = (needle: Needle): string => `%${needle.replace(/[\\%_]/g, "\\$&")}%`
