import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Context, Option, Schema } from "effect"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import { ConnectorApi } from "../../src/api/ConnectorApi.ts"
import { RestApi } from "../../src/api/RestApi.ts"
import { inConnector, readOnly, Tool } from "../../src/api/Tool.ts"
import { tools } from "../../src/mcp/Calls.ts"
import { toolsOf } from "../../src/mcp/Tools.ts"
import { clashesOf, wordsOf } from "../../src/mcp/Vocabulary.ts"
import { allToolNames, toolNames } from "./ToolNames.ts"

const listed = tools.map(({ listed }) => listed)
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** Lists a schema and all schemas inside it, with their paths. */
const schemasIn = (schema: unknown, path = "$"): ReadonlyArray<readonly [string, Record<string, unknown>]> => {
  if (typeof schema !== "object" || schema === null) return []
  const own = schema as Record<string, unknown>
  const below = Object.entries(own).flatMap(([keyword, value]) => {
    if (keyword === "properties")
      return Object.entries(value as object).flatMap(([name, member]) => schemasIn(member, `${path}.${name}`))
    if (["items", "additionalProperties"].includes(keyword)) return schemasIn(value, `${path}[]`)
    if (["anyOf", "oneOf", "allOf"].includes(keyword))
      return (value as ReadonlyArray<unknown>).flatMap((member, index) => schemasIn(member, `${path}|${index}`))
    return []
  })
  return [[path, own], ...below]
}

/** The endpoints that are offered as tools, by tool name. */
const annotated = () => {
  const found: Array<string> = []
  for (const api of [ConnectorApi, RestApi] as ReadonlyArray<unknown>)
    HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        const tool = Context.getOption(endpoint.annotations as Context.Context<Tool>, Tool)
        if (Option.isSome(tool)) found.push(tool.value.name)
      }
    })
  return found
}

