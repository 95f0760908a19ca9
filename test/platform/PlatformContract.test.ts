import { readFileSync } from "node:fs"
import { assert, describe, it, layer } from "@effect/vitest"
import { Chunk, Effect, Option, Stream } from "effect"
import { valueOf } from "../../src/model/Attribute.ts"
import type { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformUnavailable } from "../../src/platform/PlatformErrors.ts"
import type { Publication } from "../../src/platform/Publication.ts"
import { type PlatformUnderTest, platformContract } from "../../src/testing/index.ts"
import { attributesOf, newId } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "./AdminSchema.ts"
import {
  demoUnderTest,
  impossibleForDemo,
  PlainshopClient,
  plainshopUnderTest,
  shopifyUnderTest
} from "./ContractPlatforms.ts"
import { demoEngines, demoMemory } from "./PlatformEngines.ts"
import { shopify } from "./PlatformShops.ts"

for (const engine of [{ name: "memory", absent: false, layer: demoMemory }, ...demoEngines])
  describe.skipIf(engine.absent)(`the contract of platforms: the demo on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      for (const { check, name } of platformContract(demoUnderTest, impossibleForDemo)) it.effect(name, () => check)
    })
  })

describe.skipIf(adminSchema === undefined)("the contract of platforms: Shopify", () => {
  layer(shopify, { excludeTestServices: true })((it) => {
    for (const { check, name } of platformContract(shopifyUnderTest)) it.effect(name, () => check)
  })
})

describe("the contract of platforms: the adapter of the guide", () => {
  layer(PlainshopClient.Default, { excludeTestServices: true })((it) => {
    for (const { check, name } of platformContract(plainshopUnderTest)) it.effect(name, () => check)
  })
})

it("the guide quotes this test file", () => {
  const blocks = readFileSync("docs/platforms.md", "utf8").split("```ts\n").slice(1)
  assert.isAbove(blocks.length, 0)
  const source = readFileSync("test/platform/PlatformContract.test.ts", "utf8")
  for (const block of blocks) assert.include(source, block.slice(0, block.indexOf("```")))
})

type Client = PlatformClient["Type"]

const renamed = <P extends Publication>(publication: P): P => ({
  ...publication,
  key: crypto.randomUUID(),
  entityId: newId()
})

/** Wrong adapters, and the rule that must fail for each. */
const planted: Readonly<
  Record<string, { readonly rule: string; readonly wrong: (client: Client) => Partial<Client> }>
