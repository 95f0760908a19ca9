import { Brand } from "effect"

// JavaScript's \s does not include NEXT LINE (U+0085), which Unicode counts as white space.
const whiteSpace = /[\s\u0085]+/gu

/** Matches accents and other marks, and invisible characters: joiners, soft hyphens, variation selectors. */
const removedMarks = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Matches characters that are treated as separate words: letters of scripts without spaces, and all characters except
 * letters and digits.
 */
const standalone = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]|[^\p{L}\p{N}\s\u0085]/gu

/**
 * The form in which texts and queries are compared: NFKD, without marks and invisible characters, case folded. White space
 * becomes one blank. Every character that is a word of its own is between two blanks. No blanks are at the ends.
 *
 * Han, Kana, Hangul (as the letters NFKD gives) and Thai are written without blanks, so each character is a word.
 * Each character that is neither letter nor digit is a word too: `TEE-XL` becomes `tee - xl`, so `xl` begins a word.
 *
 * Each character is folded independently of the characters beside it. So the folded form of a substring is a substring of the
 * folded text. Matching by substring depends on that.
 */
export const fold = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(removedMarks, "")
    // Lower case alone does not match ß with SS, or ı with I. Upper case alone does not match ẞ. The Greek iota subscript
    // does not match even so: it is a mark, so ᾳ folds to α, but its upper case ΑΙ folds to αι.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    // ς is the only lower-case letter that depends on its neighbours.
    .replaceAll("ς", "σ")
    .replace(standalone, " $& ")
    .replace(whiteSpace, " ")
    .trim()

/**
 * The search text of an entity: its folded fields, without empty and repeated ones. A blank before each field marks the
 * beginning of a word. Each field is on a line of its own, so that no match spans two fields.
 */
export const searchText = (fields: ReadonlyArray<string>): string => {
  const folded = new Set(Array.from(new Set(fields), fold))
  folded.delete("")
  return Array.from(folded, (field) => ` ${field}`).join("\n")
}

/** A string that must occur in the search text. */
export type Needle = string & Brand.Brand<"Needle">
const Needle = Brand.nominal<Needle>()

/** A term with fewer characters (after folding, without blanks) matches only at the beginning of a word. */
const minAnywhere = 3

/**
 * The needles of a query. All of them must occur. The query is split on white space before it is folded. So a term that folding
 * splits (手机 becomes `手 机`) matches as one phrase. A blank query has no needles and matches everything.
 *
 * The length of a term is the length of its folded form: an `e` with two accents is one character.
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

/** Whether a search text contains all needles. */
export const matches = (stored: string, needles: ReadonlyArray<Needle>): boolean =>
  needles.every((needle) => stored.includes(needle))

/** The LIKE pattern for one needle. It escapes special characters with a backslash, the default escape character. */
export const likePattern = (needle: Needle): string => `%${needle.replace(/[\\%_]/g, "\\$&")}%`
