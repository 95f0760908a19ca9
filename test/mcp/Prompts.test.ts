import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { listedPrompts } from "../../src/mcp/Prompts.ts"
import { listedResources } from "../../src/mcp/Resources.ts"
import {
  aConnection,
  ample,
  baseUrlOf,
  connectorWith,
  type Era,
  message,
  messageIn,
  portOf,
  send
} from "./Connector.ts"
import { DemoSamples, demoSamples, type Samples } from "./Samples.ts"
import { allToolNames } from "./ToolNames.ts"

/** A demo account that the connections of these tests do not belong to. */
class OtherSamples extends Context.Tag("test/OtherSamples")<OtherSamples, Samples>() {
  static readonly layer = Layer.effect(OtherSamples, demoSamples)
}

/** Sends one request to the connector with a new connection of the account. Returns the result or the error. */
const requestAs = (accountId: Parameters<typeof aConnection>[0], era: Era) =>
  Effect.gen(function* () {
    const { token } = yield* aConnection(accountId, "pim:read")
    const port = yield* portOf
    return (method: string, params: Readonly<Record<string, unknown>> = {}) =>
      Effect.map(send(port, { token, ...message(era, method, params) }), (answer) => {
        assert.isBelow(answer.status, 500, answer.text)
        return messageIn(answer)
      })
  })

const argumentsOf = (name: string, domain: string): Readonly<Record<string, string>> =>
  name === "prepare_launch"
    ? { search: "tea", channel: domain }
    : name === "fill_missing_descriptions"
      ? { channel: domain }
      : {}

