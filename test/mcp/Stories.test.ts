import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Demo } from "../../src/demo/Demo.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask } from "../oauth/PagesServer.ts"
import {
  aConnection,
  ample,
  baseUrlOf,
  connectorWith,
  message,
  messageIn,
  portOf,
  type Result,
  send
} from "./Connector.ts"

import { signedIn } from "./Merchant.ts"

/**
 * A merchant's sentence, and an agent that knows only what the connector tells it: instructions, tools, prompts and
 * results. Every id in a story was read from one of these. `calls` is the smallest possible number of tool calls; a
 * story may use one more.
 */

/** The demo account of the stories. */
class StoryAccount extends Context.Tag("test/StoryAccount")<
  StoryAccount,
  Effect.Effect.Success<(typeof Demo)["Service"]["create"]>
>() {
  static readonly layer = Layer.effect(
    StoryAccount,
    Effect.flatMap(Demo, ({ create }) => create)
  ).pipe(Layer.orDie)
}

const anAgent = Effect.gen(function* () {
  const { account } = yield* StoryAccount
  const { connectionId, token } = yield* aConnection(account.id)
  const port = yield* portOf
  const say = (method: string, params: Readonly<Record<string, unknown>> = {}) =>
    Effect.map(send(port, { token, ...message("modern", method, params) }), (answer) => {
      const { error, result } = messageIn(answer)
      assert.isUndefined(error, JSON.stringify(error))
      return result
    })
  const { instructions } = yield* say("server/discover")
  const { tools } = yield* say("tools/list")
  const names = new Set((tools as ReadonlyArray<{ name: string }>).map(({ name }) => name))
  let calls = 0
  const call = (name: string, args: Readonly<Record<string, unknown>> = {}) =>
    Effect.gen(function* () {
      assert.isTrue(names.has(name), name)
      calls += 1
      return (yield* say("tools/call", { name, arguments: args })) as Result
    })
  /** Calls a tool; the call must succeed. */
  const get = (name: string, args: Readonly<Record<string, unknown>> = {}) =>
    Effect.map(call(name, args), ({ content, isError, structuredContent }) => {
      assert.notStrictEqual(isError, true, content[0]?.text)
      return structuredContent
    })
  /** The id of the channel whose line in the instructions has this text. */
  const channel = (text: string): string => {
    const line = String(instructions)
      .split("\n")
      .find((each) => each.toLowerCase().includes(text.toLowerCase()) && each.includes("channel_id"))
    return /channel_id ([0-9a-f-]{36})/.exec(line ?? "")?.[1] ?? assert.fail(`no channel ${text} in ${instructions}`)
  }
  return { account, call, calls: () => calls, channel, connectionId, get, instructions: String(instructions), say }
})

type Agent = Effect.Effect.Success<typeof anAgent>

/** Runs an agent's story, which must end within the least number of calls plus one. */
const story = <E, R>(calls: number, tell: (agent: Agent) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const agent = yield* anAgent
    yield* tell(agent)
    assert.isAtLeast(agent.calls(), Math.min(calls, 1), "the story was told")
    assert.isAtMost(agent.calls(), calls + 1)
  })

