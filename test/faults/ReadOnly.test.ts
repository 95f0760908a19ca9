import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { layerServices } from "./ServerServices.ts"
import { aTenant, client, openClient, paced, type Seen, serving, type Tenant, tally } from "./Stalls.ts"

const writes = 30

/** The complete error envelope of a refusal. */
const assertUnavailable = (seen: ReadonlyArray<Seen>) => {
  for (const { body, status } of seen) {
    const { error } = JSON.parse(body)
    assert.strictEqual(status, 503)
    assert.deepStrictEqual(Object.keys(error), ["code", "message", "request_id"])
    assert.strictEqual(error.code, "unavailable")
    assert.match(error.request_id, /^req_[0-9a-f-]{36}$/)
  }
}

const isFilled = ({ body, status }: Seen) => status === 200 && JSON.parse(body).filled === 1

describe.skipIf(!serverAnswers)("a database that is set to read-only", () => {
  layer(layerServices(2), { excludeTestServices: true })((it) => {
    it.scoped("refuses writes with 503, serves reads, and accepts writes again as soon as possible", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const tenant = yield* aTenant(3 * writes)
        const { baseUrl } = yield* serving(url)
        const { fill, read } = client(baseUrl)
        const operator = yield* openClient(url)
        const write = (from: number) =>
          Effect.promise(() =>
            paced(writes, 5, (place) => {
              const id = tenant.ids[from + place]
              return id === undefined ? Promise.reject(new Error("no product")) : fill(tenant, id, "Text")
            })
          )
        /** New sessions get the setting; existing ones are ended, as in a fail-over. */
        const set = (isReadOnly: boolean) =>
          Effect.promise(() =>
            operator.query(`DO $$ BEGIN EXECUTE format(
              'ALTER DATABASE %I SET default_transaction_read_only = ${isReadOnly}', current_database()); END $$`)
          )

        assert.strictEqual((yield* write(0)).filter(isFilled).length, writes)
        yield* set(true)
        yield* Effect.promise(() =>
          operator.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
          )
        )
        const refused = yield* write(writes)
        assertUnavailable(refused)
        assert.strictEqual(tally("Read-only, writes", refused).unavailable, writes)
        const reads = yield* Effect.promise(() => paced(writes, 5, () => read(tenant)))
        assert.strictEqual(tally("Read-only, reads", reads).ok, writes)

        yield* Effect.promise(() => operator.query("SET default_transaction_read_only = off"))
        yield* set(false)
        // All connections of the pool were opened after the change of the setting.
        const after = yield* write(2 * writes)
        assert.strictEqual(tally("Read-only, after", after).ok, writes)
        assert.strictEqual(after.filter(isFilled).length, writes)
      })
    )
  })
})

/** A ParameterStatus message of the server: type S, with its length. */
const hotStandby = (state: string) => {
  const body = Buffer.from(`in_hot_standby\0${state}\0`)
  const head = Buffer.alloc(5, "S")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** A proxy to the server. Until it is promoted, every new connection is told that the server is a standby. */
const openStandby = (database: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const target = new URL(Redacted.value(database))
      const sockets = new Set<Socket>()
      const state = { isStandby: false, told: 0 }
      const server = createServer((near) => {
        const far = connect(Number(target.port || 5432), target.hostname)
        let isTold = !state.isStandby
        for (const [from, to] of [
          [near, far],
          [far, near]
        ] as const) {
          sockets.add(from)
          from.on("error", () => {})
          from.on("close", () => to.destroy())
        }
        near.on("data", (data) => far.write(data))
        far.on("data", (data) => {
          const place = isTold ? -1 : data.indexOf(hotStandby("off"))
          if (place < 0) return near.write(data)
          isTold = true
          state.told++
          const rest = data.subarray(place + hotStandby("off").length)
          return near.write(Buffer.concat([data.subarray(0, place), hotStandby("on"), rest]))
        })
      })
      await once(server.listen(0, "127.0.0.1"), "listening")
      const url = new URL(target)
      url.hostname = "127.0.0.1"
      url.port = String((server.address() as AddressInfo).port)
      const cut = () => {
        for (const socket of sockets) socket.destroy()
        sockets.clear()
      }
      return { url: url.href, state, cut, server }
    }),
    ({ cut, server }) =>
      Effect.sync(() => {
        cut()
        server.close()
      })
  )

describe.skipIf(!serverAnswers)("a server that is a standby", () => {
  layer(layerServices(2), { excludeTestServices: true })((it) => {
    it.scoped("is neither read nor written until it becomes the primary", () =>
      Effect.gen(function* () {
        const standby = yield* openStandby(yield* TestDatabaseUrl)
        const tenant: Tenant = yield* aTenant(3 * writes)
        const { baseUrl } = yield* serving(standby.url)
        const { fill, get, read } = client(baseUrl)
        const both = (from: number) =>
          Effect.promise(() =>
            paced(writes, 5, (place) => {
              const id = tenant.ids[from + place]
              return place % 2 === 0 || id === undefined ? read(tenant) : fill(tenant, id, "Text")
            })
          )
        assert.strictEqual(tally("Standby, before", yield* both(0)).ok, writes)

        standby.state.isStandby = true
        standby.cut()
        const during = yield* both(writes)
        assertUnavailable(during)
        assert.strictEqual(tally("Standby, during", during).unavailable, writes)
        assert.isAbove(standby.state.told, 0)
        assert.strictEqual((yield* Effect.promise(() => get("/readyz"))).status, 503)

        standby.state.isStandby = false
        assert.strictEqual(tally("Standby, promoted", yield* both(2 * writes)).ok, writes)
        assert.strictEqual((yield* Effect.promise(() => get("/readyz"))).status, 200)
      })
    )
  })
})
