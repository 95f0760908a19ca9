import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { isRecord, type JsonSchema } from "../../src/api/openapi/OpenApiSchemas.ts"
import { tools } from "../../src/mcp/Calls.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { amount, isLong } from "../support/Volume.ts"
import { aConnection, ample, callWith, connectorWith, message, messageIn, portOf, send } from "./Connector.ts"
import { DemoSamples } from "./Samples.ts"

type Args = Readonly<Record<string, unknown>>

const nul = "\u0000"
const lone = "\ud800"
const megabyte = "x".repeat(1_000_000)

const typesOf = ({ type }: JsonSchema): ReadonlyArray<unknown> => (Array.isArray(type) ? type : [type])

/** Values of every JSON type that a schema does not allow. Null in place of an optional member means that it is absent. */
const wrongFor = (schema: JsonSchema, isRequired: boolean): ReadonlyArray<unknown> => {
  const types = typesOf(schema)
  const samples: ReadonlyArray<readonly [string, unknown]> = [
    ["string", "text"],
    ["integer", 7],
    ["number", 7.5],
    ["boolean", true],
    ["null", null],
    ["array", []],
    ["object", {}]
  ]
  return samples.flatMap(([type, value]) => {
    // Where a list may be empty, an empty list is not a wrong type.
    if (types.includes(type) || (type === "integer" && types.includes("number"))) return []
    if (value === null && !isRequired) return []
    return [value]
  })
}

/** Values that are invalid for every text argument. */
const badTexts = [`a${nul}b`, `a${lone}b`, lone, megabyte]

interface Case {
  readonly what: string
  readonly args: Args
  /** The argument that the refusal must name. */
  readonly names: string
}

/** Every way in which each argument of a tool can be wrong. */
const casesOf = (
  schema: { readonly properties: Readonly<Record<string, JsonSchema>>; readonly required: ReadonlyArray<string> },
  good: Args
): ReadonlyArray<Case> => [
  ...schema.required.map((name) => {
    const { [name]: _, ...args } = good
    return { what: "missing", args, names: name }
  }),
  { what: "unknown", args: { ...good, unheard_of: 1 }, names: "unheard_of" },
  { what: "unknown, as REST calls it", args: { ...good, entity_id: "x" }, names: "entity_id" },
  {
    what: "__proto__",
    args: JSON.parse(`{"__proto__":1,${JSON.stringify(good).slice(1)}`.replace(",}", "}")),
    names: "__proto__"
  },
  { what: "a name of 1 MB", args: { ...good, [megabyte]: 1 }, names: "xxx" },
  { what: "a name that is no text", args: { ...good, [`a${lone}${nul}`]: 1 }, names: "known" },
  ...Object.entries(schema.properties).flatMap(
    ([name, property]): ReadonlyArray<Case> => [
      ...wrongFor(property, schema.required.includes(name)).map((value) => ({
        what: JSON.stringify(value),
        args: { ...good, [name]: value },
        names: name
      })),
      ...badTexts.map((value) => ({ what: "bad text", args: { ...good, [name]: value }, names: name })),
      ...(typesOf(property).includes("array")
        ? [[nul], [lone], [megabyte], [null], [{ unheard_of: 1 }], Array.from({ length: 10_000 }, () => "x")].map(
            (value) => ({
              what: "bad items",
              args: { ...good, [name]: value },
              names: name
            })
          )
        : []),
      ...casesOfItems(name, property.items, good)
    ]
  )
]

const isObjectSchema = (schema: unknown): schema is Parameters<typeof casesOf>[0] =>
  isRecord(schema) && isRecord(schema.properties) && Array.isArray(schema.required)

/** Every way in which a member of a list's first item can be wrong. */
const casesOfItems = (name: string, items: unknown, good: Args): ReadonlyArray<Case> => {
  if (!isObjectSchema(items) || !Array.isArray(good[name])) return []
  const [first] = good[name] as ReadonlyArray<Args>
  const withItem = (item: Args) => ({ ...good, [name]: [item] })
  const { properties, required } = items
  return [
    ...required.map((member) => {
      const { [member]: _, ...item } = first ?? {}
      return { what: "missing in an item", args: withItem(item), names: `${name}[0].${member}` }
    }),
    { what: "unknown in an item", args: withItem({ ...first, unheard_of: 1 }), names: `${name}[0].unheard_of` },
    { what: "a name of 1 MB in an item", args: withItem({ ...first, [megabyte]: 1 }), names: `${name}[0].xxx` },
    ...Object.entries(properties).flatMap(([member, inner]) =>
      [...wrongFor(inner, required.includes(member)), ...badTexts].map((value) => ({
        what: `bad ${member}`,
        args: withItem({ ...first, [member]: value }),
        names: `${name}[0].${member}`
      }))
    )
  ]
}

