import { randomUUID } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import { Effect, Layer } from "effect"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { tools, toolsByName } from "../../src/mcp/Calls.ts"
import { ImportId } from "../../src/model/Ids.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  DataHealth,
  Drafts,
  definedAs,
  Stores
} from "../../src/testing/index.ts"
import {
  aConnection,
  ample,
  baseUrlOf,
  callWith,
  connectorWith,
  message,
  messageIn,
  portOf,
  type Result,
  send
} from "./Connector.ts"
import { DemoSamples, demoSamples } from "./Samples.ts"
import { allToolNames, toolNames } from "./ToolNames.ts"

const ajv = new Ajv2020({ allErrors: true })
addFormats.default(ajv)
/** For each tool, validators of the output schema in the list and of the complete one. */
const validators = new Map(
  tools.map(({ listed, output }) => [listed.name, [listed.outputSchema, output].map((schema) => ajv.compile(schema))])
)

/** Checks a success: its text and its structured content are equal, and fit the tool's output schema. */
const assertAnswer = (name: string, { _meta, content, isError, structuredContent }: Result) => {
  const [first, ...others] = content
  assert.notStrictEqual(isError, true, `${name}: ${first?.text}`)
  assert.strictEqual(others.length, 0)
  assert.strictEqual(first?.text, JSON.stringify(structuredContent), name)
  assert.isAtMost(first?.text.length ?? 0, 60_000, name)
  for (const validate of validators.get(name) ?? assert.fail(name))
    assert.isTrue(
      validate(structuredContent),
      `${name}: ${JSON.stringify(validate.errors)} ${first?.text.slice(0, 300)}`
    )
  assert.isUndefined(_meta?.error)
}

/** Checks a refusal: it has the error code and no structured content, and names only tools that exist. */
const assertRefusal = (base: string, { _meta, content, isError, structuredContent }: Result, code: string) => {
  const text = content[0]?.text ?? ""
  assert.isTrue(isError, text)
  assert.isUndefined(structuredContent)
  assert.strictEqual(_meta?.[`${base}/error`]?.code, code, text)
  assert.match(_meta?.[`${base}/error`]?.request_id ?? "", /^req_/)
  for (const named of text.match(/\w+_v\d+/g) ?? []) assert.include(allToolNames, named)
  return text
}

