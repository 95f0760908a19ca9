import { Brand } from "effect"

// JavaScript's \s lacks NEXT LINE, which Unicode counts as white space.
const whiteSpace = /[\s\u0085]+/gu

/** Accents and other marks, and invisible characters: joiners, soft hyphens, variation selectors. */
const removed = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu

/** Characters that count as words: those of scripts without blanks, and all but letters and digits. */
const standalone = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]|[^\p{L}\p{N}\s\u0085]/gu

/**
 * The form in which texts and queries are compared: NFKD, without marks and invisible characters, case folded. One blank
 * replaces white space and surrounds every character that counts as a word; there is none at the ends.
 *
 * Han, Kana, Hangul (as the letters NFKD gives) and Thai have no blanks of their own, so each character is a word.
 * So is everything that is neither letter nor digit: `TEE-XL` is `tee - xl`, in which `xl` begins a word.
 *
 * Each character is folded without regard to its neighbours, so the folded form of a substring is a substring of the folded
 * text. Matching by substring depends on that.
 */
export const fold = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(removed, "")
    // Lower case alone does not match ß with SS, nor ı with I; upper case alone does not match ẞ. The Greek iota subscript
    // still does not match: it is a mark, so ᾳ folds to α, but its upper case ΑΙ folds to αι.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    // The only lower-case letter that depends on its neighbours.
    .replaceAll("ς", "σ")
    .replace(standalone, " $& ")
    .replace(whiteSpace, " ")
    .trim()

/**
 * The search text of an entity: its folded fields, each after a blank (a word begins there) and on a line of its own (no
 * match spans two fields). Empty and repeated fields are left out.
 */
export const searchText = (fields: ReadonlyArray<string>): string => {
  const folded = new Set(Array.from(new Set(fields), fold))
  folded.delete("")
  return Array.from(folded, (field) => ` ${field}`).join("\n")
}

/** A string that must occur in the search text. */
export type Needle = string & Brand.Brand<"Needle">
const Needle = Brand.nominal<Needle>()

/** Terms with fewer characters (folded, without blanks) match only at the beginning of a word. */
const minAnywhere = 3

/**
 * The needles of a query, which must all occur. The query is split on white space before it is folded, so a term that folding
 * splits (手机 becomes `手 机`) matches as one phrase. A blank query has no needles and filters nothing.
 *
 * The length of a term is that of its folded form: an `e` with two accents is one character.
 */
export const terms = (search: string): ReadonlyArray<Needle> => {
  const needles = new Set<Needle>()
  for (const term of search.split(whiteSpace)) {
    const folded = fold(term)
    if (folded === "") continue
    const length = Array.from(folded.replaceAll(" ", "")).length
    needles.add(Needle(length < minAnywhere ? ` ${folded}` : folded))
  }
  return Array.from(needles)
}

/** Whether a search text has all needles. */
export const matches = (stored: string, needles: ReadonlyArray<Needle>): boolean =>
  needles.every((needle) => stored.includes(needle))

/** The LIKE pattern that tests for one needle. The backslash is the default escape character. */
export const likePattern = (needle: Needle): string => `%${needle.replace(/[\\%_]/g, "\\$&")}%`