describe("the tools", () => {
  it("are the 28, each once", () => {
    assert.sameMembers(
      listed.map(({ name }) => name),
      [...allToolNames]
    )
    assert.strictEqual(listed.length, 28)
  })

  it("have a title, a description in a fixed order, no other arguments, an object as result, and every hint", () => {
    const beginnings = listed.map(({ description }) => description.slice(0, 60))
    assert.strictEqual(new Set(beginnings).size, beginnings.length, "two descriptions have the same beginning")
    for (const { input, listed: each, tool } of tools) {
      const { does, ids, never, usage: rather } = tool.description
      assert.isNotEmpty(each.title)
      const needs = {
        "pim:read": [],
        "pim:write": ["Needs the write tier."],
        "pim:publish": ["Needs the publish tier."]
      }
      assert.strictEqual(each.description, [does, rather, ids, never, ...needs[tool.tier]].join(" "), each.name)
      for (const part of [does, rather, ids, never]) assert.match(part, /^(?:[A-Z]|\w+_v1\b)[\s\S]*\.$/, each.name)
      assert.isAtMost(each.description.length, 900, each.name)
      const neighbours = rather.match(/\w+_v1/g) ?? []
      assert.isNotEmpty(neighbours, `${each.name}: no neighbour is named`)
      assert.notInclude(neighbours, each.name)
      assert.match(never, /\bnever\b/i, each.name)
      const words = `${each.description} ${Object.keys(each.inputSchema.properties).join(" ")}`
      if (/channel/.test(words.replace(/sales[ _]channels?/g, "")))
        assert.match(each.description, /linked store/, `${each.name}: what a channel is`)
      for (const name of each.description.match(/\w+_v\d/g) ?? []) assert.include(allToolNames, name)
      const needed = input.required.filter((name) => name.endsWith("_id") || name.endsWith("_ids"))
      if (needed.length > 0) assert.match(ids, /\w+_v1/, `${each.name}: which tool gives its ids`)
      for (const source of Object.values(tool.idsFrom ?? {})) assert.include(allToolNames, source)
      for (const argument of Object.keys(tool.idsFrom ?? {})) assert.property(each.inputSchema.properties, argument)

      assert.strictEqual(each.inputSchema.type, "object")
      assert.strictEqual(each.inputSchema.additionalProperties, false)
      assert.strictEqual(each.outputSchema.type, "object")
      assert.hasAllKeys(each.annotations, ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])
      assert.strictEqual(each.annotations.readOnlyHint, tool.tier === "pim:read")
    }
  })

  it("have schemas without references, root unions, numbers as text, and generated descriptions", () => {
    for (const each of listed)
      for (const root of [each.inputSchema, each.outputSchema]) {
        const text = JSON.stringify(root)
        for (const noise of ["$ref", "$defs", "$schema", "a string", "an integer", "a number", "NumberFromString"])
          assert.notInclude(text, noise, each.name)
        for (const keyword of ["oneOf", "anyOf", "allOf"]) assert.notProperty(root, keyword, each.name)
        for (const [path, schema] of schemasIn(root)) {
          assert.notProperty(schema, "title", `${each.name} ${path}`)
          if (typeof schema.description === "string")
            assert.match(schema.description, /^[A-Z`]/, `${each.name} ${path}`)
          if (schema.type === "object" && root === each.inputSchema)
            assert.strictEqual(schema.additionalProperties, false, `${each.name} ${path}`)
          const name = path.split(".").at(-1) ?? ""
          if (["limit", "page", "page_size", "draft_revision"].includes(name))
            assert.strictEqual(schema.type, "integer", `${each.name} ${path}`)
        }
        for (const [name, schema] of Object.entries(root.properties))
          if (root === each.inputSchema) assert.property(schema, "description", `${each.name} ${name}`)
      }
  })

  it("are what the golden file says", async ({ expect }) => {
    await expect(`${JSON.stringify(listed, null, 2)}\n`).toMatchFileSnapshot("tools.golden.txt")
  })

  it("are the annotated endpoints, one for one, and an endpoint more or another schema is noticed", () => {
    assert.sameMembers(
      annotated(),
      listed.map(({ name }) => name)
    )
    const more = HttpApi.make("more").add(
      HttpApiGroup.make("more").add(
        HttpApiEndpoint.get("more", "/more")
          .setUrlParams(Schema.Struct({ store_id: Schema.String.pipe(inConnector("channel_id")) }))
          .addSuccess(Schema.Struct({ store_id: Schema.Int.pipe(inConnector("channel_id")) }))
          .annotate(Tool, {
            name: "more_v1",
            title: "More",
            tier: "pim:read",
            hints: readOnly,
            description: { does: "", usage: "", ids: "", never: "" },
            answer: { kind: "record" }
          })
      )
    )
    const [found] = toolsOf(more)
    assert.strictEqual(found?.listed.name, "more_v1")
    assert.hasAllKeys(found?.listed.inputSchema.properties, ["channel_id"])
    assert.deepStrictEqual(found?.listed.outputSchema.properties.channel_id, { type: "integer" })
  })

  it("need the tiers of one table", () => {
    for (const { listed: each, tool } of tools) assert.include(toolNames[tool.tier] as ReadonlyArray<string>, each.name)
  })

  it("name every member of an object once: the renaming is injective", () => {
    for (const { inputs, listed: each, success } of tools)
      for (const ast of [...inputs, success]) assert.deepStrictEqual(clashesOf(ast), [], each.name)
    const twice = Schema.Struct({
      id: Schema.String.pipe(inConnector("master_id")),
      nested: Schema.Array(
        Schema.Struct({ entity_id: Schema.String.pipe(inConnector("master_id")), master_id: Schema.String })
      )
    })
    assert.deepStrictEqual(clashesOf(twice.ast), ["$.nested[]: master_id"])
  })

  it("speak of masters and channels, never of what REST calls them", () => {
    for (const each of listed)
      for (const root of [each.inputSchema, each.outputSchema])
        for (const [path] of schemasIn(root)) {
          const name =
            path
              .split(".")
              .at(-1)
              ?.replace(/[[\]|\d]+$/, "") ?? ""
          assert.notInclude(
            ["entity_id", "store_id", "store_ids", "entity_type", "winner_store_id", "stores"],
            name,
            `${each.name} ${path}`
          )
        }
  })

  it("describe arguments by their own names, also where the description of one names another", () => {
    for (const { inputs, listed: each } of tools)
      for (const [path, { description }] of schemasIn(each.inputSchema))
        for (const [rest] of inputs.flatMap(wordsOf))
          if (rest.includes("_"))
            assert.notMatch(String(description), new RegExp(`\\b${rest}\\b`), `${each.name} ${path}`)
  })

  it("the whole list fits 12,000 tokens and 52 KB, its arguments 32 KB", () => {
    const whole = { tools: listed }
    const inputs = listed.map(({ inputSchema }) => inputSchema)
    // The message adds an envelope to the list.
    assert.isAtMost(bytes(whole), 52 * 1024 - 500)
    assert.isAtMost(bytes(inputs), 32 * 1024)
    const tokens = new Tiktoken(o200k).encode(JSON.stringify(whole)).length
    assert.isAtMost(tokens, 12_000)
    assert.isAbove(tokens, 5_000, "the tokens were counted")
  })
})
