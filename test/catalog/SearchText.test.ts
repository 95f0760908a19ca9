import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { fold, likePattern, matches, searchText, terms } from "../../src/catalog/SearchText.ts"
import { amount } from "../support/Volume.ts"

const finds = (fields: ReadonlyArray<string>, search: string) => matches(searchText(fields), terms(search))

/** Texts that mix characters which folding treats differently with arbitrary Unicode characters. */
const characters = fc.oneof(
  fc.constantFrom(
    ..."aeXZ09 -_%\\'.\t\n\u00a0\u0085",
    ..."éẞßıİſςΣσΐᾳŉǅﬁﬃ½²™…¨",
    ..."手机一ひらがカナｶﾞー한글각ᄀㄱกำที่",
    ..."👍🏽👩🚀🇩🇪€+",
    "\u0301",
    "\u0308",
    "\u0345",
    "\u200d",
    "\u00ad",
    "\ufe0f",
    "\u20e3",
    "\u3164",
    "\ufdfa",
    "e\u0301",
    "👩🏽‍🚀",
    "1️⃣"
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 })
)
const texts = fc.array(characters, { maxLength: 24 }).map((all) => all.join(""))

/** A sequence of whole characters (code points) of a text, and the text. */
const pieces = fc.tuple(texts, fc.nat(), fc.nat()).map(([text, a, b]) => {
  const all = Array.from(text)
  const start = a % (all.length + 1)
  return { text, piece: all.slice(start, start + (b % (all.length + 1 - start || 1)) + 1).join("") }
})

const countedCharacters = (term: string) => Array.from(fold(term).replaceAll(" ", "")).length
const assertFinds = (text: string, search: string) =>
  assert.isTrue(finds([text], search), `${JSON.stringify(search)} in ${JSON.stringify(text)}`)

describe("fold", () => {
  it.each([
    ["case", "Linen SHIRT", "linen shirt"],
    ["accents", "Crème Brûlée", "creme brulee"],
    ["decomposed accents", "Cre\u0300me", "creme"],
    ["letters with strokes stay letters", "Øl Łódź", "øl łodz"],
    ["sharp s", "Straße STRAẞE", "strasse strasse"],
    ["ligatures", "ﬁne eﬃcient", "fine efficient"],
    ["both Turkish i", "ısparta İzmir", "isparta izmir"],
    ["final sigma", "ΣΟΦΟΣ σοφος", "σοφοσ σοφοσ"],
    ["full width", "ＴＥＥ", "tee"],
    ["squares and halves", "m² ½", "m2 1 ⁄ 2"],
    ["every kind of white space", " a\t\n\u00a0\u3000\u2028\u0085 b ", "a b"],
    ["a SKU", "TEE-XL", "tee - xl"],
    ["an underscore", "TEE_XL", "tee _ xl"],
    ["an apostrophe", "Levi's", "levi ' s"],
    ["a percent sign", "100%", "100 %"],
    ["signs in a row", "C++", "c + +"],
    ["Han", "苹果XS手机", "苹 果 xs 手 机"],
    ["Hiragana, without voicing marks", "ひらがな", "ひ ら か な"],
    ["Katakana of both widths", "カナ ｶﾅ", "カ ナ カ ナ"],
    ["Hangul, by letters", "한글", "ᄒ ᅡ ᆫ ᄀ ᅳ ᆯ"],
    ["Thai, without vowel marks", "ที่นี่", "ท น"],
    ["emoji with skin tone and joiner", "👩🏽‍🚀!", "👩 🏽 🚀 !"],
    ["a flag", "🇩🇪", "🇩 🇪"],
    ["a keycap", "1️⃣", "1"],
    ["soft hyphen and joiners", "Super\u00adman می\u200cخواهم", "superman میخواهم"],
    ["empty text", "", ""],
    ["only blanks and marks", " \u0301 \u200d ¨", ""]
  ])("%s: %j", (_, text, expected) => {
    assert.strictEqual(fold(text), expected)
  })

  it("is idempotent", () => {
    fc.assert(
      fc.property(texts, (text) => assert.strictEqual(fold(fold(text)), fold(text))),
      { numRuns: amount(1_000, 100_000) }
    )
  })

  it("is idempotent and ignores normal form and case, for every character of Unicode", () => {
    // Many characters at a time; one by one this takes ten seconds.
    const differing: Array<string> = []
    const check = (characters: ReadonlyArray<string>) => {
      const apart = (forms: ReadonlyArray<string>) => fold(forms.join("\n"))
      const folded = apart(characters)
      const variants = [
        folded,
        ...["NFC", "NFD", "NFKC", "NFKD"].map((form) => apart(characters.map((each) => each.normalize(form)))),
        apart(characters.map((each) => each.toLowerCase())),
        apart(characters.map((each) => each.toUpperCase()))
      ]
      if (variants.every((variant) => fold(variant) === folded)) return
      if (characters.length === 1) differing.push(...characters)
      else for (const each of characters) check([each])
    }
    for (let start = 0; start < 0xe1000; start += 128) {
      // Skips surrogates, and planes without assigned characters.
      if ((start >= 0xd800 && start < 0xe000) || (start >= 0x40000 && start < 0xe0000)) continue
      check(Array.from({ length: 128 }, (_, index) => String.fromCodePoint(start + index)))
    }
    // The iota subscript, alone and in Greek vowels: upper case turns this mark into a letter.
    assert.isTrue(differing.every((each) => each.normalize("NFD").includes("\u0345")))
    assert.strictEqual(differing.length, 64)
  })

  it("has single blanks, none at the ends, and no other white space", () => {
    fc.assert(fc.property(texts, (text) => assert.match(fold(text), /^(?:[^\s\u0085]+(?: [^\s\u0085]+)*)?$/u)))
  })
})