> = {
  "loses the last page": {
    rule: "a pull reads every page, in order, and ids are stable",
    wrong: (client) => ({ pull: (store) => Stream.take(client.pull(store), 40) })
  },
  "acknowledges without writing": {
    rule: "a pull gives back what was published",
    wrong: () => ({
      publish: (_, { entityId }) => Effect.succeed({ platformIds: new Map([[entityId, "plain/1"]]) })
    })
  },
  "duplicates on a retry": {
    rule: "the same publication again has its effect once",
    wrong: (client) => {
      const sent = new Set<string>()
      return {
        publish: (store, publication) => {
          const isAgain = sent.has(publication.key)
          sent.add(publication.key)
          return client.publish(store, isAgain ? renamed(publication) : publication)
        }
      }
    }
  },
  "says unavailable for a revoked key": {
    rule: "credentials that were revoked are refused as UNAUTHORIZED",
    wrong: (client) => ({
      verify: (store) =>
        Effect.catchTag(client.verify(store), "PlatformRefused", () => new PlatformUnavailable({ reason: "server" }))
    })
  },
  "drops metafields": {
    rule: "a pull gives back what was published",
    wrong: (client) => ({
      publish: (store, publication) =>
        client.publish(store, {
          ...publication,
          attributes: Object.fromEntries(Object.entries(publication.attributes).filter(([key]) => !key.includes(".")))
        })
    })
  },
  "keeps the picture of a variant": {
    rule: "a variant shows the picture of its publish, another, or none, and keeps it if the publish has no picture",
    wrong: (client) => ({
      publish: (store, publication) => {
        if (publication._tag !== "Variant") return client.publish(store, publication)
        const { picture: _, ...others } = publication
        return client.publish(store, others)
      }
    })
  },
  "shows a picture of a variant that left the product": {
    rule: "a picture that leaves its product leaves the variants that show it, and does not come back with the product",
    wrong: (client) => {
      const seen = new Map<string, string>()
      return {
        pull: (store) =>
          Stream.map(client.pull(store), (record) => {
            if (typeof record.picture === "string") seen.set(record.platformId, record.picture)
            const picture = seen.get(record.platformId)
            return picture === undefined ? record : { ...record, picture }
          })
      }
    }
  },
  "says that a lost write did not happen": {
    rule: "a lost answer is an unknown outcome, and reading back tells it",
    wrong: (client) => ({
      publish: (store, publication) =>
        Effect.catchTag(
          client.publish(store, publication),
          "PlatformOutcomeUnknown",
          () => new PlatformUnavailable({ reason: "transport" })
        )
    })
  },
  "says that a throttled write may have happened": {
    rule: "a rate limit for long is unavailable, and nothing is published",
    wrong: (client) => ({
      publish: (store, publication) =>
        Effect.catchTag(
          client.publish(store, publication),
          "PlatformUnavailable",
          ({ reason }) => new PlatformOutcomeUnknown({ reason })
        )
    })
  },
  "takes over records of the shop's staff": {
    rule: "a first publish does not take over a record of the shop's staff with its handle or SKU, and is refused",
    wrong: (client) => ({
      publish: (store, publication) => {
        const handle = valueOf(publication.attributes, "handle")
        return Effect.flatMap(Stream.runCollect(client.pull(store)), (records) => {
          const same = Chunk.findFirst(
            records,
            ({ attributes, entityId, kind }) =>
              entityId === null && kind === publication._tag.toLowerCase() && valueOf(attributes, "handle") === handle
          )
          return client.publish(
            store,
            Option.match(same, {
              onNone: () => publication,
              onSome: ({ platformId }) => ({ ...publication, platformId })
            })
          )
        })
      }
    })
  },
  "creates a second record of what the shop has accepted": {
    rule: "a record with the handle or SKU of an entity that the shop has accepted without telling its id is the entity's",
    wrong: (client) => ({
      publish: (store, publication) =>
        client.publish(
          store,
          publication.isAccepted === true
            ? {
                ...publication,
                isAccepted: false,
                attributes: { ...publication.attributes, ...attributesOf({ handle: crypto.randomUUID() }) },
                ...(publication._tag === "Product" && { variants: [] })
              }
            : publication
        )
    })
  },
  "reads another shop": {
    rule: "a shop has only what was published to it",
    wrong: (client) => {
      let first: Parameters<Client["pull"]>[0] | undefined
      return {
        pull: (store) => {
          first ??= store
          return client.pull(first)
        },
        publish: (store, publication) => {
          first ??= store
          return client.publish(store, publication)
        }
      }
    }
  }
}

describe("the contract of platforms fails for wrong adapters", () => {
  for (const [name, { rule, wrong }] of Object.entries(planted))
    it.live(`an adapter that ${name}`, () =>
      Effect.gen(function* () {
        const make = Effect.map(
          plainshopUnderTest,
          (right): PlatformUnderTest => ({ ...right, client: { ...right.client, ...wrong(right.client) } })
        )
        const found = platformContract(make).find((each) => each.name === rule) ?? assert.fail(`no rule ${rule}`)
        const broken = yield* Effect.flip(found.check)
        assert.strictEqual(broken._tag, "ContractBroken")
        assert.strictEqual(broken.rule, rule)
      }).pipe(Effect.provide(PlainshopClient.Default))
    )

  it("leaves out only the rules of failures that a platform does not have", () => {
    const names = (impossible: ReadonlyArray<"down" | "revoked">) =>
      platformContract(plainshopUnderTest, impossible).map(({ name }) => name)
    assert.lengthOf(names([]), 21)
    assert.deepStrictEqual(
      names([]).filter((name) => !names(["revoked", "down"]).includes(name)),
      ["a platform that is down has published nothing", "credentials that were revoked are refused as UNAUTHORIZED"]
    )
  })
})
