import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HealthDimension, HealthSection } from "../../src/health/Health.ts"
import { toolsByName } from "../../src/mcp/Calls.ts"
import { JsonText } from "../../src/model/JsonText.ts"
import { assertDocumented } from "../http/Documented.ts"
import { aKey } from "../http/Fixtures.ts"
import { aConnection, ample, callWith, connectorWith, portOf, send } from "./Connector.ts"
import { DemoSamples } from "./Samples.ts"

type Args = Readonly<Record<string, unknown>>

/** An answer of REST with the names that a tool gives its members. */
const named = (tool: string, text: string) =>
  (toolsByName.get(tool) ?? assert.fail(tool)).encode(new JsonText(text)) as Readonly<Record<string, unknown>>

/** Both surfaces of the demo account. REST's answers are compared with the OpenAPI document. */
const surfaces = Effect.gen(function* () {
  const samples = yield* DemoSamples
  const { token: key } = yield* aKey(samples.accountId, ["pim:read"])
  const { token } = yield* aConnection(samples.accountId)
  const port = yield* portOf
  const get = (target: string) =>
    Effect.map(send(port, { method: "GET", path: `/api/v1${target}`, token: key }), (answer) => {
      assert.strictEqual(answer.status, 200, `${target} ${answer.text}`)
      assertDocumented("GET", `/api/v1${target}`, answer)
      return answer.text
    })
  const call = callWith(token)
  const ask = (tool: string, args: Args) =>
    Effect.map(call(tool, args), ({ content, isError, structuredContent }) => {
      assert.notStrictEqual(isError, true, `${tool} ${JSON.stringify(args)}: ${content[0]?.text}`)
      return structuredContent
    })
  /** All rows of a tool that pages through whole lists, page by page. */
  const rowsOf = (tool: string, args: Args, list: string) =>
    Effect.gen(function* () {
      const rows: Array<Args> = []
      for (let cursor: string | null = null; ; ) {
        const page: Args = yield* ask(tool, { ...args, cursor })
        rows.push(...(page[list] as ReadonlyArray<Args>))
        cursor = page.next_cursor as string | null
        if (cursor === null) return rows
      }
    })
  return { ...samples, ask, call, get, rowsOf }
})