describe("searchText", () => {
  it("puts each field on a line of its own, after a blank", () => {
    assert.strictEqual(searchText(["Linen Shirt", "TEE-XL"]), " linen shirt\n tee - xl")
  })

  it("drops empty and repeated fields, also if only case or accents differ", () => {
    assert.strictEqual(searchText(["", "Café", " ", "CAFE", "café"]), " cafe")
    assert.strictEqual(searchText([]), "")
  })

  it("does not let a term match across two fields", () => {
    assert.isFalse(finds(["手", "机"], "手机"))
    assert.isFalse(finds(["linen", "shirt"], "linenshirt"))
    assert.isTrue(finds(["linen", "shirt"], "shirt linen"))
  })
})

describe("terms", () => {
  it.each([
    ["Linen shirt", ["linen", "shirt"]],
    ["three characters match anywhere", ["three", "characters", "match", "anywhere"]],
    ["two: xl", ["two :", " xl"]],
    ["a", [" a"]],
    ["手机", [" 手 机"]],
    ["手机壳", ["手 机 壳"]],
    ["手机\u3000手机", [" 手 机"]],
    ["a b A", [" a", " b"]],
    ["👍", [" 👍"]],
    ["e\u0301\u0301", [" e"]],
    ["ß", [" ss"]],
    ["", []],
    [" \t\u3000 ", []],
    ["\u0301 \u200d", []]
  ])("%j", (search, needles) => {
    assert.deepStrictEqual<ReadonlyArray<string>>(terms(search), needles)
  })
})

