import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Connections } from "../../src/connections/Connections.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { layerPool } from "../faults/ServerServices.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { aConnectionTo, type Era, message, messageIn, send } from "./Connector.ts"

/** The address at which clients reach all processes; any of them may answer. */
const base = "http://catalog.example"

const Live = ServicesOnDatabase.pipe(Layer.provideMerge(layerPool(4)), Layer.provideMerge(layerServerUrl), Layer.orDie)

const aProcess = Effect.acquireRelease(
  Effect.gen(function* () {
    const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
    const port = yield* Effect.promise(freePort)
    const server = yield* Effect.promise(() =>
      serveCatalog({ DATABASE_URL, BASE_URL: base, HOST: "127.0.0.1", PORT: String(port), LOG_FORMAT: "logfmt" })
    )
    return { port, stop: server.stop }
  }),
  ({ stop }) => Effect.promise(() => stop())
)

describe.skipIf(!serverAnswers)("several processes", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.scoped("serve one client by turns, also after a restart; all refuse a disconnected client", () =>
      Effect.gen(function* () {
        const { accountId, actor } = yield* anAccount()
        const product = yield* anEntity("product", { title: "Boots" }).pipe(actingAs(actor))
        const { connectionId, token } = yield* aConnectionTo(base, accountId, "pim:read")
        const ask = (port: number, era: Era) =>
          send(port, {
            token,
            ...withHost(message(era, "tools/call", { name: "list_products_v1", arguments: { fields: ["title"] } }))
          })
        const [one, other] = yield* Effect.all([aProcess, aProcess], { concurrency: 2 })
        for (let turn = 0; turn < 40; turn++) {
          const answer = yield* ask((turn % 2 === 0 ? one : other).port, turn % 4 < 2 ? "modern" : "legacy")
          assert.strictEqual(answer.status, 200, answer.text)
          assert.deepStrictEqual(messageIn(answer).result.structuredContent.data, [
            { master_id: product, title: "Boots" }
          ])
        }
        assert.strictEqual(yield* Effect.promise(() => one.stop()), 0)
        // Each process saves its counts of calls: one when it stopped, the other every few seconds.
        const sql = yield* SqlClient.SqlClient
        const [counted] = yield* sql`
            SELECT calls::integer AS calls FROM connection_activity WHERE connection_id = ${connectionId}`
        assert.isAtLeast(Number(counted?.calls), 20)
        assert.isAtMost(Number(counted?.calls), 40)
        const again = yield* aProcess
        const both = [again.port, other.port]
        for (const port of both) assert.strictEqual((yield* ask(port, "modern")).status, 200)

        yield* (yield* Connections).disconnect(accountId, connectionId)
        for (const port of both)
          for (const era of ["modern", "legacy"] as const) {
            const refused = yield* ask(port, era)
            assert.strictEqual(refused.status, 401)
            assert.match(refused.headers["www-authenticate"] ?? "", /^Bearer error="invalid_token"/)
          }
      })
    )
  })
})

const withHost = ({ body, headers }: ReturnType<typeof message>) => ({
  body,
  headers: { ...headers, host: "catalog.example" }
})
