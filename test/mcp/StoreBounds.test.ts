import { randomUUID } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { pageOf, paths } from "../../src/console/Paths.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { tools } from "../../src/mcp/Calls.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
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
import { DemoSamples } from "./Samples.ts"
import { connected, sdks, withToken } from "./SdkClients.ts"
import { allToolNames } from "./ToolNames.ts"

/** A text that the tests write into records of every store except the connection's own: no result may contain it. */
const marker = "Zzforeign"

/** Adds the marker to all records of other stores. */
const plant = (accountId: string, own: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const foreign = sql`account_id = ${accountId} AND store_id <> ${own}`
    yield* sql`UPDATE market_store SET name = ${marker} || name WHERE ${foreign}`
    yield* sql`UPDATE market_catalog SET title = ${marker} || title WHERE ${foreign}`
    yield* sql`UPDATE metaobject_entry SET display_name = ${marker} || display_name WHERE ${foreign}`
    yield* sql`UPDATE translatable_field SET source_value = ${marker} || source_value WHERE ${foreign}`
    yield* sql`UPDATE translation SET value = ${marker} || value WHERE ${foreign}`
    yield* sql`
      UPDATE store_version SET
        overrides = overrides || jsonb_build_object('seo_title', jsonb_build_object('value', ${marker}::text, 'type', 'single_line_text_field')),
        last_publish_error = jsonb_build_object('code', 'refused', 'message', ${marker}::text)
      WHERE ${foreign}`
    yield* sql`UPDATE store SET name = ${marker} || name WHERE account_id = ${accountId} AND id <> ${own}`
  })

const draftRevision = (token: string, master: string) =>
  Effect.map(callWith(token)("get_master_v1", { master_id: master }), ({ structuredContent }) =>
    Number(structuredContent.draft_revision)
  )

/**
 * A connection limited to the samples' first channel, one to all stores, and the records that the limited one must not
 * see.
 */
const bounded = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const samples = yield* DemoSamples
  const stores = yield* sql<{ id: string; domain: string }>`
    SELECT id, domain FROM store WHERE account_id = ${samples.accountId} AND id <> ${samples.channel} ORDER BY domain`
  const whole = yield* aConnection(samples.accountId)
  const limited = yield* aConnection(samples.accountId, "pim:publish", { stores: [samples.channel] })
  const masters = yield* sql<{ id: string; kind: string }>`
    SELECT id, kind FROM entity
    WHERE account_id = ${samples.accountId} AND store_ids <> '{}' AND NOT store_ids @> ARRAY[${samples.channel}::uuid]
    ORDER BY kind, id`
  assert.isAbove(stores.length, 0)
  assert.isAbove(masters.length, 0)
  const foreignStore = stores.find(({ id }) => id !== samples.channel) ?? assert.fail("one store only")
  return { samples, stores, masters, foreignStore, whole: whole.token, limited: limited.token }
})

type Args = Readonly<Record<string, unknown>>

/** Arguments that name a channel, for each tool; the test chooses the channel and the master. */
const naming: Readonly<Record<string, (channel: string, master: string, revision: number) => Args>> = {
  list_masters_v1: (channel_id) => ({ channel_id, pending: true }),
  list_products_v1: (channel_id) => ({ channel_id }),
  list_variants_v1: (channel_id) => ({ channel_id }),
  list_collections_v1: (channel_id) => ({ channel_id, status: "published" }),
  get_projection_v1: (channel_id, master_id) => ({ master_id, channel_id }),
  update_projection_attributes_v1: (channel_id, master_id, draft_revision) => ({
    master_id,
    channel_id,
    draft_revision,
    attributes: [{ key: "title", value: "No" }]
  }),
  publish_master_v1: (channel, master_id, draft_revision) => ({ master_id, draft_revision, channel_ids: [channel] }),
  get_master_sales_channels_v1: (channel_id, master_id) => ({ master_id, channel_id }),
  list_store_sales_channels_v1: (channel_id) => ({ channel_id }),
  get_data_health_v1: (channel_id) => ({ channel_id }),
  list_data_health_issues_v1: (channel_id) => ({ section: "sync-pending", channel_id }),
  run_data_health_scan_v1: (channel_id) => ({ dimension: "sync", channel_id }),
  fill_completeness_gaps_v1: (channel_id, master_id) => ({
    master_type: "product",
    operations: [{ master_id, channel_id, field: "seo_title", value: "No" }]
  }),
  reconcile_value_divergence_v1: (channel, master_id) => ({
    master_type: "product",
    operations: [
      { master_id, field: "title", winner_channel_id: channel },
      { master_id, field: "title", channel_id: channel, value: "No" }
    ]
  })
}