describe("matches", () => {
  it.each([
    ["every term, in any order", "Linen Summer Shirt", "shirt linen", true],
    ["a missing term", "Linen Summer Shirt", "shirt wool", false],
    ["three characters inside a word", "Linen Shirt", "hir", true],
    ["two characters inside a word", "Linen Shirt", "hi", false],
    ["two characters at the beginning of a word", "Linen Shirt", "sh", true],
    ["one character at the beginning of the field", "Linen Shirt", "l", true],
    ["case and accents of the query", "creme brulee", "CRÈME Brûlée", true],
    ["case and accents of the text", "CRÈME Brûlée", "creme brulee", true],
    ["STRASSE for Straße", "Straße", "STRASSE", true],
    ["a word after a hyphen", "T-shirt", "shirt", true],
    ["from the hyphen on, with a word", "T-shirt", "-shirt", true],
    ["up to the hyphen", "T-shirt", "t-", true],
    ["the whole text", "T-shirt", "t-shirt", true],
    ["not without the hyphen", "T-shirt", "tshirt", false],
    ["the size in a SKU", "TEE-XL", "XL", true],
    ["across the hyphen", "TEE-XL", "ee-x", true],
    ["from the hyphen on", "TEE-XL", "-x", true],
    ["the hyphen alone", "TEE-XL", "-", true],
    ["the second letter of the size", "TEE-XL", "l", false],
    ["one Han character inside", "新款手机壳", "机", true],
    ["two Han characters inside", "新款手机壳", "手机", true],
    ["Han characters in another order", "新款手机壳", "机手", false],
    ["Han after Latin", "abc手", "手", true],
    ["Latin and Han together", "abc手机", "bc手", true],
    ["Latin after Han", "苹果XS手机", "xs", true],
    ["two Thai characters inside", "เสื้อยืด", "ยืด", true],
    ["a Hangul syllable inside", "여름셔츠", "셔츠", true],
    ["an unfinished syllable", "한글", "하", true],
    ["katakana of the other width", "ｶﾒﾗ", "カメラ", true],
    ["an emoji inside", "sale👍🏽now", "👍", true],
    ["another skin tone", "sale👍🏽now", "👍🏿", false],
    ["one part of a joined emoji", "👩‍🚀", "🚀", true],
    ["a percent sign in the text", "100% linen", "%", true],
    ["a percent sign is no wildcard", "linen", "%", false],
    ["a percent sign after digits", "100% linen", "100%", true],
    ["a percent sign between letters", "linen", "l%n", false],
    ["an underscore in the text", "TEE_XL", "tee_xl", true],
    ["an underscore is no wildcard", "TEE-XL", "tee_xl", false],
    ["a backslash in the text", "a\\b", "a\\b", true],
    ["a backslash is no escape", "a%b", "a\\%b", false],
    ["a blank query", "anything", "  ", true]
  ])("%s: %j by %j", (_, text, search, expected) => {
    assert.strictEqual(finds([text], search), expected)
  })

  /**
   * Applies to every text without lone surrogates, which are refused at the surface: removing a mark between two could
   * create a character. Characters are counted after folding: a piece of three characters, of which one or two are
   * marks, is a short term. The words of a query count separately.
   */
  it("finds a text by any substring of three or more counted characters", () => {
    let found = 0
    fc.assert(
      fc.property(pieces, ({ piece, text }) => {
        if (/[\s\u0085]/u.test(piece) || countedCharacters(piece) < 3) return
        found++
        assertFinds(text, piece)
        assertFinds(text, piece.normalize("NFC"))
        assertFinds(text, piece.normalize("NFD"))
        if (!piece.normalize("NFD").includes("\u0345")) {
          assertFinds(text, piece.toLowerCase())
          assertFinds(text, piece.toUpperCase())
        }
      }),
      { numRuns: amount(3_000, 300_000) }
    )
    assert.isAbove(found, 500)
  })

  it("finds a text by the whole text, by its words and by the beginnings of its words", () => {
    fc.assert(
      fc.property(texts, fc.nat(), (text, length) => {
        assertFinds(text, text)
        const words = text.split(/[\s\u0085]+/u).map((word) =>
          Array.from(word)
            .slice(0, 1 + (length % 4))
            .join("")
        )
        assertFinds(text, words.join(" "))
      }),
      { numRuns: amount(1_000, 100_000) }
    )
  })

  it("finds a text by a short substring that begins with a standalone character", () => {
    for (const each of Array.from("手ひカกᄀ-%_\\€👍'")) {
      for (const before of ["", "ab", "手", "1", "-", "👍"]) assertFinds(`${before}${each}z`, each)
    }
  })
})

describe("likePattern", () => {
  it.each([
    ["linen", "%linen%"],
    ["100%", "%100 \\%%"],
    ["a_b", "%a \\_ b%"],
    ["a\\b", "%a \\\\ b%"],
    ["xl", "% xl%"]
  ])("%j", (search, pattern) => {
    assert.deepStrictEqual(terms(search).map(likePattern), [pattern])
  })

  it("agrees with matches", () => {
    /** LIKE with backslash as its escape character, as a regular expression. */
    const like = (text: string, pattern: string) => {
      const source = pattern.replace(/\\([\s\S])|([\s\S])/gu, (_, escaped?: string, plain?: string) =>
        plain === "%" ? "[^]*" : plain === "_" ? "[^]" : `\\u{${(escaped ?? plain ?? "").codePointAt(0)?.toString(16)}}`
      )
      return new RegExp(`^${source}$`, "u").test(text)
    }
    const dense = fc.string({ unit: fc.constantFrom(..."ab%_\\ "), maxLength: 8 })
    let found = 0
    fc.assert(
      fc.property(dense, dense, (text, search) => {
        const stored = searchText([text])
        for (const needle of terms(search)) {
          const expected = matches(stored, [needle])
          if (expected) found++
          assert.strictEqual(like(stored, likePattern(needle)), expected)
        }
      }),
      { numRuns: amount(1_000, 100_000) }
    )
    assert.isAbove(found, 50)
  })
})
