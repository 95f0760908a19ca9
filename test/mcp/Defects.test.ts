import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { NotFound, Unavailable, ValidationFailed } from "../../src/model/Errors.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { anAccount, Catalog } from "../../src/testing/index.ts"
import { errorLog } from "../support/ErrorLog.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { aConnection, callWith, serverWith } from "./Connector.ts"

const master_id = "00000000-0000-4000-8000-000000000001"
const failed = "Failed: something went wrong on our side."
const log = errorLog()

const connector = serverWith().pipe(
  Layer.provide(
    Layer.mock(Catalog, {
      list: () => Effect.die(new Unavailable()),
      kindOf: () => Effect.die(new NotFound()),
      related: () => Effect.die(ValidationFailed.at("cursor", "planted"))
    })
  ),
  Layer.provide(log.layer),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.orDie
)

layer(connector, { excludeTestServices: true })("a tool that died", (it) => {
  for (const [tool, reason] of [
    ["get_master_v1", "NotFound"],
    ["get_master_related_v1", "planted"]
  ] as const)
    it.effect(
      `is reported as an internal error and logged once, although its tag is that of an API error: ${tool}`,
      () =>
        Effect.gen(function* () {
          const { accountId } = yield* anAccount()
          const { token } = yield* aConnection(accountId)
          const { _meta, content, isError } = yield* callWith(token)(tool, { master_id })
          const [said] = Object.values(_meta ?? {})
          assert.strictEqual(isError, true)
          assert.deepStrictEqual(content, [
            {
              type: "text",
              text: `${failed} Call ${tool} again later, or quote the request id in _meta to the operator: the log has the cause under it.`
            }
          ])
          assert.strictEqual(said?.code, "internal_error")
          const entries = log.of(said?.request_id)
          assert.lengthOf(entries, 1)
          assert.include(entries[0], reason)
        })
    )

  it.effect("is reported as unavailable, not as a defect, if the database cannot be reached", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const { token } = yield* aConnection(accountId)
      const { _meta } = yield* callWith(token)("list_masters_v1")
      const [said] = Object.values(_meta ?? {})
      assert.strictEqual(said?.code, "unavailable")
      assert.lengthOf(log.of(said?.request_id), 0)
    })
  )
})
