import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { emptyList, isEmptyValue } from "../../src/model/Emptiness.ts"
import { fits, type KeyRule, ruleOfDefinition } from "../../src/model/KeyRule.ts"
import { builtInRules } from "../../src/model/KeyRules.ts"
import { measurementTypes } from "../../src/model/Measurement.ts"
import { report, seed } from "../faults/Dice.ts"
import { engines } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"

const texts = amount(3_000, 100_000)

/** Every character of the basic multilingual plane that a text can hold, and some beyond it. */
const characters = [
  ...Array.from({ length: 0xffff }, (_, code) => code + 1).filter((code) => code < 0xd800 || code > 0xdfff),
  0x1f600,
  0x10ffff
].map((code) => String.fromCodePoint(code))

const pieces = [
  ..."<>/!-&; \t\n\u00a0\u200b\u3000'\"=a1é手",
  "<p>",
  "</p>",
  "<br/>",
  "<img",
  "<IMG ",
  "<img>",
  "<!--",
  "-->",
  "&nbsp;",
  "&#160;",
  "&#Xa0;",
  "&amp;",
  "alt='>'"
]

const types = [
  "single_line_text_field",
  "multi_line_text_field",
  "html",
  "number_decimal",
  "number_integer",
  "boolean",
  "url",
  "json",
  "date",
  "color",
  "date_time",
  "money",
  "link",
  "rich_text_field",
  "rating",
  "dimension",
  "list.color",
  "list.rating",
  "list.single_line_text_field",
  "list.number_integer",
  "list.number_decimal",
  "list.boolean",
  "list.dimension",
  "list.file_reference",
  "list.url",
  "list.list.url",
  // Inherited properties of objects must not be read as rules.
  "constructor",
  "list.toString",
  "__proto__"
]
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
const values = [
  "",
  " ",
  "a",
  "two\nlines",
  "a\rb",
  "a\u0085b",
  "true",
  "TRUE",
  "1",
  "-1.5",
  "1.",
  ".5",
  "1e3",
  "٣",
  "12345678901234",
  "1.1234567890",
  "9007199254740991",
  "-9007199254740992",
  "99999999999999999",
  "http:a",
  "https:///",
  "https://a b",
  "HTTPS://A",
  "https://a\u00a0b",
  "mailto:",
  "tel:1",
  "javascript:1",
  "//a",
  "[]",
  " [ ] ",
  '["a","b"]',
  '["a", "b"]',
  '["a\\nb"]',
  '["\\u0041"]',
  '["\\u0000"]',
  '["\\ud800"]',
  '["\\ud83d\\ude00"]',
  '["a\tb"]',
  '["\u0001"]',
  '["",""]',
  '["1","2"]',
  '["1","x"]',
  '["https://a.example","ftp://b"]',
  "[1]",
  "[1.50,2]",
  "[-0]",
  "[true,null]",
  "[123456789012345678901]",
  '[{"value":25.0,"unit":"CENTIMETERS"}]',
  '[{"value":"\\u0000"}]',
  '["1",2]',
  '{"a":"b"}',
  "null",
  "nul",
  "{",
  "[1,]",
  "01",
  "-0",
  "1e999",
  "\ufeff[]",
  '"\\u0000"',
  '"\\ud800"',
  '"\\x"',
  nested(32),
  nested(33),
  nested(20_000),
  `["${"[".repeat(40)}"]`,
  `[${Array.from({ length: 40 }, () => "[]").join()}]`,
  `{"a\\"[":${nested(32)}}`,
  `{"a":${nested(32)},"a":1}`,
  "x".repeat(255),
  "x".repeat(256),
  "🏔".repeat(127),
  "🏔".repeat(128),
  `${"🏔".repeat(50)}${"é".repeat(155)}`,
  `${"🏔".repeat(50)}${"é".repeat(156)}`,
  "active",
  "unlisted",
  "live",
  "2026-01-31",
  "2026-01-01",
  "2024-02-29",
  "2026-02-29",
  "1900-02-29",
  "2000-02-29",
  "0000-01-01",
  "2026-04-31",
  "2026-00-10",
  "٢٠٢٦-01-01",
  "2",
  "3.001",
  "-2",
  '["1","2","3"]',
  "#fff",
  "#A1b2C3",
  "#ffff",
  "#ggg",
  '["#fff"]',
  '["#fff","red"]',
  ...["", "Z", "+01:00", "-0530", "+24:00"].map((offset) => `2026-01-31T12:30:00.5${offset}`),
  ...[
    "2026-01-31 12:30",
    "2026-01-31T24:00",
    "2026-02-30T12:30",
    "2026-01-31T12:30z",
    "2026-01-31t12:30",
    "2026\n01-31T12:30"
  ],
  ...[
    "5.99",
    "-0",
    "1e3",
    "1e-7",
    "1e21",
    "0e9",
    "1e999",
    '"5.99"',
    '"1e3"',
    '" 5"',
    '"5."',
    '""',
    "true",
    "null",
    "[5]"
  ].flatMap((amount) => [
    `{"amount":${amount},"currency_code":"EUR"}`,
    `{"value":${amount},"unit":"kg"}`,
    `[{"value":${amount},"unit":"OUNCES"}]`,
    `{"value":${amount},"scale_min":"1.0","scale_max":"5.99"}`,
    `{"value":"3","scale_min":${amount},"scale_max":6}`
  ]),
  ...['"eur"', '"EURO"', "1", "null", '["EUR"]'].map((code) => `{"amount":"1","currency_code":${code}}`),
  ...['"cm"', '"Yards"', '"l"', '"celsius"', '""', "1", "null", '["kg"]', '{"kg":1}'].map(
    (unit) => `{"value":1,"unit":${unit}}`
  ),
  ...[
    '{"value":1}',
    '{"unit":"kg"}',
    '{"value":1,"unit":"kg","value":"x"}',
    "{}",
    '[{"text":"a","url":"b"}]',
    '["{}"]'
  ],
  ...['{"text":"a","url":"b"}', '{"text":"a","url":1}', '{"text":"a"}', '{"url":"b"}', '{"text":null,"url":"b"}'],
  ...[
    '{"type":"root","children":[]}',
    '{"type":"root","children":{}}',
    '{"type":"text","children":[]}',
    '{"type":"root"}'
  ],
  ...['{"type":["root"],"children":[]}', '{"children":[]}', '[{"value":"3","scale_min":"1","scale_max":"5"}]'],
  ...[
    '["{\\"text\\":\\"a\\",\\"url\\":\\"b\\"}"]',
    `{"type":"root","children":${nested(31)}}`,
    `{"type":"root","children":${nested(32)}}`
  ],
  `[${Array.from({ length: 130 }, () => '"1"').join()}]`,
  `["${"x".repeat(256)}"]`,
  `["${"🏔".repeat(128)}"]`,
  "🏔".repeat(255),
  "🏔".repeat(256),
  "x".repeat(513),
  "x".repeat(2_049),
  "x".repeat(65_537)
]
const validations: Readonly<Record<string, ReadonlyArray<string>>> = {
  min: ["1", "-1.5", "2026-01-02", "nonsense", "\u0000"],
  max: ["2", "9007199254740990", "254", "2026-01-31", ""],
  max_precision: ["0", "1"],
  choices: ['["active","2026-01-31","1","🏔"]', "[]", "nonsense", '["\\u0000"]'],
  "list.min": ["1", "3"],
  "list.max": ["1", "39"],
  regex: ["^a+$"],
  allowed_domains: ['["a.example"]'],
  unheard_of: ["1"]
}

