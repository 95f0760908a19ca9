import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { defaultBounds } from "../../src/http/Bounds.ts"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { anAccount, TestServices } from "../../src/testing/index.ts"
import { ask, assertRefusal, onlyAnswer, port, talk, tell } from "./Exchange.ts"

const serverWith = (bounds: Partial<typeof defaultBounds>) =>
  Http.layer({ host: "127.0.0.1", port: 0, bounds: { ...defaultBounds, ...bounds } }).pipe(
    Layer.provide(Readiness.layer(Effect.void)),
    Layer.provideMerge(TestServices)
  )

/** Opens connections from a local address that send nothing; they stay open until the end of the scope. */
const open = (count: number, localAddress: string) =>
  Effect.flatMap(port, (portNumber) =>
    Effect.acquireRelease(
      Effect.promise(() =>
        Promise.all(
          Array.from(
            { length: count },
            () =>
              new Promise<Socket>((resolve) => {
                const socket = connect({ port: portNumber, host: "127.0.0.1", localAddress }, () => resolve(socket))
                socket.on("error", () => {})
              })
          )
        )
      ),
      (sockets) =>
        Effect.sync(() => {
          for (const socket of sockets) socket.destroy()
        })
    )
  )

/** The texts that connections receive although they send nothing. */
const told = (sockets: ReadonlyArray<Socket>) =>
  Effect.promise(() =>
    Promise.all(
      sockets.map(
        (socket) =>
          new Promise<string>((resolve) => {
            let received = ""
            socket.on("data", (data) => {
              received += data.toString()
            })
            socket.on("close", () => resolve(received))
          })
      )
    )
  )

const healthz = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"

const tooMany = {
  status: 503,
  code: "unavailable",
  message: "Too many connections are open; retry with exponential backoff."
}

describe("connections", () => {
  it.scopedLive("from one address are limited: an address that reached its limit does not affect others", () =>
    Effect.gen(function* () {
      const strangers = yield* open(20, "127.0.0.2")
      const other = yield* tell(healthz)
      assert.strictEqual(other.status, 200)
      const more = yield* told(yield* open(5, "127.0.0.2"))
      assert.strictEqual(more.length, 5)
      for (const text of more) {
        assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\n/)
        assert.match(text, /\r\nconnection: close\r\n/)
        assert.strictEqual(JSON.parse(text.split("\r\n\r\n")[1] ?? "").error.message, tooMany.message)
      }
      // The first connections are served, and after they end, new ones are accepted.
      for (const socket of strangers) socket.destroy()
      yield* Effect.gen(function* () {
        const [one] = yield* open(1, "127.0.0.2")
        one?.write(healthz.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
        const [text = ""] = yield* told(one === undefined ? [] : [one])
        return text.startsWith("HTTP/1.1 200")
      }).pipe(Effect.scoped, Effect.repeat({ until: (served) => served }))
    }).pipe(Effect.provide(serverWith({ connectionsPerAddress: 20 })))
  )

  it.scopedLive("are limited in total: one more connection gets the error envelope", () =>
    Effect.gen(function* () {
      yield* open(5, "127.0.0.2")
      yield* open(5, "127.0.0.3")
      assertRefusal(onlyAnswer(yield* talk("")), tooMany)
    }).pipe(Effect.provide(serverWith({ connections: 10 })))
  )

  for (const [setting, bounds] of [
    ["MAX_CONNECTIONS", { connections: 3 }],
    ["MAX_CONNECTIONS_PER_ADDRESS", { connectionsPerAddress: 3 }]
  ] as const)
    it.scopedLive(`over ${setting} are logged once, whatever their number`, () => {
      const logged: Array<string> = []
      const log = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => logged.push(String(message)))
      )
      return Effect.gen(function* () {
        yield* open(3, "127.0.0.2")
        assert.strictEqual((yield* told(yield* open(20, "127.0.0.2"))).length, 20)
        assert.deepStrictEqual(
          logged.filter((line) => line.includes("refused")),
          [`Refusing connections because of ${setting}: 1 refused since the start (logged at most once a minute)`]
        )
      }).pipe(Effect.provide(Layer.provideMerge(serverWith(bounds), log)))
    })

  it.scopedLive("of one address are not limited if the setting is absent", () =>
    Effect.gen(function* () {
      yield* open(300, "127.0.0.2")
      assert.strictEqual((yield* tell(healthz)).status, 200)
      const [one] = yield* open(1, "127.0.0.2")
      one?.write(healthz.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
      const [text = ""] = yield* told(one === undefined ? [] : [one])
      assert.match(text, /^HTTP\/1\.1 200 /)
    }).pipe(Effect.provide(serverWith({ connectionsPerAddress: Number.POSITIVE_INFINITY })))
  )
})

const readers = 50

/** Connections that request more than the buffers can hold, and read nothing. */
const slowReaders = Effect.gen(function* () {
  const sockets = yield* open(readers, "127.0.0.1")
  for (const socket of sockets) socket.pause().write("GET /docs HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20))
  return sockets
})

const closedOf = (sockets: ReadonlyArray<Socket>) =>
  Effect.promise(() =>
    Promise.all(
      sockets.map(
        (socket) =>
          new Promise<void>((resolve) => {
            socket.once("close", () => resolve())
            // A socket that does not read does not see the end of its connection; writing to it fails.
            const writing = setInterval(() => socket.write("\r\n"), 50)
            socket.once("close", () => clearInterval(writing))
          })
      )
    )
  )

describe("clients that do not read their answers", () => {
  it.scopedLive("are closed after a time without progress; others are served meanwhile", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const sockets = yield* slowReaders
      const closing = yield* Effect.fork(closedOf(sockets))
      for (let turn = 0; turn < 20; turn++) assert.strictEqual((yield* ask("/api/v1/ping", { token })).status, 200)
      yield* closing
      assert.strictEqual(sockets.length, readers)
    }).pipe(Effect.provide(serverWith({ writeStallMillis: 500 })))
  )

  it.scopedLive("are kept if the limit is long, while those of a server with a short limit are closed", () =>
    Effect.gen(function* () {
      const kept = yield* slowReaders
      yield* Effect.fork(closedOf(kept))
      yield* Effect.scoped(Effect.flatMap(slowReaders, closedOf)).pipe(
        Effect.provide(Layer.fresh(serverWith({ writeStallMillis: 500 })))
      )
      assert.isTrue(kept.every(({ destroyed }) => !destroyed))
    }).pipe(Effect.provide(serverWith({ writeStallMillis: 3_600_000 })))
  )

  it.scopedLive("are kept while they read, even slowly", () =>
    Effect.gen(function* () {
      const [socket] = yield* open(1, "127.0.0.1")
      assert(socket !== undefined)
      const received: Array<Buffer> = []
      socket.on("data", (data) => {
        received.push(data)
        // The client is slow: it reads at most one buffer in 5 ms. No assertion depends on the time.
        socket.pause()
        setTimeout(() => socket.resume(), 5)
      })
      // More than the buffers of both sides hold, so the server's progress depends on what the client reads.
      socket.write(
        "GET /docs HTTP/1.1\r\nHost: a\r\n\r\n".repeat(12) +
          healthz.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
      )
      yield* Effect.promise(() => new Promise((resolve) => socket.once("close", resolve)))
      const text = Buffer.concat(received).toString("latin1")
      assert.strictEqual(text.split("HTTP/1.1 200 OK\r\n").length - 1, 13)
      assert.isAbove(text.length, 40_000_000)
    }).pipe(Effect.provide(serverWith({ writeStallMillis: 1_000 })))
  )
})