const eras = ["modern", "legacy"] as const
const erasOf = (index: number) => (isLong ? eras : [eras[index % 2 === 0 ? 0 : 1]])

const versionOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql`SELECT version FROM account_state WHERE account_id = ${accountId}`
    return row?.version
  }).pipe(Effect.orDie)

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("arguments", (it) => {
  it.effect(
    "each tool, each argument missing, of a wrong type, unknown, 1 MB long, with U+0000 and lone surrogates: isError that names it",
    () =>
      Effect.gen(function* () {
        const samples = yield* DemoSamples
        const { token } = yield* aConnection(samples.accountId)
        const port = yield* portOf
        // Both eras check arguments with the same code, so each case is sent in one of them, and in the long run in both.
        const cases = tools
          .flatMap(({ input, listed }) =>
            casesOf(input, samples.argsOf(listed.name, 1)).map((each) => ({ ...each, tool: listed.name }))
          )
          .flatMap((each, index) => erasOf(index).map((era) => ({ ...each, era })))
        const before = yield* versionOf(samples.accountId)
        yield* Effect.forEach(
          cases,
          ({ args, era, names, tool, what }) =>
            Effect.gen(function* () {
              const { body, headers } = message(era, "tools/call", { name: tool, arguments: args })
              const answer = yield* send(port, { token, body, headers })
              const about = `${era} ${tool} ${names} ${what.slice(0, 40)}: ${answer.text.slice(0, 300)}`
              assert.strictEqual(answer.status, 200, about)
              const { result } = messageIn(answer)
              assert.isTrue(result?.isError, about)
              assert.include(result.content[0].text, names, about)
              assert.isAtMost(answer.text.length, 10_000, about)
              assert.isUndefined(result.structuredContent)
            }),
          { concurrency: 8, discard: true }
        )
        assert.isAtLeast(cases.length, amount(800, 1_600))
        assert.strictEqual(yield* versionOf(samples.accountId), before)
      })
  )

  it.effect("every refusal says what is allowed, in few words, and ends with the tool to call", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const call = callWith((yield* aConnection(samples.accountId)).token)
      const one = { master_id: samples.product }
      const operation = { ...one, channel_id: samples.channel, field: "title", value: "x" }
      const many = (count: number, value: unknown) => Array.from({ length: count }, () => value)
      for (const [name, args, says] of [
        ["list_products_v1", { status: [] }, "status: must be one of never_published, pending, published, failed."],
        ["list_products_v1", { search: ["a"] }, "search: must be text of at most 200 characters."],
        ["list_products_v1", { collection_id: 7 }, "collection_id: must be a UUID."],
        ["list_products_v1", { fields: [] }, "fields: must be a list of 1 to 50; each item: one of "],
        ["list_products_v1", { fields: many(51, "title") }, "fields: must be a list of 1 to 50; each item: one of "],
        ["list_products_v1", { fields: ["nope"] }, "fields[0]: must be one of master_id, "],
        ["list_products_v1", { "": 1 }, '"": is unknown; allowed here: limit, '],
        ["list_data_health_issues_v1", { section: [] }, "section: must be one of sync-failed, "],
        ["list_data_health_issues_v1", { section: "divergence", locale: ["de"] }, "locale: must be text"],
        ["run_data_health_scan_v1", { dimension: ["sync"] }, "dimension: must be one of sync, "],
        ["list_metafield_definitions_v1", { owner_type: [] }, "owner_type: must be one of product, "],
        [
          "publish_master_v1",
          { ...one, draft_revision: 1, channel_ids: [] },
          "channel_ids: must be a list of 1 to 250;"
        ],
        [
          "update_master_attributes_v1",
          { ...one, draft_revision: 1, attributes: [] },
          "attributes: must be a list of 1 to 250; each item: an object with key, value."
        ],
        [
          "fill_completeness_gaps_v1",
          { master_type: "product", operations: many(501, operation) },
          "operations: must be a list of at most 500; each item: an object with master_id, channel_id, field, value."
        ],
        [
          "fill_completeness_gaps_v1",
          { master_type: "product", operations: many(500, 7) },
          "operations[19]: must be an object with master_id, channel_id, field, value; and 480 more."
        ],
        ["get_master_v1", { ...one, attributes: [megabyte] }, "… is an unknown key of a product."],
        [
          "get_master_v1",
          { ...one, attributes: many(50, "y".repeat(1_000)) },
          "… is an unknown key of a product; attributes: 47 more are unknown."
        ],
        ["get_master_v1", { ...one, attributes: many(51, "title") }, "attributes: must be a list of 1 to 50;"],
        [
          "get_master_v1",
          { ...one, attributes: ["title"], value_offset: 1.5 },
          "value_offset: must be a whole number from"
        ]
      ] as const) {
        const result = yield* call(name, args)
        const text = result.content[0]?.text ?? ""
        const about = `${name}: ${text.slice(0, 300)}`
        assert.isTrue(result.isError, about)
        assert.include(text, says, about)
        assert.notInclude(text, "more than once", about)
        assert.isAtMost(text.length, 4_000, about)
        assert.match(
          text,
          new RegExp(`Nothing was changed\\.( \\w+ gives \\w+\\.)* Correct this and call ${name} again\\.$`),
          about
        )
      }
    })
  )

  it.effect("an unknown tool name: 1 MB long, with U+0000, with lone surrogates, of another type", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      for (const era of eras)
        for (const name of [...badTexts, `list_products_v1${nul}`, "", "__proto__", 7, null, [], {}]) {
          const sent = message(era, "tools/call", { name, arguments: {} })
          // HTTP headers cannot hold these names.
          const { "mcp-name": _, ...headers } = sent.headers as Readonly<Record<string, string>>
          const answer = yield* send(yield* portOf, { token, body: sent.body, headers })
          const about = `${era} ${String(name).slice(0, 40)}: ${answer.text.slice(0, 300)}`
          assert.include([200, 400, 404], answer.status, about)
          const { error, result } = messageIn(answer)
          assert.isUndefined(result, about)
          assert.include(era === "modern" ? [-32_602, -32_020] : [-32_602], error.code, about)
          assert.isAtMost(answer.text.length, 10_000, era)
        }
    })
  )

  it.effect(
    "a method or a protocol revision of 1 MB, with U+0000 or lone surrogates: an error that does not repeat it",
    () =>
      Effect.gen(function* () {
        const samples = yield* DemoSamples
        const { token } = yield* aConnection(samples.accountId)
        for (const era of eras)
          for (const text of badTexts) {
            const { body, headers } = message(era, "tools/list")
            const sent = JSON.parse(body)
            const revision = { ...sent.params._meta, "io.modelcontextprotocol/protocolVersion": text }
            for (const bad of [
              { ...sent, method: text },
              { ...sent, jsonrpc: text },
              { ...sent, params: { ...sent.params, cursor: [text] } },
              { ...sent, params: { _meta: revision } }
            ]) {
              const answer = yield* send(yield* portOf, { token, body: JSON.stringify(bad), headers })
              const about = `${era} ${answer.text.slice(0, 300)}`
              assert.isBelow(answer.status, 500, about)
              assert.notStrictEqual(messageIn(answer).error?.code, -32_603, about)
              if (messageIn(answer).error !== undefined) assert.isAtMost(answer.text.length, 10_000, about)
            }
          }
      })
  )

  it.effect("parameters of tools/list of a wrong type are invalid params, and the error names them", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      for (const era of eras) {
        const answer = yield* send(yield* portOf, { token, ...message(era, "tools/list", { cursor: 7 }) })
        const { error } = messageIn(answer)
        assert.deepStrictEqual(error, {
          code: -32_602,
          message: "Invalid params: params.cursor: Invalid input: expected string, received number",
          data: { code: "validation_failed", request_id: answer.headers["x-request-id"] }
        })
      }
    })
  )

  it.effect("arguments that are not an object, or missing although none is required", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      for (const era of eras) {
        for (const args of ["text", 7, null, [], [1]]) {
          const answer = yield* send(yield* portOf, {
            token,
            ...message(era, "tools/call", { name: "get_master_v1", arguments: args })
          })
          assert.isBelow(answer.status, 500)
          const { error } = messageIn(answer)
          assert.strictEqual(error?.code, -32_602, answer.text)
          assert.match(
            error.message,
            /^Invalid params: params\.arguments: Invalid input: expected record, received \w+$/
          )
        }
        const without = yield* send(yield* portOf, {
          token,
          ...message(era, "tools/call", { name: "list_markets_v1" })
        })
        assert.isUndefined(messageIn(without).result.isError)
        const missing = yield* send(yield* portOf, { token, ...message(era, "tools/call", { name: "get_master_v1" }) })
        assert.include(messageIn(missing).result.content[0].text, "master_id: is missing; it must be a UUID")
      }
    })
  )
})