/** Rules of every type, without validations and with each of them; rules of built-in keys; no rule. */
const rules: ReadonlyArray<KeyRule | undefined> = [
  undefined,
  ...types.flatMap((type) => [
    { type },
    ruleOfDefinition(type, []),
    ...Object.entries(validations).flatMap(([name, values]) =>
      values.map((value) => ruleOfDefinition(type, [{ name, type, value }]))
    ),
    ruleOfDefinition(type, [
      { name: "min", type, value: "1" },
      { name: "max", type, value: "3" },
      { name: "list.max", type, value: "2" }
    ])
  ]),
  ...Object.values(builtInRules).flatMap((ofKind) => [...ofKind.values()])
]

for (const engine of engines) {
  describe.skipIf(engine.absent)(`SQL functions of scans agree with the code, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("on whitespace, for every character", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* sql`
            SELECT is_empty_text(c) AS text, is_empty_html('<p>' || c || '</p>') AS html
            FROM json_array_elements_text(${JSON.stringify(characters)}::json) WITH ORDINALITY AS t (c, n) ORDER BY n`
          const wrong = characters.filter(
            (character, index) =>
              rows[index]?.text !== isEmptyValue("single_line_text_field", character) ||
              rows[index]?.html !== isEmptyValue("html", `<p>${character}</p>`)
          )
          assert.deepStrictEqual(wrong, [])
          assert.isAbove(characters.length, 63_000)
        })
      )

      it.effect("and PostgreSQL puts them into the query instead of calling them for each value", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const called = (expression: string) =>
            Effect.map(
              sql`EXPLAIN (VERBOSE) SELECT ${sql.literal(expression)} FROM entity e`,
              (plan) =>
                JSON.stringify(plan).match(
                  /\b(key_fits|effective_value|is_empty_text|is_empty_html|value_keeps)\(/
                )?.[1]
            )
          // For values that it cannot decide itself, it calls value_keeps.
          assert.strictEqual(
            yield* called("key_fits(e.attributes -> 'a', e.title, e.attributes ->> 'b')"),
            "value_keeps"
          )
          assert.isUndefined(yield* called("effective_value(e.attributes, '{}', 'a')"))
          assert.isUndefined(yield* called("is_empty_text(e.title)"))
          assert.isUndefined(yield* called("is_empty_html(e.title)"))
        })
      )

      it.effect("on HTML without text and images", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const some = fc.sample(
            fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join("")),
            { numRuns: texts, seed }
          )
          const rows = yield* sql`
            SELECT is_empty_html(c) AS html, is_empty_text(c) AS text
            FROM json_array_elements_text(${JSON.stringify(some)}::json) WITH ORDINALITY AS t (c, n) ORDER BY n`
          const wrong = some.filter(
            (text, index) =>
              rows[index]?.html !== isEmptyValue("html", text) || rows[index]?.text !== isEmptyValue("any", text)
          )
          const empty = rows.filter(({ html }) => html === true).length
          report(`Empty HTML on ${engine.name}`, { texts: some.length, empty })
          assert.isAbove(empty, texts / 50)
          assert.deepStrictEqual(wrong, [], `seed ${seed}`)
        })
      )

      it.effect("on lists without items", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const lists = ["", "[]", " [\t]\n", '[""]', "[[]]", "[", "[]]", "[\u00a0]", "none"]
          const rows = yield* sql`
            SELECT is_empty_text(c) OR c ~ ${emptyList} AS empty
            FROM json_array_elements_text(${JSON.stringify(lists)}::json) WITH ORDINALITY AS t (c, n) ORDER BY n`
          assert.deepStrictEqual(
            lists.filter((_, index) => rows[index]?.empty === true),
            ["", "[]", " [\t]\n"]
          )
          assert.deepStrictEqual(
            lists.filter((list) => isEmptyValue("list.single_line_text_field", list)),
            ["", "[]", " [\t]\n"]
          )
          assert.isFalse(isEmptyValue("single_line_text_field", "[]"))
        })
      )

      it.effect("on values that fit a type", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const keys = rules.flatMap((rule, index) =>
            // A value without a definition is checked against the type that it was stored with.
            (rule === undefined ? [...types, ...measurementTypes, "list.link", "list.weight"] : ["x"]).map((type) => ({
              rule: rule === undefined ? null : index,
              type
            }))
          )
          const all = keys.flatMap((key) => values.map((value) => ({ ...key, value })))
          // The longest values have 65,537 characters: each is sent once, not for each rule.
          const rows = yield* sql`
            WITH rules AS MATERIALIZED (SELECT ${JSON.stringify(rules.map((rule) => rule ?? null))}::jsonb AS of_keys)
            SELECT fits
            FROM (
              SELECT k.n AS key_place, v.n AS value_place,
                     key_fits(rules.of_keys -> (k.c ->> 'rule')::integer, k.c ->> 'type', v.c) AS fits
              FROM rules, jsonb_array_elements(${JSON.stringify(keys)}::jsonb) WITH ORDINALITY AS k (c, n),
                jsonb_array_elements_text(${JSON.stringify(values)}::jsonb) WITH ORDINALITY AS v (c, n)
              OFFSET 0
            ) checked
            ORDER BY key_place, value_place`
          const wrong = all.filter(
            ({ rule, type, value }, index) =>
              rows[index]?.fits !== fits((rule === null ? undefined : rules[rule]) ?? { type }, value)
          )
          assert.deepStrictEqual(
            wrong.map(({ rule, type, value }) => ({
              rule: rule === null ? type : rules[rule],
              value: value.slice(0, 60)
            })),
            []
          )
          const fitting = rows.filter(({ fits }) => fits === true).length
          assert.isAbove(fitting, all.length / 10)
          assert.isBelow(fitting, all.length)
        })
      )
    })
  })
}