/** A fingerprint of all tables except those that count use: when a connection was last used, and its calls. */
const fingerprint = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND relname NOT IN ('oauth_grant', 'oauth_token', 'connection_activity') ORDER BY 1`
  const prints = yield* Effect.forEach(tables, ({ name }) =>
    sql.unsafe(`SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) AS print FROM "${name}" t`)
  )
  assert.isAtLeast(tables.length, 20)
  return prints.map((rows, index) => `${tables[index]?.name} ${JSON.stringify(rows)}`)
})

const unused = "00000000-0000-4000-8000-000000000001"

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("what tools answer", (it) => {
  it.effect(
    "every tool, in both protocols: the result fits its schema, and text and structured content are equal",
    () =>
      Effect.gen(function* () {
        const samples = yield* DemoSamples
        const { token } = yield* aConnection(samples.accountId)
        for (const era of ["modern", "legacy"] as const) {
          const call = callWith(token, era)
          for (const name of allToolNames) {
            const { structuredContent } = yield* call("get_master_v1", { master_id: samples.product })
            const result = yield* call(name, samples.argsOf(name, structuredContent.draft_revision))
            assertAnswer(name, result)
            if (name.startsWith("list_") || name === "get_master_related_v1")
              assert.isAtLeast(JSON.stringify(result.structuredContent).length, 60, `${name} has nothing to show`)
          }
        }
      })
  )

  it.effect(
    "an id that is missing or no id: the message names the tool that gives such ids, and not for an id that is refused otherwise",
    () =>
      Effect.gen(function* () {
        const base = yield* baseUrlOf
        const { accountId } = yield* anAccount()
        const { token } = yield* aConnection(accountId)
        const cases = [
          ["list_masters_v1", { channel_id: "europe" }, "list_masters_v1 gives channel_id."],
          ["get_data_health_v1", { channel_id: "europe" }, "list_masters_v1 gives channel_id."],
          ["list_store_sales_channels_v1", {}, "list_masters_v1 gives channel_id."],
          ["list_products_v1", { collection_id: "sale" }, "list_collections_v1 gives collection_id."],
          [
            "get_projection_v1",
            { channel_id: "europe" },
            "list_masters_v1 gives master_id. get_master_v1 gives channel_id."
          ],
          ["get_drop_v1", { drop_id: "sale" }, "list_drops_v1 gives drop_id."],
          ["get_drop_v1", { drop_id: "sale\u0000" }, "list_drops_v1 gives drop_id."],
          [
            "publish_master_v1",
            { masters: [{ master_id: "tent", draft_revision: 1 }], channel_ids: ["europe"] },
            "list_masters_v1 gives master_id. get_master_v1 gives channel_ids."
          ]
        ] as const
        for (const [name, args, advice] of cases)
          assert.include(
            assertRefusal(base, yield* callWith(token)(name, args), "validation_failed"),
            `Nothing was changed. ${advice} Correct this and call ${name} again.`
          )
        assert.include(
          assertRefusal(
            base,
            yield* callWith(token)("list_masters_v1", { channel_id: "europe", limit: "9" }),
            "validation_failed"
          ),
          "list_masters_v1 gives channel_id. Correct this"
        )
        const tooMany = {
          master_id: randomUUID(),
          draft_revision: 1,
          channel_ids: Array.from({ length: 251 }, () => randomUUID())
        }
        for (const [name, args] of [
          ["list_masters_v1", { limit: "9" }],
          ["publish_master_v1", tooMany]
        ] as const)
          assert.notInclude(assertRefusal(base, yield* callWith(token)(name, args), "validation_failed"), "gives")
      })
  )

  it.effect("an unknown tool: -32602", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const { token } = yield* aConnection(accountId)
      for (const era of ["modern", "legacy"] as const)
        for (const name of ["unheard_of_v1", "", "list_products", "__proto__", "constructor"]) {
          const answer = yield* send(yield* portOf, { token, ...message(era, "tools/call", { name, arguments: {} }) })
          assert.strictEqual(messageIn(answer).error.code, -32_602)
          assert.include([200, 400], answer.status)
        }
    })
  )

  it.effect(
    "not found, conflict, locked, invalid: the message says what failed, for which value, and what to call next",
    () =>
      Effect.gen(function* () {
        const base = yield* baseUrlOf
        const samples = yield* demoSamples
        const { token } = yield* aConnection(samples.accountId)
        const call = callWith(token)
        const absent = assertRefusal(base, yield* call("get_master_v1", { master_id: unused }), "not_found")
        assert.strictEqual(
          absent,
          `Not found: this account has no record with master_id ${unused}. Call list_masters_v1 for ids that exist.`
        )
        const elsewhere = assertRefusal(
          base,
          yield* call("get_projection_v1", { master_id: samples.product, channel_id: unused }),
          "not_found"
        )
        assert.include(elsewhere, `channel_id ${unused}`)
        assert.include(elsewhere, "get_master_v1")
        for (const [name, args, source] of [
          ["get_market_v1", { market_id: unused }, "list_markets_v1"],
          ["get_drop_v1", { drop_id: unused }, "list_drops_v1"],
          ["list_metaobject_entries_v1", { definition_id: unused }, "list_metaobject_definitions_v1"],
          ["list_store_sales_channels_v1", { channel_id: unused }, "list_masters_v1"],
          ["get_data_health_v1", { channel_id: unused }, "list_masters_v1"],
          ["list_products_v1", { collection_id: unused }, "list_collections_v1"],
          [
            "update_projection_attributes_v1",
            {
              master_id: unused,
              channel_id: samples.channel,
              draft_revision: 1,
              attributes: [{ key: "title", value: "x" }]
            },
            "list_masters_v1"
          ]
        ] as const) {
          const text = assertRefusal(base, yield* call(name, args), "not_found")
          assert.include(text, source, name)
        }

        const { structuredContent: master } = yield* call("get_master_v1", { master_id: samples.product })
        const stale = assertRefusal(
          base,
          yield* call("update_master_attributes_v1", {
            master_id: samples.product,
            draft_revision: master.draft_revision - 1,
            attributes: [{ key: "title", value: "x" }]
          }),
          "revision_conflict"
        )
        assert.include(
          stale,
          `draft_revision ${master.draft_revision - 1} is not the current one, which is ${master.draft_revision}`
        )
        assert.include(stale, "Call get_master_v1")

        const misfit = assertRefusal(
          base,
          yield* call("update_master_attributes_v1", {
            master_id: samples.product,
            draft_revision: master.draft_revision,
            attributes: [{ key: "status", value: "sold" }]
          }),
          "validation_failed"
        )
        assert.include(misfit, "attributes.status: must be one of active, draft, archived, unlisted")
        const unknown = assertRefusal(
          base,
          yield* call("update_master_attributes_v1", {
            master_id: samples.product,
            draft_revision: master.draft_revision,
            attributes: [{ key: "de.title", value: "Zelt" }]
          }),
          "validation_failed"
        )
        assert.include(unknown, "attributes.de.title: is an unknown key of a product (did you mean title?)")
        for (const [name, kinds] of [
          ["get_master_translations_v1", "products and collections"],
          ["list_master_drops_v1", "products, variants and collections"]
        ] as const) {
          const text = assertRefusal(base, yield* call(name, { master_id: samples.media }), "validation_failed")
          assert.include(text, kinds)
          assert.include(text, "master_id")
        }

        const unpublished = assertRefusal(
          base,
          yield* call("publish_master_v1", {
            master_id: samples.product,
            draft_revision: master.draft_revision,
            channel_ids: [samples.channel, unused]
          }),
          "not_found"
        )
        assert.include(unpublished, `channel_ids ${samples.channel}, ${unused}`)

        const { structuredContent: waiting } = yield* call("list_variants_v1", { status: "never_published", limit: 1 })
        const [variant] = waiting.data
        const early = assertRefusal(
          base,
          yield* call("publish_master_v1", { master_id: variant.master_id, draft_revision: variant.draft_revision }),
          "validation_failed"
        )
        for (const channel of variant.channel_ids)
          assert.include(early, `channel_ids: ${channel} is refused: its product ${variant.product_id} is not live`)
        assert.notInclude(early, "entity_id")
        assert.notInclude(early, "gives channel_ids")

        yield* (yield* DemoFailures)
          .fail(samples.domain, { kind: "error", percent: 100, delayMillis: 0 })
          .pipe(actingAs({ _tag: "Cli", accountId: samples.accountId }))
        const failed = assertRefusal(
          base,
          yield* call("list_store_sales_channels_v1", { channel_id: samples.channel }),
          "platform_unavailable"
        )
        assert.include(
          failed,
          ` A person can check the store at ${base}/stores. Call list_store_sales_channels_v1 again later.`
        )
        assert.match(failed, /^Failed: .+ again later\.$/)

        yield* (yield* ImportLockRepo).keep(samples.accountId, ImportId.make(unused))
        for (const name of [...toolNames["pim:write"], ...toolNames["pim:publish"]]) {
          if (name === "run_data_health_scan_v1") continue
          const locked = assertRefusal(
            base,
            yield* call(name, samples.argsOf(name, master.draft_revision)),
            "pim_locked"
          )
          assert.strictEqual(
            locked,
            `Locked: an import had locked the account, but it has ended by now. Nothing was changed. Call ${name} again after the import has ended. Tools that read still work.`
          )
        }
      })
  )

  it.effect("read tools change nothing", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      const call = callWith(token)
      const before = yield* fingerprint
      for (const name of toolNames["pim:read"]) {
        const result = yield* call(name, samples.argsOf(name, 1))
        assert.notStrictEqual(result.isError, true, `${name}: ${result.content[0]?.text}`)
      }
      assert.deepStrictEqual(yield* fingerprint, before)
      yield* call("run_data_health_scan_v1", { dimension: "media" })
      assert.notDeepEqual(yield* fingerprint, before)
    })
  )

  it.effect("paging returns every row once; limits are clamped; an invalid limit or cursor is refused", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      const call = callWith(token)
      const walk = (name: string, args: object, lists: ReadonlyArray<string>, key: (row: never) => string) =>
        Effect.gen(function* () {
          const seen: Array<string> = []
          let pages = 0
          for (let cursor: string | undefined; ; pages++) {
            const result = yield* call(name, { ...args, ...(cursor !== undefined && { cursor }) })
            assertAnswer(name, result)
            for (const list of lists) seen.push(...result.structuredContent[list].map(key))
            if (result.structuredContent.next_cursor === null) return { seen, pages: pages + 1 }
            cursor = result.structuredContent.next_cursor
          }
        })
      const byId = ({ master_id }: { master_id: string }) => master_id
      const masters = yield* walk("list_masters_v1", { limit: 40 }, ["data"], byId)
      assert.isAtLeast(masters.pages, 3)
      assert.strictEqual(new Set(masters.seen).size, masters.seen.length)
      const ofKinds = yield* Effect.forEach(["product", "variant", "collection", "media"], (master_type) =>
        walk("list_masters_v1", { limit: 100, master_type }, ["data"], byId)
      )
      assert.sameMembers(
        ofKinds.flatMap(({ seen }) => seen),
        masters.seen
      )
      const all = ["variants", "media", "collections", "products"]
      const related = yield* walk("get_master_related_v1", { master_id: samples.product, limit: 1 }, all, byId)
      const { structuredContent: product } = yield* call("get_master_v1", { master_id: samples.product })
      assert.deepStrictEqual(related.seen, [...product.variant_ids, ...product.media_ids, ...product.collection_ids])
      assert.isAtLeast(related.pages, 3)
      const projections = yield* walk(
        "list_projections_v1",
        { master_id: samples.product, limit: 1 },
        ["data"],
        ({ channel_id }: { channel_id: string }) => channel_id
      )
      assert.deepStrictEqual(
        projections.seen,
        product.channels.map(({ channel_id }: { channel_id: string }) => channel_id)
      )

      const rows = (args: object) =>
        Effect.map(call("list_masters_v1", args), ({ structuredContent }) => structuredContent.data.length)
      assert.strictEqual(yield* rows({}), 50)
      // Also numbers too large to be exact.
      for (const limit of [100_000, 2 ** 53, 1e20, 1e300]) assert.isAbove(yield* rows({ limit }), 100)
      assert.strictEqual(yield* rows({ limit: -1e20 }), 1)
      assert.strictEqual(yield* rows({ limit: -3 }), 1)
      for (const limit of ["25", 2.5, [25], true])
        assert.include(
          assertRefusal(base, yield* call("list_masters_v1", { limit }), "validation_failed"),
          "limit: must be a whole number"
        )
      const { structuredContent: first } = yield* call("list_products_v1", { limit: 1 })
      for (const [name, args] of [
        ["list_products_v1", { cursor: "forged" }],
        ["list_products_v1", { cursor: `${first.next_cursor}x` }],
        ["list_products_v1", { cursor: first.next_cursor, status: "failed" }],
        ["list_variants_v1", { cursor: first.next_cursor }],
        ["list_masters_v1", { cursor: first.next_cursor }],
        ["list_projections_v1", { master_id: samples.product, cursor: first.next_cursor }],
        ["list_markets_v1", { cursor: "forged" }],
        ["get_data_health_v1", { cursor: "forged" }],
        ["get_drop_v1", { drop_id: samples.drop, cursor: "forged" }]
      ] as const)
        assert.include(assertRefusal(base, yield* call(name, args), "validation_failed"), "cursor", name)
    })
  )

  it.effect("a whole list that changes between two pages: rows that stay are returned once", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const domains = ["a.example", "b.example", "c.example", "d.example", "e.example"] as const
      const { accountId, actor, stores } = yield* anAccount({ domains })
      const [a, b, c, d, e] = stores
      const product = yield* anEntity("product", { title: "Tent" }, { on: [b, c, d, e] }).pipe(actingAs(actor))
      const call = callWith((yield* aConnection(accountId)).token)
      const { addStoreVersion, removeStoreVersion } = yield* Drafts
      const next = (cursor: string | null) =>
        Effect.map(call("list_projections_v1", { master_id: product, limit: 1, cursor }), (result) => {
          assertAnswer("list_projections_v1", result)
          const { data, next_cursor } = result.structuredContent
          return [data.map(({ store_domain }: { readonly store_domain: string }) => store_domain).join(), next_cursor]
        })
      const [first, afterFirst] = yield* next(null)
      assert.strictEqual(first, b.domain)
      yield* addStoreVersion(product, a.id).pipe(actingAs(actor))
      const [second, afterSecond] = yield* next(afterFirst)
      assert.strictEqual(second, c.domain)
      for (const { id } of [a, b]) yield* removeStoreVersion(product, id).pipe(actingAs(actor))
      const [third, afterThird] = yield* next(afterSecond)
      assert.strictEqual(third, d.domain)
      // The last row that was returned is gone.
      yield* removeStoreVersion(product, d.id).pipe(actingAs(actor))
      assert.deepStrictEqual(yield* next(afterThird), [e.domain, null])
      for (const cursor of [`${afterFirst}x`, afterFirst.slice(0, -1), afterFirst.slice(0, 32), "x".repeat(44), ""])
        assert.match(
          assertRefusal(
            base,
            yield* call("list_projections_v1", { master_id: product, limit: 1, cursor }),
            "validation_failed"
          ),
          /^Invalid: cursor: is not a cursor that this tool returned for these arguments;/
        )
    })
  )

  it.effect(
    "fields: selects members of rows and keys of attributes; a long value is cut and listed, and whole on request",
    () =>
      Effect.gen(function* () {
        const base = yield* baseUrlOf
        const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
        const long = `<p>${"ä".repeat(30_000)}</p>`
        const product = yield* anEntity(
          "product",
          { title: "Boots", description_html: long, "care.washing": "by hand" },
          { on: stores }
        ).pipe(actingAs(actor))
        const { token } = yield* aConnection(accountId)
        const call = callWith(token)
        const rows = yield* call("list_products_v1", { fields: ["title"] })
        assert.deepStrictEqual(rows.structuredContent.data, [{ master_id: product, title: "Boots" }])
        assertAnswer("list_products_v1", rows)
        assert.include(
          assertRefusal(base, yield* call("list_products_v1", { fields: ["titel"] }), "validation_failed"),
          "fields[0]: must be one of master_id, master_type, title"
        )

        const valueOf = ({ attributes }: { attributes: ReadonlyArray<{ key: string; value: string }> }, key: string) =>
          attributes.find((each) => each.key === key)?.value
        const whole = yield* call("get_master_v1", { master_id: product })
        assertAnswer("get_master_v1", whole)
        assert.strictEqual(valueOf(whole.structuredContent, "description_html"), long.slice(0, 4_000))
        assert.deepStrictEqual(whole.structuredContent.truncated_keys, ["description_html"])
        const asked = yield* call("get_master_v1", { master_id: product, attributes: ["description_html"] })
        assertAnswer("get_master_v1", asked)
        assert.deepStrictEqual(asked.structuredContent.attributes, [
          { key: "description_html", value: long, type: "html" }
        ])
        assert.isUndefined(asked.structuredContent.truncated_keys)
        const projections = yield* call("list_projections_v1", {
          master_id: product,
          attributes: ["description_html", "care.washing"]
        })
        assertAnswer("list_projections_v1", projections)
        assert.strictEqual(projections.structuredContent.data.length, 1)
        assert.isString(projections.structuredContent.next_cursor)
        assert.include(
          assertRefusal(
            base,
            yield* call("get_master_v1", { master_id: product, attributes: ["handel"] }),
            "validation_failed"
          ),
          "attributes: handel is an unknown key of a product (did you mean handle?)"
        )
        const next = yield* call("list_projections_v1", {
          master_id: product,
          attributes: ["description_html", "care.washing"],
          cursor: projections.structuredContent.next_cursor
        })
        assert.deepStrictEqual(
          [projections, next].map(({ structuredContent }) => structuredContent.data[0].channel_id),
          stores.map(({ id }) => id)
        )
      })
  )

  it.effect("unset keys are listed; undefined keys are refused with similar keys and the kinds that have them", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
      const { product, variant } = yield* Effect.gen(function* () {
        yield* definedAs("product", { "care.washing": "single_line_text_field" })
        yield* definedAs("variant", { "care.size": "single_line_text_field" })
        const product = yield* anEntity("product", { title: "Boots" }, { on: stores })
        return { product, variant: yield* anEntity("variant", { sku: "B-1" }, { on: stores, of: product }) }
      }).pipe(actingAs(actor))
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const one = { master_id: product }
      const channel = { channel_id: stores[0].id }
      for (const [name, args, list] of [
        ["get_master_v1", one, undefined],
        ["get_projection_v1", { ...one, ...channel }, undefined],
        ["get_master_with_projections_v1", one, "projections"],
        ["list_projections_v1", one, "data"]
      ] as const) {
        const unset = yield* call(name, { ...args, attributes: ["care.washing", "title"] })
        assertAnswer(name, unset)
        assert.deepStrictEqual(unset.structuredContent.unset_keys, ["care.washing"], name)
        const [row] = list === undefined ? [unset.structuredContent] : unset.structuredContent[list]
        assert.deepStrictEqual(
          row.attributes.map(({ key }: { key: string }) => key),
          ["title"]
        )
        // The form that clients of earlier versions send.
        const before = yield* call(name, { ...args, fields: ["title"] })
        assert.notStrictEqual(before.isError, true, before.content[0]?.text)
        for (const [key, problem] of [
          ["price", "price is a key of a variant, not of a product"],
          ["care.size", "care.size is a key of a variant, not of a product"],
          ["care.washin", "care.washin is an unknown key of a product (did you mean care.washing?)"],
          ["", '"" is an unknown key of a product']
        ] as const)
          assert.strictEqual(
            assertRefusal(base, yield* call(name, { ...args, attributes: ["title", key] }), "validation_failed"),
            `Invalid: attributes: ${problem}. Nothing was changed. Correct this and call ${name} again.`
          )
      }
      assert.strictEqual(
        assertRefusal(
          base,
          yield* call("get_master_v1", { master_id: variant, attributes: ["a", "b", "vendor", "c", "d"] }),
          "validation_failed"
        ),
        "Invalid: attributes: a is an unknown key of a variant; attributes: b is an unknown key of a variant; attributes: vendor is a key of a product, not of a variant; attributes: 2 more are unknown. Nothing was changed. Correct this and call get_master_v1 again."
      )
    })
  )

  it.effect("a value of 100,000 characters, which may be written, can be read in parts", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
      const product = yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const args = { master_id: product, attributes: ["description_html"] }
      const channel = { channel_id: stores[0].id }
      for (const text of [
        `<p>${"ä".repeat(99_990)}</p>`,
        `<p>${'"'.repeat(99_990)}</p>`,
        `<p>x${"👟".repeat(49_990)}</p>`
      ]) {
        const { structuredContent: master } = yield* call("get_master_v1", { master_id: product })
        const written = yield* call("update_master_attributes_v1", {
          master_id: product,
          draft_revision: master.draft_revision,
          attributes: [{ key: "description_html", value: text }]
        })
        assert.notStrictEqual(written.isError, true, written.content[0]?.text)
        for (const [name, more] of [
          ["get_master_v1", {}],
          ["get_projection_v1", channel]
        ] as const) {
          const parts: Array<string> = []
          for (let offset: number | undefined = 0; offset !== undefined; ) {
            const part: Result = yield* call(name, { ...args, ...more, ...(offset > 0 && { value_offset: offset }) })
            assertAnswer(name, part)
            const [{ value }] = part.structuredContent.attributes
            assert.isTrue(value.isWellFormed())
            parts.push(value)
            offset = part.structuredContent.next_value_offset
          }
          assert.isAtLeast(parts.length, 2)
          assert.strictEqual(parts.join(""), text)
        }
      }
      for (const attributes of [undefined, ["title", "handle"]])
        assert.strictEqual(
          assertRefusal(
            base,
            yield* call("get_master_v1", {
              master_id: product,
              value_offset: 5,
              ...(attributes !== undefined && { attributes })
            }),
            "validation_failed"
          ),
          "Invalid: value_offset: needs exactly one key in `attributes`. Nothing was changed. Correct this and call get_master_v1 again."
        )
      assert.strictEqual(
        assertRefusal(base, yield* call("get_master_v1", { ...args, value_offset: -1 }), "validation_failed"),
        "Invalid: value_offset: must be a whole number from 0 to 10000000. Nothing was changed. Correct this and call get_master_v1 again."
      )
      const behind = yield* call("get_master_v1", { ...args, value_offset: 9_000_000 })
      assertAnswer("get_master_v1", behind)
      assert.strictEqual(behind.structuredContent.attributes[0].value, "")
    })
  )

  it.effect("a page of long rows is cut between rows, and its cursor continues there", () =>
    Effect.gen(function* () {
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"] })
      yield* Effect.gen(function* () {
        const changes = yield* CatalogChanges
        for (let index = 0; index < 60; index++)
          yield* changes.apply([
            CatalogChange.CreateEntity({
              id: `00000000-0000-4000-9000-${String(index).padStart(12, "0")}` as never,
              kind: "product",
              parentId: null,
              values: { title: `${index} ${"x".repeat(3_000)}` }
            })
          ])
      }).pipe(actingAs(actor))
      assert.strictEqual(stores.length, 1)
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const seen: Array<string> = []
      let pages = 0
      for (let cursor: string | null | undefined; cursor !== null; pages++) {
        const result = yield* call("list_products_v1", { limit: 100, ...(cursor !== undefined && { cursor }) })
        assertAnswer("list_products_v1", result)
        seen.push(...result.structuredContent.data.map(({ title }: { title: string }) => title.split(" ")[0]))
        cursor = result.structuredContent.next_cursor
      }
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 60 }, (_, index) => String(index))
      )
      assert.isAtLeast(pages, 4)
    })
  )

  it.effect("a batch of 500 operations returns 500 results that fit the schema and the size limit", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      const call = callWith(token)
      const operations = Array.from({ length: 500 }, (_, index) => ({
        master_id: index % 2 === 0 ? samples.product : unused,
        channel_id: samples.channel,
        field: index % 3 === 0 ? "seo_title" : `unknown field ${"x".repeat(200)}`,
        value: "v"
      }))
      const filled = yield* call("fill_completeness_gaps_v1", { master_type: "product", operations })
      assert.notStrictEqual(filled.isError, true, filled.content[0]?.text)
      assert.strictEqual(filled.structuredContent.results.length, 500)
      assert.isAtMost(filled.content[0]?.text.length ?? 0, 160_000)
      for (const result of filled.structuredContent.results)
        if (result.ok) assert.hasAllKeys(result, ["master_id", "channel_id", "field", "ok", "filled", "draft_revision"])
        else assert.isAtMost(result.error.message.length, 120)
      const reconciled = yield* call("reconcile_value_divergence_v1", {
        master_type: "product",
        operations: operations.map(({ master_id }) => ({ master_id, field: "title", value: "v" }))
      })
      assert.strictEqual(reconciled.structuredContent.results.length, 500)
      assert.isAtMost(reconciled.content[0]?.text.length ?? 0, 160_000)
      for (const result of reconciled.structuredContent.results)
        if (result.ok)
          assert.hasAllKeys(result, [
            "master_id",
            "channel_id",
            "ok",
            "draft_revision",
            ...("unchanged" in result ? ["unchanged"] : [])
          ])
      const over = yield* call("fill_completeness_gaps_v1", {
        master_type: "product",
        operations: [...operations, operations[0]]
      })
      assert.isTrue(over.isError)
      assert.include(over.content[0]?.text, "operations")
    })
  )

  it.effect(
    "issues: at most 100 rows a page, short values, at most 40 fields a row, optionally of one field only",
    () =>
      Effect.gen(function* () {
        const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
        yield* Effect.gen(function* () {
          const changes = yield* CatalogChanges
          const ids = yield* Effect.forEach(Array.from({ length: 120 }), () =>
            anEntity("product", { title: "Boots" }, { on: stores })
          )
          yield* changes.apply(
            ids.flatMap((id, index) => [
              CatalogChange.SetOverrides({
                entityId: id,
                storeId: stores[0].id,
                values: Object.fromEntries(Array.from({ length: 50 }, (_, field) => [`long.key${field}`, "x"]))
              }),
              ...(index % 20 === 0
                ? [
                    CatalogChange.SetOverrides({
                      entityId: id,
                      storeId: stores[0].id,
                      values: { vendor: `${index} ${"v".repeat(100)}` }
                    })
                  ]
                : [])
            ])
          )
        }).pipe(actingAs(actor))
        const { token } = yield* aConnection(accountId)
        const call = callWith(token)
        assertAnswer("run_data_health_scan_v1", yield* call("run_data_health_scan_v1", { dimension: "divergence" }))
        const list = (args: object) =>
          Effect.tap(call("list_data_health_issues_v1", { section: "divergence", ...args }), (page) =>
            assertAnswer("list_data_health_issues_v1", page)
          )
        const page = yield* list({ page_size: 300 })
        const { compared, data, has_next } = page.structuredContent
        assert.strictEqual(compared, 120)
        assert.strictEqual(data.length, 100)
        assert.isTrue(has_next)
        for (const row of data) {
          assert.isAtMost(row.fields.length, 40)
          assert.deepInclude(row, { channel_id: stores[0].id, store_domain: "a.example" })
        }
        assert.strictEqual((yield* list({})).structuredContent.data.length, 25)

        // Six of the 120 rows concern the vendor: they are one page, with shortened values.
        const ofVendor = (yield* list({ field: "vendor" })).structuredContent
        assert.strictEqual(ofVendor.data.length, 6)
        assert.isFalse(ofVendor.has_next)
        for (const row of ofVendor.data) {
          assert.include(row.fields, "vendor")
          const [{ value }] = row.values.filter(({ field }: { field: string }) => field === "vendor")
          assert.match(value, /^\d+ v{55,57}…$/)
          assert.strictEqual(value.length, 60)
        }
        const second = (yield* list({ field: "vendor", page_size: 4, page: 2 })).structuredContent
        assert.deepStrictEqual(second.data, ofVendor.data.slice(4))
        const base = yield* baseUrlOf
        const refusedField = assertRefusal(
          base,
          yield* call("list_data_health_issues_v1", { section: "divergence", field: "vendro" }),
          "validation_failed"
        )
        assert.match(
          refusedField,
          /^Invalid: field: must be a metafield's namespace\.key or one of title, handle, .*, members\. /
        )
        assert.strictEqual(
          assertRefusal(
            base,
            yield* call("list_data_health_issues_v1", { section: "media-unused", field: "alt" }),
            "validation_failed"
          ),
          "Invalid: field: rows of media-unused have no fields. Nothing was changed. Correct this and call list_data_health_issues_v1 again."
        )
      })
  )

  it.effect("a fill without channel_id fills the master; duplicate SKUs are listed as masters", () =>
    Effect.gen(function* () {
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
      const product = yield* anEntity("product", { title: "Boots" }, { on: stores }).pipe(actingAs(actor))
      const variants = yield* Effect.replicateEffect(
        anEntity("variant", { title: "42", sku: "B-42" }, { of: product, on: [stores[0]] }),
        6
      ).pipe(actingAs(actor))
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const filled = yield* call("fill_completeness_gaps_v1", {
        master_type: "product",
        operations: [{ master_id: product, field: "vendor", value: "Fell" }]
      })
      assertAnswer("fill_completeness_gaps_v1", filled)
      assert.deepStrictEqual(filled.structuredContent, {
        filled: 1,
        results: [
          {
            master_id: product,
            channel_id: null,
            field: "vendor",
            ok: true,
            filled: true,
            draft_revision: filled.structuredContent.results[0].draft_revision
          }
        ]
      })
      const master = yield* call("get_master_v1", { master_id: product })
      // The revision that a publish needs is returned.
      assert.strictEqual(filled.structuredContent.results[0].draft_revision, master.structuredContent.draft_revision)
      assert.include(JSON.stringify(master.structuredContent), '"Fell"')
      yield* call("run_data_health_scan_v1", { dimension: "structure" })
      const page = yield* call("list_data_health_issues_v1", { section: "structure-duplicate-sku" })
      assertAnswer("list_data_health_issues_v1", page)
      const [first, ...others] = [...variants].sort()
      assert.lengthOf(page.structuredContent.data, 6)
      assert.deepInclude(page.structuredContent.data[0], {
        master_id: first,
        sku: "B-42",
        product_id: product,
        product_title: "Boots",
        duplicates_count: 5,
        duplicates: others.map((master_id) => ({ master_id }))
      })
    })
  )

  it.effect("results of data health name their channels by id and domain", () =>
    Effect.gen(function* () {
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
      yield* anEntity("product", { title: "Boots" }, { on: [stores[0]] }).pipe(actingAs(actor))
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const scan = yield* call("run_data_health_scan_v1", { dimension: "completeness" })
      assertAnswer("run_data_health_scan_v1", scan)
      const by_store = [
        { channel_id: stores[0].id, store_domain: "a.example", checked: 1, affected: 1 },
        { channel_id: stores[1].id, store_domain: "b.example", checked: 0, affected: 0 }
      ]
      assert.deepStrictEqual(scan.structuredContent.result.by_store, by_store)
      const overview = yield* call("get_data_health_v1")
      assertAnswer("get_data_health_v1", overview)
      const [sync, completeness] = overview.structuredContent.dimensions
      assert.deepStrictEqual(sync, { dimension: "sync", scanned: false })
      assert.deepStrictEqual(completeness, scan.structuredContent)
      const ofOne = yield* call("get_data_health_v1", { channel_id: stores[0].id })
      assert.deepStrictEqual(ofOne.structuredContent.dimensions[1].result.by_store, by_store.slice(0, 1))
      // REST keeps its own names.
      const rest = JSON.parse((yield* (yield* DataHealth).overview().pipe(actingAs(actor))).text)
      assert.deepStrictEqual(rest.dimensions[1].result.by_store[0], { store_id: stores[0].id, checked: 1, affected: 1 })
    })
  )

  it.effect("an unknown language is refused, and the refusal names those of the account", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const { accountId, actor } = yield* anAccount({ domains: ["a.example"] })
      yield* (yield* Stores).link({ domain: "b.example", primaryLocale: "zh-CN" }).pipe(actingAs(actor), Effect.orDie)
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const section = "translations-untranslated"
      for (const locale of ["German", "de", "EN"])
        assert.strictEqual(
          assertRefusal(base, yield* call("list_data_health_issues_v1", { section, locale }), "validation_failed"),
          "Invalid: locale: must be one of en, zh-CN: the languages of the account's stores. Nothing was changed. Correct this and call list_data_health_issues_v1 again."
        )
      for (const args of [
        { section, locale: "zh-CN" },
        { section: "divergence", locale: "German" }
      ])
        assertAnswer("list_data_health_issues_v1", yield* call("list_data_health_issues_v1", args))
      const { token: empty } = yield* aConnection((yield* anAccount()).accountId)
      assert.include(
        assertRefusal(
          base,
          yield* callWith(empty)("list_data_health_issues_v1", { section, locale: "de" }),
          "validation_failed"
        ),
        "locale: is not a language of a store: the account has no linked store"
      )
      assert.include(toolsByName.get("get_master_translations_v1")?.listed.description, "no other tool does")
    })
  )

  it.effect("null for an optional argument means that it is absent, in every tool", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      const call = callWith(token)
      let nulls = 0
      for (const { input, listed } of toolsByName.values()) {
        const { structuredContent } = yield* call("get_master_v1", { master_id: samples.product })
        const args = samples.argsOf(listed.name, structuredContent.draft_revision)
        const absent = Object.keys(listed.inputSchema.properties).filter((name) => !Object.hasOwn(args, name))
        for (const name of absent) assert.notInclude(input.required, name)
        nulls += absent.length
        const result = yield* call(listed.name, {
          ...args,
          ...Object.fromEntries(absent.map((name) => [name, null]))
        })
        assertAnswer(listed.name, result)
      }
      assert.isAtLeast(nulls, 40)
      const base = yield* baseUrlOf
      // Null is not allowed for a required argument, and an unknown argument is refused even if it is null.
      assert.include(
        assertRefusal(base, yield* call("get_master_v1", { master_id: null }), "validation_failed"),
        "master_id: must be a UUID"
      )
      assert.include(
        assertRefusal(base, yield* call("list_products_v1", { colour: null }), "validation_failed"),
        "colour: is unknown; allowed here: "
      )
      // The same for operations; where null is a valid value, it is written.
      const filled = yield* call("fill_completeness_gaps_v1", {
        master_type: "product",
        operations: [{ master_id: samples.product, channel_id: null, field: "vendor", value: "Fell" }]
      })
      assertAnswer("fill_completeness_gaps_v1", filled)
      const { structuredContent: master } = yield* call("get_master_v1", { master_id: samples.product })
      yield* call("update_master_attributes_v1", {
        master_id: samples.product,
        draft_revision: master.draft_revision,
        attributes: [{ key: "seo_title", value: null }]
      })
      const emptied = yield* call("get_master_v1", { master_id: samples.product, fields: ["seo_title"] })
      assert.strictEqual(emptied.structuredContent.attributes[0].value, "")
    })
  )

  it.effect("a master that is not on the channel: the refusal says so, and `add_to_channel` adds it", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example", "c.example"] })
      const theirs = yield* anAccount({ domains: ["theirs.example"] })
      const [a, b, c] = stores
      const on = { on: [a, b] }
      const product = yield* anEntity("product", { title: "Tent" }, on).pipe(actingAs(actor))
      const variant = yield* anEntity("variant", { sku: "T-1" }, { of: product, on: [a, b] }).pipe(actingAs(actor))
      const nowhere = yield* anEntity("collection", { title: "New" }).pipe(actingAs(actor))
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const there = { master_id: product, channel_id: c.id }
      const { structuredContent: before } = yield* call("get_master_v1", { master_id: product })
      const attributes = [{ key: "title", value: "Zelt" }]
      const update = { ...there, draft_revision: before.draft_revision, attributes }
      const publish = { master_id: product, draft_revision: before.draft_revision, channel_ids: [a.id, c.id] }
      const told =
        `Not found: master ${product} is not on channel ${c.id} (c.example); its channels are ${a.id} (a.example), ${b.id} (b.example). ` +
        "Nothing was changed. update_projection_attributes_v1 with add_to_channel true adds it there, as a draft."
      for (const [name, args] of [
        ["get_projection_v1", there],
        ["get_master_sales_channels_v1", there],
        ["update_projection_attributes_v1", update],
        ["update_projection_attributes_v1", { ...update, add_to_channel: false }],
        ["publish_master_v1", publish]
      ] as const)
        assert.strictEqual(assertRefusal(base, yield* call(name, args), "not_found"), told, name)
      assert.strictEqual(
        assertRefusal(base, yield* call("get_projection_v1", { ...there, master_id: nowhere }), "not_found"),
        `Not found: master ${nowhere} is not on channel ${c.id} (c.example); it is on no channel. ` +
          "Nothing was changed. update_projection_attributes_v1 with add_to_channel true adds it there, as a draft."
      )
      // A batch says it for each operation.
      const batches = [
        yield* call("fill_completeness_gaps_v1", {
          master_type: "product",
          operations: [
            { ...there, field: "vendor", value: "v" },
            { ...there, master_id: unused, field: "vendor", value: "v" },
            { ...there, channel_id: unused, field: "vendor", value: "v" }
          ]
        }),
        yield* call("reconcile_value_divergence_v1", {
          master_type: "product",
          operations: [
            { master_id: product, field: "vendor", winner_channel_id: c.id },
            { master_id: unused, field: "vendor", winner_channel_id: c.id },
            { master_id: product, field: "vendor", winner_channel_id: unused }
          ]
        })
      ]
      for (const { structuredContent } of batches)
        assert.deepStrictEqual(
          structuredContent.results.map(({ error }: { readonly error: unknown }) => error),
          [
            "The product is not on c.example.",
            `This account has no product with the id ${unused}.`,
            `This account has no linked store with the id ${unused}.`
          ].map((message) => ({ code: "not_found", message }))
        )
      // For ids that the account does not have, the refusal names no channel.
      for (const [master_id, channel_id] of [
        [unused, c.id],
        [product, unused],
        [product, theirs.stores[0].id]
      ])
        for (const [name, args] of [
          ["get_projection_v1", { master_id, channel_id }],
          ["get_master_sales_channels_v1", { master_id, channel_id }],
          ["update_projection_attributes_v1", { ...update, master_id, channel_id, add_to_channel: true }]
        ] as const)
          assert.strictEqual(
            assertRefusal(base, yield* call(name, args), "not_found"),
            `Not found: this account has no record with master_id ${master_id} and channel_id ${channel_id}. Call list_masters_v1 or get_master_v1 for ids that exist.`
          )

      const first = assertRefusal(
        base,
        yield* call("update_projection_attributes_v1", {
          master_id: variant,
          channel_id: c.id,
          draft_revision: 1,
          attributes: [{ key: "price", value: "5.00" }],
          add_to_channel: true
        }),
        "validation_failed"
      )
      assert.strictEqual(
        first,
        `Invalid: channel_id: the variant's product ${product} is not on this channel: add the product first. Nothing was changed. Correct this and call update_projection_attributes_v1 again.`
      )
      assert.include(
        assertRefusal(
          base,
          yield* call("update_projection_attributes_v1", {
            ...update,
            draft_revision: before.draft_revision - 1,
            add_to_channel: true
          }),
          "revision_conflict"
        ),
        "Nothing was changed."
      )
      const { token: reader } = yield* aConnection(accountId, "pim:read")
      const refused = yield* send(yield* portOf, {
        token: reader,
        ...message("modern", "tools/call", {
          name: "update_projection_attributes_v1",
          arguments: { ...update, add_to_channel: true }
        })
      })
      assert.strictEqual(refused.status, 403)
      assert.deepStrictEqual((yield* call("get_master_v1", { master_id: product })).structuredContent, before)

      const added = yield* call("update_projection_attributes_v1", { ...update, add_to_channel: true })
      assertAnswer("update_projection_attributes_v1", added)
      assert.strictEqual(added.structuredContent.draft_revision, before.draft_revision + 1)
      assert.deepStrictEqual(
        added.structuredContent.channels,
        [a, b, c].map(({ id }) => ({ channel_id: id, pending_publish: true }))
      )
      const projection = yield* call("get_projection_v1", there)
      assertAnswer("get_projection_v1", projection)
      assert.include(JSON.stringify(projection.structuredContent), '"Zelt"')
      assertAnswer("get_projection_v1", yield* call("get_projection_v1", { ...there, master_id: variant }))
      const entries = yield* (yield* Drafts).history(product, 2).pipe(actingAs(actor))
      assert.deepStrictEqual(
        entries.map(({ action, actor, store_id }) => [action, actor.kind, store_id]),
        [
          ["attributes", "connection", c.id],
          ["added_to_store", "connection", c.id]
        ]
      )
    })
  )

  it.effect("lists by channel and by pending drafts", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
      const [a, b] = stores
      yield* Effect.gen(function* () {
        const live = yield* anEntity("product", { title: "live on a" }, { on: [a, b] })
        yield* anEntity("product", { title: "new on a" }, { on: [a] })
        yield* anEntity("collection", { title: "new on b" }, { on: [b] })
        yield* (yield* CatalogChanges).apply([CatalogChange.AcceptPublish({ entityId: live, storeId: a.id })])
      }).pipe(actingAs(actor))
      const { token } = yield* aConnection(accountId)
      const call = callWith(token)
      const titles = (name: string, args: object) =>
        Effect.map(call(name, args), (result) => {
          assertAnswer(name, result)
          return result.structuredContent.data.map(({ title }: { title: string }) => title)
        })
      const cases = [
        ["list_masters_v1", { channel_id: b.id }, ["live on a", "new on b"]],
        ["list_masters_v1", { pending: true }, ["live on a", "new on a", "new on b"]],
        ["list_masters_v1", { channel_id: a.id, pending: true }, ["new on a"]],
        ["list_masters_v1", { channel_id: a.id, pending: false }, ["live on a"]],
        ["list_products_v1", { channel_id: a.id, status: "published" }, ["live on a"]],
        ["list_products_v1", { channel_id: b.id, status: "published" }, []],
        ["list_collections_v1", { channel_id: b.id, pending: true }, ["new on b"]],
        ["list_variants_v1", { channel_id: b.id.toUpperCase() }, []]
      ] as const
      for (const [name, args, found] of cases) assert.deepStrictEqual(yield* titles(name, args), found)
      for (const name of ["list_products_v1", "list_masters_v1", "list_variants_v1", "list_collections_v1"]) {
        assert.strictEqual(
          assertRefusal(base, yield* call(name, { channel_id: unused }), "not_found"),
          `Not found: this account has no record with channel_id ${unused}. Call list_masters_v1 for ids that exist.`
        )
        assert.include(
          assertRefusal(base, yield* call(name, { pending: "true" }), "validation_failed"),
          "pending: must be true or false"
        )
      }
    })
  )

  it.effect("ids of another account are refused like unknown ids", () =>
    Effect.gen(function* () {
      const ours = yield* DemoSamples
      const theirs = yield* demoSamples
      const { token } = yield* aConnection(ours.accountId)
      const call = callWith(token)
      const forget = (text: string, id: string) => text.replaceAll(id, "ID")
      for (const { listed } of toolsByName.values()) {
        const args = theirs.argsOf(listed.name, 1)
        const ids = Object.entries(args).filter(([name]) => name.endsWith("_id"))
        if (ids.length === 0) continue
        const unknown = Object.fromEntries(Object.keys(Object.fromEntries(ids)).map((name) => [name, unused]))
        const foreign = yield* call(listed.name, args)
        const absent = yield* call(listed.name, { ...args, ...unknown })
        assert.isTrue(foreign.isError, listed.name)
        const text = ids.reduce((text, [, id]) => forget(text, String(id)), foreign.content[0]?.text ?? "")
        assert.strictEqual(text, forget(absent.content[0]?.text ?? "", unused), listed.name)
      }
    })
  )
})