const namesIn = (schema: unknown): ReadonlyArray<string> =>
  typeof schema !== "object" || schema === null
    ? []
    : Object.entries(schema).flatMap(([name, part]) => [
        ...(name === "properties" ? Object.keys(part as object) : []),
        ...namesIn(part)
      ])

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("a connection that is limited to one store", (it) => {
  it.effect("28 tools: no result has an id, name, domain or value of another store", () =>
    Effect.gen(function* () {
      const { limited, samples, stores, whole } = yield* bounded
      yield* plant(samples.accountId, samples.channel)
      for (const dimension of ["sync", "completeness", "structure", "divergence", "translations", "media"])
        yield* callWith(whole)("run_data_health_scan_v1", { dimension })
      const secrets = [marker, ...stores.flatMap(({ domain, id }) => [id, domain])]
      const leaks = (text: string) => secrets.filter((secret) => text.includes(secret))
      const seen = new Set<string>()
      const answerOf = (token: string, name: string, args: Args) =>
        Effect.gen(function* () {
          const answer = yield* send(yield* portOf, {
            token,
            ...message("modern", "tools/call", { name, arguments: args })
          })
          assert.strictEqual(answer.status, 200, answer.text)
          assert.notStrictEqual(messageIn(answer).result.isError, true, `${name}: ${answer.text}`)
          return answer.text
        })
      /** All pages of a list. */
      const pagesOf = (token: string, name: string, args: Args) =>
        Effect.gen(function* () {
          let text = ""
          let cursor: string | null | undefined
          do {
            const page = yield* answerOf(token, name, cursor ? { ...args, cursor } : args)
            text += page
            cursor = JSON.parse(page).result.structuredContent.next_cursor
          } while (cursor)
          return text
        })
      // Records that only other stores have are not listed.
      const firstId = (name: string) =>
        Effect.map(callWith(limited)(name), ({ structuredContent }) => structuredContent.data[0].id)
      const others: Record<string, Args> = {
        list_data_health_issues_v1: { section: "completeness-required" },
        get_market_v1: { market_id: yield* firstId("list_markets_v1") },
        list_metaobject_entries_v1: { definition_id: yield* firstId("list_metaobject_definitions_v1") }
      }
      for (const name of allToolNames) {
        const args = others[name] ?? samples.argsOf(name, yield* draftRevision(whole, samples.product))
        const text = yield* pagesOf(limited, name, args)
        assert.deepStrictEqual(leaks(text), [], `${name}: ${text}`)
        const revision = yield* draftRevision(whole, samples.product)
        const control = yield* pagesOf(
          whole,
          name,
          name.startsWith("update") || name.startsWith("publish") ? samples.argsOf(name, revision) : args
        )
        if (leaks(control).length > 0) seen.add(name)
      }
      for (const section of [
        "sync-pending",
        "sync-failed",
        "sync-never-published",
        "completeness-required",
        "completeness-recommended",
        "divergence",
        "structure-invalid-value",
        "translations-untranslated",
        "translations-outdated",
        "media-alt-missing"
      ])
        for (const page of [1, 2, 3])
          assert.deepStrictEqual(
            leaks(yield* answerOf(limited, "list_data_health_issues_v1", { section, page, page_size: 50 })),
            [],
            section
          )
      // The test can find them: results of a connection to all stores have them.
      assert.isAtLeast(seen.size, 18, [...seen].join(", "))
    })
  )

  it.effect("an argument that names another store gets the same answer as a random id, and nothing is written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { foreignStore, limited, samples } = yield* bounded
      const withChannels = tools
        .filter(({ listed }) => namesIn(listed.inputSchema).some((name) => name.includes("channel")))
        .map(({ listed }) => listed.name)
      assert.sameMembers(Object.keys(naming), withChannels)
      const before = yield* sql`SELECT version FROM account_state WHERE account_id = ${samples.accountId}`
      for (const [name, argsOf] of Object.entries(naming)) {
        const random = randomUUID()
        const answers = yield* Effect.forEach([foreignStore.id, foreignStore.id.toUpperCase(), random], (channel) =>
          Effect.gen(function* () {
            const args = argsOf(channel, samples.product, yield* draftRevision(limited, samples.product))
            const { content, isError, structuredContent } = yield* callWith(limited)(name, args)
            return JSON.stringify({ content, isError, structuredContent })
              .replaceAll(channel, "ID")
              .replaceAll(channel.toLowerCase(), "ID")
          })
        )
        assert.strictEqual(answers[0], answers[2], name)
        assert.strictEqual(answers[1], answers[2], name)
        assert.match(answers[0] ?? "", /"isError":true|"ok":false/, name)
      }
      assert.deepStrictEqual(
        yield* sql`SELECT version FROM account_state WHERE account_id = ${samples.accountId}`,
        before
      )
    })
  )

  it.effect("a master that only other stores have is not listed, and is unknown as an argument", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { limited, masters, samples } = yield* bounded
      const expected = yield* sql<{ id: string }>`
        SELECT id FROM entity
        WHERE account_id = ${samples.accountId} AND (store_ids = '{}' OR store_ids @> ARRAY[${samples.channel}::uuid])`
      const found: Array<string> = []
      let cursor: string | null = null
      do {
        const page: Result = yield* callWith(limited)("list_masters_v1", {
          limit: 100,
          ...(cursor !== null && { cursor })
        })
        const { structuredContent } = page
        found.push(...structuredContent.data.map(({ master_id }: { master_id: string }) => master_id))
        cursor = structuredContent.next_cursor
      } while (cursor !== null)
      assert.sameMembers(
        found,
        expected.map(({ id }) => id)
      )
      const hidden = masters.find(({ kind }) => kind === "product")?.id ?? assert.fail("no product is elsewhere alone")
      const named = tools
        .filter(({ listed }) => "master_id" in listed.inputSchema.properties)
        .map(({ listed }) => listed.name)
      assert.isAtLeast(named.length, 11)
      for (const name of named) {
        const texts = yield* Effect.forEach([hidden, randomUUID()], (master_id) =>
          Effect.map(callWith(limited)(name, { ...samples.argsOf(name, 1), master_id }), ({ content, isError }) => {
            assert.isTrue(isError, name)
            return JSON.stringify(content).replaceAll(master_id, "ID")
          })
        )
        assert.strictEqual(texts[0], texts[1], name)
      }
      const several: ReadonlyArray<readonly [string, (id: string) => Args]> = [
        [
          "publish_master_v1",
          (id) => ({
            masters: [id, id.toLowerCase()].map((master_id) => ({ master_id, draft_revision: 1 })),
            channel_ids: [samples.channel]
          })
        ],
        [
          "publish_master_v1",
          (id) => ({ masters: [{ master_id: id, draft_revision: 1 }], channel_ids: [samples.channel] })
        ],
        [
          "fill_completeness_gaps_v1",
          (id) => ({
            master_type: "product",
            operations: [id, id].map((master_id) => ({ master_id, field: "vendor", value: "No" }))
          })
        ]
      ]
      for (const [name, argsOf] of several)
        for (const inCase of [(id: string) => id, (id: string) => id.toUpperCase()]) {
          const answers = yield* Effect.forEach([hidden, randomUUID()], (id) =>
            Effect.map(callWith(limited)(name, argsOf(inCase(id))), ({ content, isError, structuredContent }) =>
              JSON.stringify({ content, isError, structuredContent }).replaceAll(id, "ID")
            )
          )
          assert.strictEqual(answers[0], answers[1], name)
        }
    })
  )

  it.effect(
    "a collection that only other stores have is unknown as a filter, although it has products of the connection",
    () =>
      Effect.gen(function* () {
        const { foreignStore, limited, samples, whole } = yield* bounded
        const collection = yield* Effect.gen(function* () {
          const id = yield* anEntity("collection", { title: "Elsewhere" })
          yield* (yield* CatalogChanges).apply([
            CatalogChange.AddToStore({ entityId: id, storeId: StoreId.make(foreignStore.id) }),
            CatalogChange.SetMembers({ collectionId: id, productIds: [EntityId.make(samples.product)] })
          ])
          return id
        }).pipe(actingAs({ _tag: "Cli", accountId: samples.accountId }), Effect.orDie)
        const list = (token: string, collection_id: string) => callWith(token)("list_products_v1", { collection_id })
        assert.strictEqual((yield* list(whole, collection)).structuredContent.data[0].master_id, samples.product)
        const unknown = randomUUID()
        const [hidden, absent] = [yield* list(limited, collection), yield* list(limited, unknown)]
        assert.isTrue(absent.isError)
        assert.strictEqual(
          JSON.stringify(hidden.content).replace(collection, "ID"),
          JSON.stringify(absent.content).replace(unknown, "ID")
        )
      })
  )

  it.effect(
    "a drop or a market that only other stores have is hidden, and so are the other stores' changes of a shared drop",
    () =>
      Effect.gen(function* () {
        const { foreignStore, limited, samples } = yield* bounded
        const { create } = yield* Drops
        const change = (store: string) => ({
          entity_id: EntityId.make(samples.product),
          store_id: StoreId.make(store),
          field: "handle",
          value: `on-${store}`
        })
        const dropOf = (year: number, ...stores: ReadonlyArray<string>) =>
          create({
            name: "Of stores",
            starts_at: `${year}-01-01T00:00:00Z`,
            ends_at: `${year}-01-02T00:00:00Z`,
            timezone: "Europe/Berlin",
            changes: stores.map(change)
          }).pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId: samples.accountId }), Effect.orDie)
        const elsewhere = yield* dropOf(2098, foreignStore.id)
        const shared = yield* dropOf(2097, foreignStore.id, samples.channel)
        const listed = yield* callWith(limited)("list_drops_v1")
        assert.notInclude(JSON.stringify(listed), elsewhere.id)
        const { structuredContent } = yield* callWith(limited)("get_drop_v1", { drop_id: shared.id })
        assert.deepStrictEqual(
          structuredContent.changes.map(({ channel_id }: { channel_id: string }) => channel_id),
          [samples.channel]
        )
        for (const [name, argument, id] of [
          ["get_drop_v1", "drop_id", elsewhere.id],
          ["get_market_v1", "market_id", String(samples.argsOf("get_market_v1", 1).market_id)]
        ] as const) {
          const texts = yield* Effect.forEach([id, randomUUID()], (each) =>
            Effect.map(callWith(limited)(name, { [argument]: each }), ({ content, isError }) => {
              assert.isTrue(isError, name)
              return JSON.stringify(content).replaceAll(each, "ID")
            })
          )
          assert.strictEqual(texts[0], texts[1], name)
        }
      })
  )

  it.effect("resources, and the languages that a refusal names, are those of the connection's stores", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { limited, samples, whole } = yield* bounded
      const port = yield* portOf
      const read = (token: string, uri: string) =>
        Effect.map(send(port, { token, ...message("modern", "resources/read", { uri }) }), (answer) => {
          const { data } = JSON.parse(messageIn(answer).result.contents[0].text)
          return (data as ReadonlyArray<{ readonly key: string }>).map(({ key }) => key)
        })
      // A definition that only other stores have.
      yield* sql`
        DELETE FROM metafield_definition_store
        WHERE account_id = ${samples.accountId} AND store_id = ${samples.channel}
          AND definition_id = (
            SELECT d.id FROM metafield_definition d WHERE d.account_id = ${samples.accountId} AND d.owner_type = 'product'
              AND d.namespace || '.' || d.key = 'material.body')`
      yield* sql`UPDATE account_state SET version = version + 1 WHERE account_id = ${samples.accountId}`
      for (const uri of ["catalog://metafield-definitions", "catalog://attributes/product"]) {
        assert.include(yield* read(whole, uri), "material.body", uri)
        const own = yield* read(limited, uri)
        assert.notInclude(own, "material.body", uri)
        assert.isNotEmpty(own, uri)
      }
      const locales = yield* sql<{ locales: ReadonlyArray<string>; id: string }>`
        SELECT id, locales FROM store WHERE account_id = ${samples.accountId}`
      const own = locales.find(({ id }) => id === samples.channel)?.locales ?? []
      const foreign = locales.flatMap((store) => store.locales).filter((locale) => !own.includes(locale))
      assert.isNotEmpty(foreign)
      const refusedIn = (token: string, locale: string) =>
        Effect.map(
          callWith(token)("list_data_health_issues_v1", { section: "translations-untranslated", locale }),
          ({ content, isError }) => (isError ? content[0]?.text : undefined)
        )
      assert.include(yield* refusedIn(whole, "xx"), foreign[0])
      assert.include(yield* refusedIn(limited, "xx"), `must be one of ${[...own].sort().join(", ")}:`)
      assert.isUndefined(yield* refusedIn(whole, foreign[0] ?? ""))
      assert.isDefined(yield* refusedIn(limited, foreign[0] ?? ""))
    })
  )

  it.effect("a refused publish does not name masters that only other stores have", () =>
    Effect.gen(function* () {
      const { foreignStore, limited, samples, whole } = yield* bounded
      const [product, collection] = yield* Effect.gen(function* () {
        const [product, collection] = [
          yield* anEntity("product", { title: "Elsewhere" }),
          yield* anEntity("collection", { title: "Both" })
        ]
        yield* (yield* CatalogChanges).apply([
          CatalogChange.AddToStore({ entityId: product, storeId: StoreId.make(foreignStore.id) }),
          CatalogChange.AddToStore({ entityId: collection, storeId: StoreId.make(samples.channel) }),
          CatalogChange.SetMembers({ collectionId: collection, productIds: [product] })
        ])
        return [product, collection]
      }).pipe(actingAs({ _tag: "Cli", accountId: samples.accountId }), Effect.orDie)
      const one = { master_id: collection, draft_revision: yield* draftRevision(limited, String(collection)) }
      const textOf = (token: string, args: Args) =>
        Effect.map(callWith(token)("publish_master_v1", args), ({ content }) => String(content[0]?.text))
      const why = (name: string) =>
        `product ${name} is not live on this store: publish it first, or take it out of the collection`
      for (const args of [one, { masters: [one], channel_ids: [samples.channel] }]) {
        assert.include(yield* textOf(whole, args), why(String(product)))
        const text = yield* textOf(limited, args)
        assert.include(text, why("(hidden from this connection)"))
        assert.notInclude(text, String(product))
      }
      const { body, headers } = message("modern", "tools/call", {
        name: "publish_master_v1",
        arguments: { masters: [one], channel_ids: [samples.channel] }
      })
      const followed = (token: string) => {
        const sent = JSON.parse(body)
        sent.params._meta.progressToken = "p1"
        return Effect.flatMap(portOf, (port) => send(port, { token, headers, body: JSON.stringify(sent) }))
      }
      assert.include((yield* followed(whole)).text, `"message":"A master: refused (${why(String(product))})"`)
      const { text } = yield* followed(limited)
      assert.include(text, '"message":"A master: refused"')
      assert.notInclude(text, String(product))
    })
  )

  it.effect("the answer to a write counts its own stores only, also for a master that no store has", () =>
    Effect.gen(function* () {
      const { foreignStore, limited, samples, whole } = yield* bounded
      const [shared, nowhere] = yield* Effect.gen(function* () {
        const ids = [yield* anEntity("collection", { title: "Same" }), yield* anEntity("collection", { title: "Same" })]
        const [entityId = EntityId.make(samples.product)] = ids
        const there = (id: string) => ({ entityId, storeId: StoreId.make(id) })
        yield* (yield* CatalogChanges).apply([
          CatalogChange.AddToStore(there(samples.channel)),
          CatalogChange.AddToStore(there(foreignStore.id)),
          CatalogChange.AcceptPublish(there(samples.channel))
        ])
        return ids
      }).pipe(actingAs({ _tag: "Cli", accountId: samples.accountId }), Effect.orDie)
      const written = (token: string, master_id: string | undefined) =>
        Effect.gen(function* () {
          const draft_revision = yield* draftRevision(token, String(master_id))
          const attributes = [{ key: "title", value: "Same" }]
          const args = { master_id, draft_revision, attributes }
          const { draft_revision: _, ...state } = (yield* callWith(token)("update_master_attributes_v1", args))
            .structuredContent
          return state
        })
      const one = { master_id: shared, master_type: "collection" }
      const own = { channel_id: samples.channel, pending_publish: false }
      const other = { channel_id: foreignStore.id, pending_publish: true }
      assert.deepStrictEqual(yield* written(limited, shared), { ...one, pending_publish: false, channels: [own] })
      const { channels, ...all } = yield* written(whole, shared)
      assert.deepStrictEqual(all, { ...one, pending_publish: true })
      assert.sameDeepMembers(channels, [own, other])
      const empty = { ...one, master_id: nowhere, pending_publish: false, channels: [] }
      for (const token of [limited, whole]) assert.deepStrictEqual(yield* written(token, nowhere), empty)
      const draft_revision = yield* draftRevision(limited, String(nowhere))
      for (const token of [limited, whole]) {
        const published = yield* callWith(token)("publish_master_v1", { master_id: nowhere, draft_revision })
        assert.deepStrictEqual(published.structuredContent, {
          master_id: nowhere,
          title: "Same",
          draft_revision,
          message: "The master is on no channel: nothing can be published.",
          channels: []
        })
      }
    })
  )

  it.effect("states, filters, search and keys count its own stores only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { foreignStore, limited, samples, whole } = yield* bounded
      const [shared] = yield* sql<{ id: string }>`
        SELECT id FROM entity
        WHERE account_id = ${samples.accountId} AND kind = 'collection' AND store_ids @> ARRAY[${samples.channel}, ${foreignStore.id}]::uuid[]
        ORDER BY id LIMIT 1`
      const master_id = shared?.id ?? assert.fail("no collection is on both stores")
      yield* sql`
        UPDATE store_version SET last_publish_status = CASE WHEN store_id = ${samples.channel} THEN 'published' ELSE 'failed' END,
               pending_publish = store_id <> ${samples.channel}
        WHERE account_id = ${samples.accountId} AND entity_id = ${master_id}`
      yield* sql`
        UPDATE entity SET last_publish_status = 'failed', pending_publish = true
        WHERE account_id = ${samples.accountId} AND id = ${master_id}`
      yield* callWith(whole)("update_projection_attributes_v1", {
        master_id,
        channel_id: foreignStore.id,
        draft_revision: yield* draftRevision(whole, master_id),
        attributes: [{ key: "title", value: "Quokka" }]
      })
      const found = (token: string, args: Args) =>
        Effect.map(callWith(token)("list_collections_v1", { limit: 100, ...args }), ({ structuredContent }) => {
          const rows: ReadonlyArray<Readonly<Record<string, unknown>>> = structuredContent.data
          const row = rows.find((each) => each.master_id === master_id)
          return row === undefined ? undefined : [row.last_publish_status, row.pending_publish]
        })
      const cases: ReadonlyArray<readonly [Args, boolean]> = [
        [{}, true],
        [{ status: "failed" }, false],
        [{ pending: true }, false],
        [{ status: "published", pending: false }, true],
        [{ search: "quokka" }, false],
        [{ search: "quokka", channel_id: samples.channel }, false]
      ]
      for (const [args, isFound] of cases)
        assert.deepStrictEqual(
          yield* found(limited, args),
          isFound ? ["published", false] : undefined,
          JSON.stringify(args)
        )
      for (const args of [{ status: "failed" }, { pending: true }, { search: "quokka" }])
        assert.deepStrictEqual(yield* found(whole, args), ["failed", true], JSON.stringify(args))

      // A key and a metaobject definition that only another store has.
      const definition = yield* sql<{ id: string }>`
        SELECT d.id FROM metafield_definition d
        WHERE d.account_id = ${samples.accountId} AND d.owner_type = 'product' AND d.own IS NULL AND d.namespace || '.' || d.key = 'material.body'`
      yield* sql`
        DELETE FROM metafield_definition_store
        WHERE account_id = ${samples.accountId} AND store_id = ${samples.channel} AND definition_id = ${definition[0]?.id ?? ""}`
      const writing = (token: string, key: string) =>
        Effect.gen(function* () {
          const { content, isError } = yield* callWith(token)("update_master_attributes_v1", {
            master_id: samples.product,
            draft_revision: yield* draftRevision(token, samples.product),
            attributes: [{ key, value: "oak" }]
          })
          return isError ? String(content[0]?.text) : ""
        })
      assert.include(yield* writing(whole, "material.bodi"), "material.body")
      assert.include(yield* writing(limited, "material.bodi"), "material.bodi: is an unknown key")
      assert.notInclude(yield* writing(limited, "material.bodi"), "material.body")
      assert.include(yield* writing(limited, "material.body"), "is an unknown key")
      assert.strictEqual(yield* writing(whole, "material.body"), "")
      const metaobjects = yield* sql<{ id: string }>`
        SELECT definition_id AS id FROM metaobject_definition_store
        WHERE account_id = ${samples.accountId} ORDER BY definition_id LIMIT 1`
      const definition_id = metaobjects[0]?.id ?? assert.fail("no metaobject definition")
      yield* sql`
        DELETE FROM metaobject_definition_store
        WHERE account_id = ${samples.accountId} AND store_id = ${samples.channel} AND definition_id = ${definition_id}`
      const entriesOf = (token: string, definition: string) =>
        Effect.map(
          callWith(token)("list_metaobject_entries_v1", { definition_id: definition }),
          ({ content, isError }) => [isError, String(content[0]?.text).replaceAll(definition, "ID")]
        )
      assert.notStrictEqual((yield* entriesOf(whole, definition_id))[0], true)
      assert.deepStrictEqual(yield* entriesOf(limited, definition_id), yield* entriesOf(limited, randomUUID()))
    })
  )

  it.effect("numbers of data health are those of its own stores, or absent", () =>
    Effect.gen(function* () {
      const { limited, samples, whole } = yield* bounded
      const overview = (token: string, args: Args = {}) =>
        Effect.map(callWith(token)("get_data_health_v1", args), ({ structuredContent }) => {
          const dimensions: ReadonlyArray<{
            readonly dimension: string
            readonly result: Readonly<Record<string, unknown>>
          }> = structuredContent.dimensions
          return new Map(dimensions.map(({ dimension, result }) => [dimension, result]))
        })
      const dimensions = ["sync", "completeness", "media", "structure", "divergence", "translations"]
      for (const dimension of dimensions) {
        const { structuredContent } = yield* callWith(limited)("run_data_health_scan_v1", { dimension })
        assert.sameMembers(
          Object.keys(structuredContent.result).filter((name) => name !== "rules"),
          ["by_store", "hidden"],
          dimension
        )
      }
      const all = yield* overview(whole)
      const own = yield* overview(limited)
      const one = yield* overview(limited, { channel_id: samples.channel })
      for (const dimension of dimensions) {
        const byStore: ReadonlyArray<{ readonly channel_id: string }> =
          (all.get(dimension)?.by_store as ReadonlyArray<{ readonly channel_id: string }> | undefined) ?? []
        const ofChannel = byStore.filter(({ channel_id }) => channel_id === samples.channel)
        assert.isAbove(byStore.length, ofChannel.length, dimension)
        assert.deepStrictEqual(own.get(dimension)?.by_store, ofChannel, dimension)
        assert.isUndefined(own.get(dimension)?.score, dimension)
        const isOfChannel = ["sync", "completeness", "translations"].includes(dimension)
        assert.match(
          String(own.get(dimension)?.hidden),
          isOfChannel ? /; channel_id gives those of one channel\.$/ : /connection\.$/
        )
        assert.strictEqual(one.get(dimension)?.score !== undefined, isOfChannel, dimension)
      }
      const compared = (token: string) =>
        Effect.map(
          callWith(token)("list_data_health_issues_v1", { section: "divergence" }),
          (answer) => answer.structuredContent.compared
        )
      assert.isAbove(yield* compared(whole), 0)
      assert.isUndefined(yield* compared(limited))
    })
  )

  it.effect("a value that is equal to the id of another store is not hidden", () =>
    Effect.gen(function* () {
      const { foreignStore, limited, samples } = yield* bounded
      const one = { master_id: samples.product }
      const written = yield* callWith(limited)("update_projection_attributes_v1", {
        ...one,
        channel_id: samples.channel,
        draft_revision: yield* draftRevision(limited, samples.product),
        attributes: [{ key: "title", value: foreignStore.id }]
      })
      const { draft_revision } = written.structuredContent
      const dry = yield* callWith(limited)("publish_master_v1", {
        masters: [{ ...one, draft_revision }],
        channel_ids: [samples.channel],
        dry_run: true
      })
      assert.strictEqual(dry.structuredContent.masters[0].outcome, "would_publish", dry.content[0]?.text)
      assert.deepInclude(
        dry.structuredContent.masters[0].changes.find(({ key }: { key: string }) => key === "title"),
        { new: foreignStore.id }
      )
    })
  )

  it.effect("publishing and reconciling without a channel covers the connection's stores only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { limited, samples, whole } = yield* bounded
      const one = { master_id: samples.product }
      const { structuredContent: master } = yield* callWith(whole)("get_master_v1", one)
      for (const { channel_id } of master.channels)
        yield* callWith(whole)("update_projection_attributes_v1", {
          ...one,
          channel_id,
          draft_revision: yield* draftRevision(whole, samples.product),
          attributes: [{ key: "title", value: `Title ${randomUUID()}` }]
        })
      const written = yield* callWith(limited)("update_master_attributes_v1", {
        ...one,
        draft_revision: yield* draftRevision(limited, samples.product),
        attributes: [{ key: "vendor", value: `Vendor ${randomUUID()}` }]
      })
      assert.deepStrictEqual(written.structuredContent.channels, [
        { channel_id: samples.channel, pending_publish: true }
      ])
      const { structuredContent: pending } = yield* callWith(whole)("get_master_v1", one)
      assert.isAtLeast(
        pending.channels.filter(({ pending_publish }: { pending_publish: boolean }) => pending_publish).length,
        2
      )
      const published = yield* callWith(limited)("publish_master_v1", {
        ...one,
        draft_revision: pending.draft_revision
      })
      assert.deepStrictEqual(
        published.structuredContent.channels.map(({ channel_id, outcome }: Readonly<Record<string, string>>) => [
          channel_id,
          outcome
        ]),
        [[samples.channel, "pending"]]
      )
      const requested = yield* sql`
        SELECT DISTINCT store_id FROM publication WHERE account_id = ${samples.accountId} AND entity_id = ${samples.product} AND store_id <> ${samples.channel}`
      assert.lengthOf(requested, 0)
      const overridesOf = sql`
        SELECT store_id, overrides FROM store_version
        WHERE account_id = ${samples.accountId} AND entity_id = ${samples.product} AND store_id <> ${samples.channel} ORDER BY store_id`
      const before = yield* overridesOf
      for (const operation of [
        { ...one, field: "seo_title", value: "Mine" },
        { ...one, field: "seo_title", winner_channel_id: samples.channel }
      ]) {
        const { structuredContent } = yield* callWith(limited)("reconcile_value_divergence_v1", {
          master_type: "product",
          operations: [operation]
        })
        assert.strictEqual(structuredContent.results[0].channel_id, samples.channel)
        assert.strictEqual(structuredContent.patched, 0)
      }
      assert.deepStrictEqual(yield* overridesOf, before)
    })
  )
})

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("a connection whose publishes a person confirms", (it) => {
  it.effect("can write drafts; a publish is refused with the way to confirm it, for every client", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const base = yield* baseUrlOf
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId, "pim:publish", { confirmPublish: true })
      const countOf = sql`SELECT count(*)::int AS count FROM publication WHERE account_id = ${samples.accountId}`
      const before = yield* countOf
      for (const sdk of Object.values(sdks)) {
        const client = yield* Effect.scoped(
          Effect.gen(function* () {
            const client = yield* connected(sdk, new URL(`${base}/mcp`), withToken(token))
            const call = (name: string, args: Args) =>
              Effect.promise(() => client.callTool({ name, arguments: { ...args } }))
            const revision = yield* draftRevision(token, samples.product)
            const written = yield* call(
              "update_master_attributes_v1",
              samples.argsOf("update_master_attributes_v1", revision)
            )
            assert.notStrictEqual(written.isError, true)
            return yield* call("publish_master_v1", samples.argsOf("publish_master_v1", revision + 1))
          })
        )
        assert.isTrue(client.isError)
        assert.deepStrictEqual(client.content, [
          {
            type: "text",
            text: `Not published: the merchant must confirm each publish of this connection, but this client does not support confirmation (elicitation). Nothing was done; the draft is kept. Ask the merchant to publish it at ${base}${pageOf(paths.entity, samples.product)}, or to disconnect the catalog in this client and connect it again without "Ask me before each publish".`
          }
        ])
      }
      assert.deepStrictEqual(yield* countOf, before)
    })
  )
})