const idsIn = (text: string): ReadonlyArray<string> =>
  JSON.parse(text).data.map(({ id }: { readonly id: string }) => id)

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("a tool and its REST endpoint", (it) => {
  it.effect("give the same pages, and take each other's cursors", () =>
    Effect.gen(function* () {
      const { ask, channel, collection, get } = yield* surfaces
      let pages = 0
      for (const [tool, list, filters, args] of [
        ["list_products_v1", "products", {}, {}],
        ["list_products_v1", "products", { search: "trek" }, { search: "trek" }],
        [
          "list_products_v1",
          "products",
          { store_id: channel, pending: "false" },
          { channel_id: channel, pending: false }
        ],
        ["list_products_v1", "products", { collection_id: collection }, { collection_id: collection }],
        ["list_variants_v1", "variants", { status: "published" }, { status: "published" }],
        ["list_collections_v1", "collections", {}, {}],
        ["list_masters_v1", "media", {}, { master_type: "media" }],
        [
          "list_masters_v1",
          "variants",
          { updated_since: "2000-01-01T00:00:00+02:00" },
          { master_type: "variant", updated_since: "1999-12-31T22:00:00Z" }
        ]
      ] as const)
        for (let cursor: string | null = null; ; pages++) {
          const query: string = new URLSearchParams({
            ...filters,
            limit: "40",
            ...(cursor !== null && { cursor })
          }).toString()
          const text = yield* get(`/${list}?${query}`)
          const page: { readonly next_cursor: string | null } = yield* ask(tool, { ...args, limit: 40, cursor })
          assert.deepStrictEqual<unknown>(page, named(tool, text), `${tool} ${query}`)
          cursor = page.next_cursor
          if (cursor === null) break
        }
      assert.isAtLeast(pages, 10)
    })
  )

  it.effect("give the same records", () =>
    Effect.gen(function* () {
      const { ask, call, channel, drop, get, rowsOf } = yield* surfaces
      for (const kind of ["products", "variants", "collections", "media"]) {
        for (const id of idsIn(yield* get(`/${kind}?limit=12&status=failed`)).concat(
          idsIn(yield* get(`/${kind}?limit=8`))
        )) {
          const master = yield* ask("get_master_v1", { master_id: id })
          const text = yield* get(`/${kind}/${id}`)
          assert.deepStrictEqual(master, named("get_master_v1", text), text)
          const [included] = JSON.parse(yield* get(`/${kind}?include=attributes,stores,relationships&ids=${id}`)).data
          assert.deepStrictEqual(included, JSON.parse(text))
          const versions = JSON.parse(yield* get(`/${kind}/${id}/stores`)).data
          const projections = yield* rowsOf("list_projections_v1", { master_id: id, limit: 2 }, "data")
          assert.strictEqual(projections.length, versions.length)
          for (const [index, version] of versions.entries()) {
            const { attributes, channel_id, ...projection } = projections[index] as {
              readonly attributes: ReadonlyArray<{ readonly key: string }>
              readonly channel_id: string
            }
            const { attributes: values, store_id, ...state } = version
            assert.strictEqual(channel_id, store_id)
            assert.deepInclude(projection, state)
            const drafts = attributes.map(
              ({ live: _, ...draft }: { readonly key: string; readonly live?: string }) => draft
            )
            assert.includeDeepMembers(drafts, values)
            assert.deepStrictEqual(yield* get(`/${kind}/${id}/stores/${store_id}`), JSON.stringify(version))
          }
          if (kind === "products" || kind === "collections") {
            const translated = yield* get(`/${kind}/${id}/translations`)
            const { next_cursor, ...answer } = yield* ask("get_master_translations_v1", { master_id: id, limit: 250 })
            assert.deepStrictEqual({ ...answer, next_cursor }, named("get_master_translations_v1", translated))
          }
          if (kind === "media") continue
          const drops = yield* get(`/${kind}/${id}/drops`)
          const found = yield* rowsOf("list_master_drops_v1", { master_id: id, limit: 1 }, "data")
          assert.deepStrictEqual<unknown>(found, named("list_master_drops_v1", drops).data)
          const [version] = versions
          if (version === undefined) continue
          const sold = yield* call("get_master_sales_channels_v1", { master_id: id, channel_id: version.store_id })
          const channels = yield* get(`/${kind}/${id}/sales-channels?store_id=${version.store_id}`)
          assert.deepStrictEqual(sold.structuredContent, named("get_master_sales_channels_v1", channels))
        }
      }
      for (const [tool, args, target] of [
        ["list_markets_v1", {}, "/markets"],
        ["list_metafield_definitions_v1", {}, "/metafield-definitions"],
        ["list_metafield_definitions_v1", { owner_type: "variant" }, "/metafield-definitions?owner_type=variant"],
        ["list_metaobject_definitions_v1", {}, "/metaobject-definitions"],
        ["list_drops_v1", {}, "/drops"],
        ["list_store_sales_channels_v1", { channel_id: channel }, `/stores/${channel}/sales-channels`]
      ] as const) {
        const rows = named(tool, yield* get(target)).data as ReadonlyArray<unknown>
        assert.deepStrictEqual<unknown>(yield* rowsOf(tool, { ...args, limit: 2 }, "data"), rows, tool)
      }
      for (const id of idsIn(yield* get("/markets")))
        assert.deepStrictEqual(
          yield* ask("get_market_v1", { market_id: id }),
          named("get_market_v1", yield* get(`/markets/${id}`))
        )
      for (const id of idsIn(yield* get("/metaobject-definitions")))
        assert.deepStrictEqual<unknown>(
          yield* rowsOf("list_metaobject_entries_v1", { definition_id: id, limit: 3 }, "data"),
          named("list_metaobject_entries_v1", yield* get(`/metaobject-definitions/${id}/entries`)).data
        )
      const { next_cursor, ...one } = yield* ask("get_drop_v1", { drop_id: drop })
      assert.isNull(next_cursor)
      assert.deepStrictEqual(one, named("get_drop_v1", yield* get(`/drops/${drop}`)))
    })
  )

  it.effect("give the same data health", () =>
    Effect.gen(function* () {
      const { ask, channel, get } = yield* surfaces
      for (const dimension of HealthDimension.literals) yield* ask("run_data_health_scan_v1", { dimension })
      let rows = 0
      for (const [filters, args] of [
        [{}, {}],
        [{ store_id: channel }, { channel_id: channel }]
      ] as const) {
        const overview = JSON.parse(yield* get(`/data-health?${new URLSearchParams(filters)}`))
        const { dimensions } = yield* ask("get_data_health_v1", args)
        for (const [index, { result, ...snapshot }] of overview.dimensions.entries()) {
          const { by_store, ...numbers } = result
          assert.deepInclude(dimensions[index], snapshot)
          assert.deepInclude(dimensions[index].result, numbers)
          assert.deepStrictEqual(
            dimensions[index].result.by_store.map(
              ({
                channel_id: store_id,
                store_domain: _,
                ...counts
              }: {
                readonly channel_id: string
                readonly store_domain: string
              }) => ({
                store_id,
                ...counts
              })
            ),
            by_store
          )
        }
        for (const section of HealthSection.literals)
          for (let page = 1; ; page++) {
            const query = { section, page: String(page), page_size: "20", ...filters }
            const text = yield* get(`/data-health/issues?${new URLSearchParams(query)}`)
            const answer = yield* ask("list_data_health_issues_v1", { section, page, page_size: 20, ...args })
            assert.deepStrictEqual(answer, named("list_data_health_issues_v1", text))
            rows += answer.data.length
            if (!answer.has_next) break
          }
      }
      assert.isAtLeast(rows, 100)
    })
  )
})