layer(Layer.merge(DemoSamples.layer, OtherSamples.layer).pipe(Layer.provideMerge(connectorWith(ample))))(
  "prompts and resources",
  (it) => {
    for (const era of ["modern", "legacy"] as const) {
      it.effect(`lists five prompts whose steps name existing tools (${era})`, () =>
        Effect.gen(function* () {
          const { accountId, channel, domain } = yield* DemoSamples
          const request = yield* requestAs(accountId, era)
          const { result } = yield* request("prompts/list")
          assert.strictEqual(result.prompts.length, 5)
          assert.deepStrictEqual(result.prompts, JSON.parse(JSON.stringify(listedPrompts.prompts)))
          for (const { name } of result.prompts) {
            const given = argumentsOf(name, domain)
            const { result: prompt } = yield* request("prompts/get", { name, arguments: given })
            const text: string = prompt.messages[0].content.text
            assert.match(text, /^[A-Z][\w' ]+[.?]\n1\. /)
            const tools = text.match(/\w+_v1\b/g) ?? []
            assert.isAbove(tools.length, 1, text)
            for (const tool of tools) assert.include(allToolNames, tool)
            if ("channel" in given) {
              assert.include(text, channel)
              const byId = { name, arguments: { ...given, channel: channel.toUpperCase() } }
              assert.deepStrictEqual((yield* request("prompts/get", byId)).result, prompt)
            }
            assert.notInclude(text, "undefined")
          }
          const review = yield* request("prompts/get", { name: "review_agent_changes", arguments: { days: "7" } })
          assert.include(review.result.messages[0].content.text, `${yield* baseUrlOf}/settings/connections`)
          assert.include(review.result.messages[0].content.text, "7 day(s)")
          // Drafts of one channel are pending, but no canonical change.
          assert.match(review.result.messages[0].content.text, /^2\. Call it again with pending true alone/m)
          // A scan has what failed before it only.
          const failed = yield* request("prompts/get", { name: "explain_failed_publishes", arguments: { channel } })
          assert.match(
            failed.result.messages[0].content.text,
            /^1\. Call list_masters_v1 with status "failed" for the channel /m
          )
          assert.match(failed.result.messages[0].content.text, /^2\. .* "sync-failed" and the same channel_id;/m)
        })
      )

      it.effect(`refuses unknown and invalid arguments of a prompt, and names the valid ones (${era})`, () =>
        Effect.gen(function* () {
          const { accountId, domain } = yield* DemoSamples
          const other = yield* OtherSamples
          const request = yield* requestAs(accountId, era)
          const refused = (name: string, args: unknown) =>
            Effect.map(request("prompts/get", { name, arguments: args }), ({ error }) => {
              assert.strictEqual(error.code, -32_602)
              assert.match(error.data.request_id, /^req_/)
              return String(error.message)
            })
          assert.match(yield* refused("nothing", {}), /^Unknown prompt: nothing\. The prompts are fill_missing_/)
          assert.strictEqual(
            yield* refused("fill_missing_descriptions", {}),
            "channel: is missing. It is required by fill_missing_descriptions."
          )
          assert.match(
            yield* refused("fill_missing_descriptions", { channel: "nowhere.example" }),
            new RegExp(`^channel: is not a channel of this account; the channels are .*${domain}`)
          )
          // A channel of another account reads as unknown.
          assert.match(
            yield* refused("fill_missing_descriptions", { channel: other.channel }),
            /^channel: is not a channel of this account/
          )
          assert.strictEqual(
            yield* refused("review_agent_changes", { days: "91" }),
            "days: must be a whole number from 1 to 90."
          )
          assert.strictEqual(
            yield* refused("make_stores_agree", { color: "red" }),
            "Unknown argument of make_stores_agree: color. It takes field."
          )
          assert.strictEqual(
            yield* refused("make_stores_agree", { field: "x".repeat(201) }),
            "field: must have at most 200 characters."
          )
        })
      )

      it.effect(`reads every resource, within the account (${era})`, () =>
        Effect.gen(function* () {
          const { accountId, channel, domain } = yield* DemoSamples
          const other = yield* OtherSamples
          const request = yield* requestAs(accountId, era)
          const { result } = yield* request("resources/list")
          assert.deepStrictEqual(result.resources, JSON.parse(JSON.stringify(listedResources.resources)))
          const read = (uri: string) =>
            Effect.map(request("resources/read", { uri }), ({ result: { contents } }) => {
              assert.strictEqual(contents.length, 1)
              assert.strictEqual(contents[0].uri, uri)
              assert.strictEqual(contents[0].mimeType, "application/json")
              assert.isAtMost(contents[0].text.length, 60_000)
              return JSON.parse(contents[0].text)
            })
          for (const { uri } of result.resources) assert.isObject(yield* read(uri))
          const product = yield* read("catalog://attributes/product")
          assert.deepInclude(product.data, {
            key: "title",
            writable: true,
            type: "single_line_text_field",
            max_length: 255
          })
          assert.deepInclude(
            product.data.find(({ key }: { key: string }) => key === "options"),
            { writable: false }
          )
          const channels = yield* read("catalog://channels")
          const own = channels.data.find(({ channel_id }: { channel_id: string }) => channel_id === channel)
          assert.deepInclude(own, { domain })
          assert.containsAllKeys(own, ["name", "platform", "primary_locale", "locales", "currency"])
          assert.notInclude(JSON.stringify(channels), other.channel)
          const rules = yield* read("catalog://completeness-rules")
          assert.include(rules.product.required, "title")
          const definitions = yield* read("catalog://metafield-definitions")
          for (const row of definitions.data) assert.containsAllKeys(row, ["owner_type", "key", "type"])
        })
      )

      it.effect(`refuses a resource that does not exist (${era})`, () =>
        Effect.gen(function* () {
          const { accountId } = yield* DemoSamples
          const request = yield* requestAs(accountId, era)
          for (const uri of [
            "catalog://attributes/shop",
            "catalog://",
            "file:///etc/passwd",
            "__proto__",
            "constructor"
          ]) {
            const { error } = yield* request("resources/read", { uri })
            assert.strictEqual(error.code, -32_602)
            assert.strictEqual(error.message, `Unknown resource: ${uri}. resources/list names all.`)
          }
        })
      )

      it.effect(`completes channels, days and kinds (${era})`, () =>
        Effect.gen(function* () {
          const { accountId, domain } = yield* DemoSamples
          const request = yield* requestAs(accountId, era)
          const complete = (ref: unknown, name: string, value: string) =>
            Effect.map(
              request("completion/complete", { ref, argument: { name, value } }),
              ({ result }): ReadonlyArray<string> => result.completion.values
            )
          const prompt = (name: string) => ({ type: "ref/prompt", name })
          const template = { type: "ref/resource", uri: "catalog://attributes/{master_type}" }
          assert.include(yield* complete(prompt("prepare_launch"), "channel", domain.slice(0, 2).toUpperCase()), domain)
          assert.deepStrictEqual(yield* complete(prompt("prepare_launch"), "channel", "zzz"), [])
          assert.deepStrictEqual(yield* complete(prompt("review_agent_changes"), "days", ""), ["1", "7", "30", "90"])
          assert.deepStrictEqual(yield* complete(template, "master_type", "c"), ["collection"])
          assert.deepStrictEqual(yield* complete(prompt("nothing"), "channel", ""), [])
          assert.deepStrictEqual(yield* complete({ type: "ref/resource", uri: "catalog://channels" }, "x", ""), [])
        })
      )
    }
  }
)
