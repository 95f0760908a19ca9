import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { type EntityId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, Drafts } from "../../src/testing/index.ts"
import { aConnectionTo } from "../mcp/Connector.ts"
import { commandsWith } from "../support/Commands.ts"
import { layerServer, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const write = (by: Actor, id: EntityId, values: Readonly<Record<string, string>>, storeId: StoreId | null = null) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    const { draft_revision } = yield* drafts.get(id, null)
    const update = { draft_revision, attributes: Object.entries(values).map(([key, value]) => ({ key, value })) }
    yield* storeId === null ? drafts.updateAttributes(id, update) : drafts.updateVersionAttributes(id, storeId, update)
  }).pipe(actingAs(by), Effect.orDie)

describe.skipIf(!serverAnswers)("connection commands", () => {
  layer(ServicesOnDatabase.pipe(Layer.provideMerge(layerServer), Layer.orDie), {
    excludeTestServices: true
  })((it) => {
    it.effect("list, show and undo", () =>
      Effect.gen(function* () {
        const { run, json, misuse, refusal, said } = commandsWith({
          DATABASE_URL: Redacted.value(yield* TestDatabaseUrl)
        })
        const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example", "b.example"] })
        const [store, other] = stores
        assert.strictEqual(yield* said("connection", "list"), "There are no connections.")
        const { connectionId, userId } = yield* aConnectionTo("http://pim.example", accountId, "pim:write")
        const product = yield* anEntity("product", { title: "Tent" }, { on: [store] }).pipe(actingAs(actor))
        const agent: Actor = { _tag: "Connection", accountId, connectionId }
        yield* write(agent, product, { title: "Agent", vendor: "Agent" })
        yield* write(agent, product, { title: "Zelt" }, store.id)
        yield* write(actor, product, { vendor: "Person" })

        const { connections } = yield* json("connection", "list")
        assert.lengthOf(connections, 1)
        assert.deepInclude(connections[0], {
          connection_id: connectionId,
          client_name: "Test agent",
          redirect_host: "agent.example",
          tier: "pim:write",
          store_domains: null,
          confirm_publish: false,
          user_email: `${userId}@user.example`,
          last_used_at: null
        })
        const shown = yield* json("connection", "show", connectionId.toUpperCase())
        const [day] = shown.days
        assert.deepStrictEqual([day.calls, day.writes, day.publishes], [0, 2, 0])
        assert.deepStrictEqual(
          shown.changes.map(({ at: _, ...change }: { at: string }) => change),
          [
            { store_id: store.id, store_domain: "a.example", fields: ["title"] },
            { store_id: null, store_domain: null, fields: ["title", "vendor"] }
          ].map((change) => ({
            entity_id: product,
            entity_type: "product",
            title: "Agent",
            ...change,
            action: "attributes",
            published_on: []
          }))
        )
        const lines = (yield* said("connection", "show", connectionId)).split("\n")
        assert.strictEqual(lines[2], `${day.day}  calls 0, writes 2, publishes 0`)
        assert.match(String(lines[5]), /Z {2}product .* {2}title, vendor {2}\(draft\)$/)

        const expected = [
          `  product ${product}  title "Agent" -> "Tent"`,
          `  product ${product}  vendor is not undone: edited since by cli`,
          `  product ${product}  a.example: title "Zelt" -> inherited`
        ]
        const undo = ["connection", "undo", connectionId, "--since", "hour"]
        assert.deepStrictEqual((yield* said(...undo, "--dry-run")).split("\n"), [
          ...expected,
          "Would undo 2 changes of 1 entity. 1 left alone. Nothing was changed."
        ])
        const dry = yield* json(...undo, "--dry-run")
        assert.deepInclude(dry, { connection_id: connectionId, dry_run: true, entities: 1, fields: 2, left_alone: 1 })
        assert.deepStrictEqual(dry.listed[0], {
          entity_id: product,
          entity_type: "product",
          store_id: null,
          store_domain: null,
          action: "attributes",
          field: "title",
          now: "Agent",
          before: "Tent",
          left_alone: null
        })

        const lock = yield* ImportLockRepo
        yield* lock.keep(accountId, yield* mintId(ImportId))
        assert.strictEqual(yield* refusal(...undo), "Nothing was written: an import had locked the account: try again")
        yield* lock.keep(accountId, null)

        assert.deepStrictEqual((yield* run(...undo)).stdout.trimEnd().split("\n"), [
          expected[1],
          "Undone: 2 changes of 1 entity. 1 left alone.",
          "These are drafts: published values stay live until the next publish."
        ])
        const again = yield* json(...undo)
        assert.deepInclude(again, { dry_run: false, entities: 0, fields: 0, left_alone: 1 })
        assert.match(yield* said("history", product, "--limit", "1"), / {2}cli undoing connection "Test agent" {2}/)

        yield* Effect.flatMap(Drafts, (drafts) => drafts.addStoreVersion(product, other.id)).pipe(actingAs(agent))
        assert.deepStrictEqual((yield* said(...undo, "--dry-run")).split("\n"), [
          expected[1],
          `  product ${product}  b.example: added to the store -> taken off the store`,
          "Would undo 1 change of 1 entity. 1 left alone. Nothing was changed."
        ])
        yield* run(...undo)
        assert.strictEqual(
          yield* refusal("store-version", "remove", product, "--store", "b.example"),
          `The account has no entity ${product} on b.example.`
        )

        const missing = "The account has no connection nonsense: see `catalog connection list`."
        assert.strictEqual(yield* refusal("connection", "show", "nonsense"), missing)
        assert.strictEqual(yield* refusal("connection", "undo", "nonsense", "--since", "hour"), missing)
        assert.strictEqual(
          yield* refusal("connection", "undo", connectionId, "--since", "soon"),
          "--since: must be an RFC 3339 date-time with an offset, such as 2026-01-31T09:30:00Z, or one of hour, today, week"
        )
        assert.include(yield* misuse("connection", "undo", connectionId), "Expected to find option: '--since'")
      })
    )
  })
})
