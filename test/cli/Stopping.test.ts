import { connect } from "node:net"
import { setTimeout } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { anAccount } from "../../src/testing/index.ts"
import { layerServices } from "../faults/ServerServices.ts"
import { assertRefusal, refusals } from "../http/Exchange.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const slow = 5

/** A process of the service whose requests wait for a database lock that the test holds. */
const busy = Effect.gen(function* () {
  const url = Redacted.value(yield* TestDatabaseUrl)
  const { token } = yield* anAccount()
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => serveCatalog({ DATABASE_URL: url })),
    ({ stop }) => Effect.promise(() => stop("SIGKILL"))
  )
  const locker = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query("BEGIN; LOCK TABLE entity IN ACCESS EXCLUSIVE MODE")
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  const port = Number(new URL(server.baseUrl).port)
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\n`
  const requests = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Array.from({ length: slow }, () => {
        const socket = connect(port, "127.0.0.1")
        const talk = {
          socket,
          received: "",
          ended: new Promise<void>((resolve) => socket.once("close", () => resolve()))
        }
        socket.on("data", (data) => {
          talk.received += data.toString()
        })
        socket.on("error", () => {})
        socket.write(`GET /api/v1/products HTTP/1.1\r\n${head}\r\n`)
        return talk
      })
    ),
    (talks) =>
      Effect.sync(() => {
        for (const { socket } of talks) socket.destroy()
      })
  )
  yield* Effect.promise(async () => {
    for (let waiting = 0; waiting < slow; await setTimeout(20)) {
      const { rows } = await locker.query(
        "SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted AND relation = 'entity'::regclass"
      )
      waiting = rows[0].waiting
    }
  })
  return { server, port, requests, release: Effect.promise(() => locker.query("ROLLBACK")) }
})

const isRefused = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resolve(false)
    })
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"))
  })

const untilRefused = (port: number) =>
  Effect.promise(async () => {
    while (!(await isRefused(port))) await setTimeout(20)
  })

/** The received answers, in order. */
const answersOf = (received: string) =>
  received
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((text) => text !== "")
    .map((text) => {
      const [head = "", body = ""] = text.split("\r\n\r\n")
      const [, ...lines] = head.split("\r\n")
      return {
        status: Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)),
        headers: Object.fromEntries(
          lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)])
        ),
        text: body
      }
    })

describe.skipIf(!serverAnswers)("a service that is stopped while requests are in flight", () => {
  layer(layerServices(2), { excludeTestServices: true })("stopped", (it) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      it.scoped(`${signal}: answers these requests, accepts no new connections, is not ready, and exits with 0`, () =>
        Effect.gen(function* () {
          const { port, release, requests, server } = yield* busy
          const [first, ...others] = requests
          assert(first !== undefined)
          const ended = server.stop(signal)
          yield* untilRefused(port)
          assert.deepStrictEqual(
            requests.map(({ received }) => received),
            requests.map(() => "")
          )
          // A second request, on a connection that waits for its first answer.
          first.socket.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
          yield* release
          assert.strictEqual(yield* Effect.promise(() => ended), 0)
          yield* Effect.promise(() => Promise.all(requests.map(({ ended }) => ended)))
          for (const { received } of others) {
            const [answer, ...more] = answersOf(received)
            assert.deepStrictEqual([answer?.status, answer?.text, more], [200, '{"data":[],"next_cursor":null}', []])
          }
          const [answer, readiness] = answersOf(first.received)
          assert.strictEqual(answer?.status, 200)
          assert(readiness !== undefined)
          assertRefusal(readiness, refusals.stopping)
          // The start may warn of a setting of the server that the tests run on.
          assert.deepStrictEqual(
            server.output.stderr
              .split("\n")
              .filter((line) => line !== "" && !line.includes("The database server has ")),
            []
          )
        })
      )

    it.scoped("does not wait for a client that never reads its responses", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const server = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog({ DATABASE_URL: url })),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        const port = Number(new URL(server.baseUrl).port)
        const socket = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const client = connect(port, "127.0.0.1").pause()
            client.on("error", () => {})
            // More answers than the buffers between server and client can hold.
            client.write("GET /docs HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20))
            await fetch(`${server.baseUrl}/healthz`)
            return client
          }),
          (client) => Effect.sync(() => client.destroy())
        )
        assert.strictEqual(yield* Effect.promise(() => server.stop()), 0)
        assert.isFalse(socket.destroyed)
      })
    )

    it.scoped("goes on when the reader of its log has ended", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const server = yield* Effect.acquireRelease(
          Effect.promise(() =>
            serveCatalog({ DATABASE_URL: url, ACCESS_LOG: "json" }, (_, child) => child.stderr?.destroy())
          ),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        // Each request writes a line, and the writes of earlier ones have failed by then.
        for (let requests = 0; requests < 5; requests++) {
          const { status } = yield* Effect.promise(() => fetch(`${server.baseUrl}/api/v1/stores`))
          assert.strictEqual(status, 401)
        }
        assert.strictEqual(yield* Effect.promise(() => server.stop()), 0)
      })
    )

    it.scoped("ends at once on a second signal", () =>
      Effect.gen(function* () {
        const { port, requests, server } = yield* busy
        const first = server.stop()
        yield* untilRefused(port)
        // The exit code is not 0, as it would be at the end of the time limit.
        yield* Effect.promise(() => server.stop())
        assert.strictEqual(yield* Effect.promise(() => first), null)
        yield* Effect.promise(() => Promise.all(requests.map(({ ended }) => ended)))
      })
    )
  })
})