layer(StoryAccount.layer.pipe(Layer.provideMerge(connectorWith(ample))), {
  excludeTestServices: true
})("an agent that reads only what the connector says", (it) => {
  it.effect("1: On the china store, call the Kestrel 20 daypack 'Kestrel 20 Rain'. Nowhere else.", () =>
    story(2, ({ channel, get }) =>
      Effect.gen(function* () {
        const china = channel("china")
        const { data } = yield* get("list_products_v1", { search: "Kestrel 20", channel_id: china })
        assert.strictEqual(data.length, 1)
        const { channels } = yield* get("update_projection_attributes_v1", {
          master_id: data[0].master_id,
          channel_id: china,
          draft_revision: data[0].draft_revision,
          attributes: [{ key: "title", value: "Kestrel 20 Rain" }]
        })
        for (const { channel_id, pending_publish } of channels) if (channel_id === china) assert.isTrue(pending_publish)
      })
    )
  )

  it.effect("2: Which products were never published in the gulf?", () =>
    story(1, ({ channel, get }) =>
      Effect.gen(function* () {
        const { data } = yield* get("list_products_v1", { channel_id: channel("gulf"), status: "never_published" })
        for (const { last_publish_status } of data) assert.isString(last_publish_status)
      })
    )
  )

  it.effect("3: Which products lack a description on the china store? Draft one for each.", () =>
    story(3, ({ channel, get }) =>
      Effect.gen(function* () {
        const china = channel("china")
        yield* get("run_data_health_scan_v1", { dimension: "completeness" })
        const { data } = yield* get("list_data_health_issues_v1", {
          section: "completeness-required",
          field: "description_html",
          channel_id: china
        })
        assert.isNotEmpty(data)
        const { filled, results } = yield* get("fill_completeness_gaps_v1", {
          master_type: "product",
          operations: data.map(({ channel_id, master_id }: { channel_id: string; master_id: string }) => ({
            master_id,
            channel_id,
            field: "description_html",
            value: "<p>Made to last.</p>"
          }))
        })
        assert.strictEqual(filled, data.length)
        // Each result has the revision that a publish needs.
        for (const { draft_revision } of results) assert.isNumber(draft_revision)
      })
    )
  )

  it.effect("4: Why did publishing fail?", () =>
    story(2, ({ get }) =>
      Effect.gen(function* () {
        yield* get("run_data_health_scan_v1", { dimension: "sync" })
        const { data } = yield* get("list_data_health_issues_v1", { section: "sync-failed" })
        assert.isNotEmpty(data)
        for (const row of data) assert.match(JSON.stringify(row.reasons ?? row.reason), /\w{3,}/, JSON.stringify(row))
      })
    )
  )

  it.effect("5: The gulf and china stores have another vendor. Make them agree with the rest.", () =>
    story(3, ({ get }) =>
      Effect.gen(function* () {
        yield* get("run_data_health_scan_v1", { dimension: "divergence" })
        const { data } = yield* get("list_data_health_issues_v1", { section: "divergence", field: "vendor" })
        assert.isNotEmpty(data)
        const ids = [...new Set(data.map(({ master_id }: { master_id: string }) => master_id))].slice(0, 2)
        const { patched, results } = yield* get("reconcile_value_divergence_v1", {
          master_type: "product",
          operations: ids.map((master_id) => ({ master_id, field: "vendor", value: "Tarn & Tern" }))
        })
        assert.isAtLeast(patched, ids.length)
        for (const { ok } of results) assert.isTrue(ok)
      })
    )
  )

  it.effect("6: Show me what publishing the Curlew would change in europe, then do it.", () =>
    story(4, (agent) =>
      Effect.gen(function* () {
        const { channel, get } = agent
        const europe = channel("europe")
        const { data } = yield* get("list_products_v1", { search: "Curlew 45", channel_id: europe })
        const one = { master_id: data[0].master_id }
        const { draft_revision } = yield* get("update_master_attributes_v1", {
          ...one,
          draft_revision: data[0].draft_revision,
          attributes: [{ key: "vendor", value: "Tarn & Tern Makers" }]
        })
        const args = { ...one, draft_revision, channel_ids: [europe] }
        const preview = yield* get("publish_master_v1", { ...args, dry_run: true })
        assert.strictEqual(preview.channels[0].outcome, "would_publish")
        assert.deepInclude(
          preview.channels[0].changes.find(({ key }: { key: string }) => key === "vendor"),
          { new: "Tarn & Tern Makers" }
        )
        const { channels } = yield* get("publish_master_v1", args)
        assert.strictEqual(channels[0].outcome, "pending")
      })
    )
  )

  it.effect("7: Bring a product of europe to the gulf store.", () =>
    story(3, ({ call, channel, get }) =>
      Effect.gen(function* () {
        const [europe, gulf] = [channel("europe"), channel("gulf")]
        const { data } = yield* get("list_products_v1", {
          channel_id: europe,
          fields: ["channel_ids", "draft_revision"]
        })
        const row = data.find(({ channel_ids }: { channel_ids: ReadonlyArray<string> }) => !channel_ids.includes(gulf))
        assert.isDefined(row)
        const args = {
          master_id: row.master_id,
          channel_id: gulf,
          draft_revision: row.draft_revision,
          attributes: [{ key: "seo_title", value: "New in the gulf" }]
        }
        // The refusal names the argument.
        const refused = yield* call("update_projection_attributes_v1", args)
        assert.isTrue(refused.isError)
        assert.match(refused.content[0]?.text ?? "", /with add_to_channel true adds it there/)
        const { channels } = yield* get("update_projection_attributes_v1", { ...args, add_to_channel: true })
        assert.include(
          channels.map(({ channel_id }: { channel_id: string }) => channel_id),
          gulf
        )
      })
    )
  )

  it.effect("8: Remove the SEO title that only china has for the Kestrel 28.", () =>
    story(2, ({ channel, get }) =>
      Effect.gen(function* () {
        const china = channel("china")
        const { data } = yield* get("list_products_v1", { search: "Kestrel 28", channel_id: china })
        const { draft_revision } = yield* get("update_projection_attributes_v1", {
          master_id: data[0].master_id,
          channel_id: china,
          draft_revision: data[0].draft_revision,
          attributes: [{ key: "seo_title", value: null }]
        })
        assert.isNumber(draft_revision)
      })
    )
  )

  it.effect("9: Translate the Kestrel 20 into German.", () =>
    story(2, ({ call, get, instructions }) =>
      Effect.gen(function* () {
        assert.match(instructions, /Translations are read-only/)
        const { data } = yield* get("list_products_v1", { search: "Kestrel 20" })
        const { translatable_fields } = yield* get("get_master_translations_v1", { master_id: data[0].master_id })
        assert.isNotEmpty(translatable_fields)
        // A language is refused by its name; the refusal lists the codes.
        const refused = yield* call("list_data_health_issues_v1", {
          section: "translations-untranslated",
          locale: "German"
        })
        assert.isTrue(refused.isError)
        assert.match(refused.content[0]?.text ?? "", /\bde\b/)
      })
    )
  )

  it.effect("10: What was changed today and is not live yet?", () =>
    story(1, ({ get }) =>
      Effect.gen(function* () {
        const { data } = yield* get("list_masters_v1", {
          pending: true,
          updated_since: new Date(Date.now() - 86_400_000).toISOString()
        })
        for (const { pending_publish } of data) assert.isTrue(pending_publish)
      })
    )
  )

  it.effect("11: Publish everything that waits for the gulf store.", () =>
    story(2, (agent) =>
      Effect.gen(function* () {
        const gulf = agent.channel("gulf")
        const { data } = yield* agent.get("list_products_v1", {
          channel_id: gulf,
          pending: true,
          limit: 50,
          fields: ["draft_revision"]
        })
        assert.isNotEmpty(data)
        const { masters } = yield* agent.get("publish_master_v1", { masters: data, channel_ids: [gulf] })
        assert.strictEqual(masters.length, data.length)
        for (const { outcome } of masters)
          assert.include(["pending", "nothing_to_publish", "refused", "published"], outcome)
      })
    )
  )

  it.effect("12: The agent got it wrong: undo what it changed.", () =>
    story(3, (agent) =>
      Effect.gen(function* () {
        const { account, connectionId, get, say } = agent
        const { data } = yield* get("list_products_v1", { search: "Kestrel 28" })
        const master_id = data[0].master_id
        yield* get("update_master_attributes_v1", {
          master_id,
          draft_revision: data[0].draft_revision,
          attributes: [{ key: "vendor", value: "Wrong Name" }]
        })
        // The agent learns who can undo its changes, and on which page.
        const { messages } = yield* say("prompts/get", { name: "review_agent_changes", arguments: {} })
        const text: string = messages[0].content.text
        const [, page] = /can undo its drafts, at (\S+)\. /.exec(text) ?? assert.fail(text)
        assert.strictEqual(page, `${yield* baseUrlOf}/settings/connections`)
        // The merchant undoes the changes on that page.
        const cookie = yield* signedIn(account.id, "story@merchant.example")
        const undo = "/settings/connections/undo"
        const review = yield* ask(`${undo}?${new URLSearchParams({ id: connectionId, since: "hour" })}`, { cookie })
        assert.include(review.text, "Wrong Name")
        const done = yield* ask(undo, { cookie, form: sectionsOf(review.text, undo).hidden })
        assert.strictEqual(done.status, 200, done.text)
        const { attributes } = yield* get("get_master_v1", { master_id, attributes: ["vendor"] })
        assert.notStrictEqual(attributes[0].value, "Wrong Name")
      })
    )
  )
})
