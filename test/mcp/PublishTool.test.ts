import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Imports } from "../../src/imports/Imports.ts"
import { publishText } from "../../src/mcp/PublishText.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs, CatalogChange, CatalogChanges, Publishing } from "../../src/testing/index.ts"
import { ample, baseUrlOf, connectorWith, message, messageIn, portOf, send } from "./Connector.ts"
import { aShop } from "./Shop.ts"

const forms =
  "give master_id and draft_revision for one master, or masters (1 to 50) with exactly one id in channel_ids"

const nothingDone = (issue: string) =>
  `Invalid: ${issue}. Nothing was changed. Correct this and call publish_master_v1 again.`

layer(connectorWith(ample), { excludeTestServices: true })("publish_master_v1", (it) => {
  it.effect("accepts one master, or several of one channel; the refusal names both forms", () =>
    Effect.gen(function* () {
      const { files, mastersOf, refusal, store } = yield* aShop(2)
      const masters = yield* mastersOf
      const [first] = masters
      assert(first !== undefined)
      const channel_ids = [store.id]
      for (const args of [
        {},
        { master_id: first.master_id },
        { draft_revision: 1, channel_ids },
        { masters },
        { masters, channel_ids: [store.id, files.id] },
        { ...first, masters, channel_ids }
      ])
        assert.strictEqual(yield* refusal(args), nothingDone(`masters: ${forms}`))
      assert.strictEqual(
        yield* refusal({ masters: [first, first], channel_ids }),
        nothingDone("masters[1].master_id: is given twice")
      )
      for (const wrong of [[], Array.from({ length: 51 }, () => first)])
        assert.strictEqual(
          yield* refusal({ masters: wrong, channel_ids }),
          nothingDone("masters: must be a list of 1 to 50; each item: an object with master_id, draft_revision")
        )
      assert.strictEqual(
        yield* refusal({ masters, channel_ids: [files.id] }),
        `Invalid: channel_ids: files.example has no platform: nothing can be published to it. Nothing was changed. The operator of this service can link the store to its platform. Correct this and call publish_master_v1 again.`
      )
    })
  )

  it.effect("a dry run is short plain text, and the publish does what the text says", () =>
    Effect.gen(function* () {
      const { actor, call, ids, mastersOf, store } = yield* aShop(2)
      const [first] = yield* mastersOf
      assert(first !== undefined)
      const textOf = (args: object) =>
        Effect.map(call("publish_master_v1", { ...args, dry_run: true }), ({ content, isError, structuredContent }) => {
          assert.notStrictEqual(isError, true, content[0]?.text)
          return publishText(structuredContent)
        })
      assert.strictEqual(
        yield* textOf(first),
        ['"Collection 0"', "a.demo.example: publish for the first time", '- title: "Collection 0"'].join("\n")
      )
      yield* call("publish_master_v1", first)
      const { request, settle } = yield* Publishing
      const settled = (id: EntityId) =>
        Effect.flatMap(request(id, store.id), (answer) =>
          answer.outcome === "nothing_to_publish"
            ? Effect.succeed([])
            : settle([answer.publicationId], () => Effect.void)
        ).pipe(actingAs(actor))
      assert.strictEqual((yield* settled(first.master_id))[0]?.state, "published")
      yield* (yield* CatalogChanges)
        .apply([
          CatalogChange.SetAttributes({
            entityId: first.master_id,
            values: { title: "New", description_html: "x".repeat(500) }
          })
        ])
        .pipe(actingAs(actor))
      const masters = yield* Effect.forEach(ids, (master_id) =>
        Effect.map(call("get_master_v1", { master_id }), ({ structuredContent }) => ({
          master_id,
          draft_revision: structuredContent.draft_revision
        }))
      )
      assert.strictEqual(
        yield* textOf({ masters, channel_ids: [store.id] }),
        [
          '"New": publish',
          '- title: "Collection 0" -> "New"',
          `- description_html: empty -> "${"x".repeat(79)}…"`,
          '"Collection 1": publish for the first time',
          '- title: "Collection 1"'
        ].join("\n")
      )
      yield* call("publish_master_v1", { masters, channel_ids: [store.id] })
      for (const id of ids) yield* settled(id)
      assert.strictEqual(
        yield* textOf({ masters, channel_ids: [store.id] }),
        '"New": nothing to publish (the store already has this draft)\n"Collection 1": nothing to publish (the store already has this draft)'
      )
      const { structuredContent } = yield* call("get_projection_v1", {
        master_id: first.master_id,
        channel_id: store.id
      })
      assert.deepInclude(structuredContent, {
        pending_publish: false,
        pending_keys: [],
        last_publish_status: "published"
      })
    })
  )

  it.effect(
    "a failed publish is reported by the projection and by the issue of data health, with the platform's reason",
    () =>
      Effect.gen(function* () {
        const { accountId, actor, call, mastersOf, store } = yield* aShop(1)
        const [first] = yield* mastersOf
        assert(first !== undefined)
        yield* (yield* DemoShops).fail(
          { accountId, storeId: store.id },
          { kind: "refuse", percent: 100, delayMillis: 0 }
        )
        yield* call("publish_master_v1", first)
        const { request, settle } = yield* Publishing
        yield* Effect.flatMap(request(first.master_id, store.id), (answer) =>
          answer.outcome === "nothing_to_publish"
            ? Effect.void
            : Effect.asVoid(settle([answer.publicationId], () => Effect.void))
        ).pipe(actingAs(actor))
        const last_publish_error = {
          code: "DEMO_REFUSED",
          message: "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
        }
        const { structuredContent: projection } = yield* call("get_projection_v1", {
          master_id: first.master_id,
          channel_id: store.id
        })
        assert.deepInclude(projection, { last_publish_status: "failed", last_publish_error })
        yield* call("run_data_health_scan_v1", { dimension: "sync" })
        const { structuredContent: page } = yield* call("list_data_health_issues_v1", { section: "sync-failed" })
        assert.lengthOf(page.data, 1)
        assert.deepInclude(page.data[0], { master_id: first.master_id, last_publish_error })
        const { structuredContent: pending } = yield* call("list_data_health_issues_v1", { section: "sync-pending" })
        assert.notProperty(pending.data[0], "last_publish_error")
      })
  )

  it.effect("a locked account: the refusal says who began the import and when, and links the page that ends it", () =>
    Effect.gen(function* () {
      const { accountId, actor, mastersOf, refusal, store } = yield* aShop(1)
      const [first] = yield* mastersOf
      const run = yield* (yield* Imports).refresh(store.domain, () => Effect.void).pipe(actingAs(actor))
      assert.strictEqual(run.phase, "reviewing")
      const page = `${yield* baseUrlOf}/import?id=${run.id}`
      const who = actor._tag === "Cli" ? "The command line" : assert.fail(actor._tag)
      const locked = (until: string) =>
        `Locked: ${who} started a refresh of Tern North at ${run.createdAt}, and drafts are locked until ${until}a person accepts or discards it at ${page}. Nothing was changed. Call publish_master_v1 again after the import has ended. Tools that read still work.`
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE store SET name = 'Tern North' WHERE account_id = ${accountId} AND id = ${store.id}`
      assert.strictEqual(yield* refusal({ ...first }), locked(""))
      yield* sql`UPDATE import_run SET phase = 'fetching' WHERE id = ${run.id}`
      assert.strictEqual(yield* refusal({ ...first }), locked("it is compared with the catalog and "))
      // The refusals of another account do not mention this import.
      const other = yield* aShop(1)
      assert.notStrictEqual(other.accountId, accountId)
      const [free] = yield* other.mastersOf
      assert.notStrictEqual((yield* other.call("publish_master_v1", { ...free })).isError, true)
    })
  )
})

layer(connectorWith({ RATE_LIMIT_PER_KEY: "30", RATE_LIMIT_PER_ACCOUNT: "60" }), {
  excludeTestServices: true
})("the cost of publish_master_v1", (it) => {
  it.effect("costs one request per master; a budget that is too small refuses the whole call", () =>
    Effect.gen(function* () {
      const { accountId, actor, ids, store, token } = yield* aShop(12)
      const { preview } = yield* Publishing
      const masters = yield* Effect.forEach(ids, (master_id) =>
        Effect.map(preview(master_id, store.id), ({ draftRevision }) => ({ master_id, draft_revision: draftRevision }))
      ).pipe(actingAs(actor))
      const publish = (args: object) =>
        Effect.gen(function* () {
          const sent = message("modern", "tools/call", { name: "publish_master_v1", arguments: args })
          const answer = yield* send(yield* portOf, { token, ...sent })
          return { answer, told: messageIn(answer), left: Number(answer.headers["x-ratelimit-remaining"]) }
        })
      const batch = { masters, channel_ids: [store.id] }
      const first = yield* publish({ ...batch, dry_run: true })
      assert.deepStrictEqual([first.answer.status, first.left], [200, 18])
      assert.deepStrictEqual(
        first.told.result.structuredContent.masters.map(({ outcome }: { outcome: string }) => outcome),
        ids.map(() => "would_publish")
      )
      // A refused list costs one request, like any other call.
      assert.strictEqual((yield* publish({ ...batch, masters: [] })).left, 17)
      const second = yield* publish(batch)
      assert.deepStrictEqual([second.answer.status, second.left], [200, 5])
      const refused = yield* publish(batch)
      const seconds = Number(refused.answer.headers["retry-after"])
      assert.deepStrictEqual([refused.answer.status, refused.left], [429, 5])
      assert.isAtLeast(seconds, 1)
      assert.deepStrictEqual(refused.told.error, {
        code: -32_000,
        message: `This call costs 12 requests, but the budget of this connection has fewer left; retry in ${seconds} s, or split the call. Nothing was done.`,
        data: { code: "rate_limited", request_id: refused.answer.headers["x-request-id"] }
      })
      const fewer = yield* publish({ ...batch, masters: masters.slice(0, 5) })
      assert.deepStrictEqual([fewer.answer.status, fewer.left], [200, 0])
      assert.isString(accountId)
    })
  )
})
