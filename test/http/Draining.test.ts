import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { HttpServer } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Scope } from "effect"
import { anAccount, TestServices } from "../../src/testing/index.ts"
import { assertRefusal, refusals, serverWith, shortPatience } from "./Exchange.ts"

interface Client {
  readonly send: (target: string, token?: string) => Promise<string>
  readonly ended: Promise<void>
}

/** A client whose connection stays open between requests. */
const aClient = (port: number): Client => {
  const socket = connect(port, "127.0.0.1")
  let received = ""
  const failed: Array<Error> = []
  socket.on("error", (error) => failed.push(error))
  const ended = new Promise<void>((resolve, reject) =>
    socket.once("close", () => (failed[0] === undefined ? resolve() : reject(failed[0])))
  )
  ended.catch(() => {})
  const send = (target: string, token = "") =>
    new Promise<string>((resolve, reject) => {
      received = ""
      const look = (data: Buffer) => {
        received += data.toString()
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? Number.NaN)
        const start = received.indexOf("\r\n\r\n") + 4
        if (start > 3 && received.length >= start + length) {
          socket.off("data", look)
          resolve(received)
        }
      }
      socket.on("data", look)
      socket.once("close", () => reject(failed[0] ?? new Error("closed without an answer")))
      socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    })
  return { send, ended }
}

const answerIn = (text: string) => {
  const [head = "", body = ""] = text.split("\r\n\r\n")
  const [, ...lines] = head.split("\r\n")
  return {
    status: Number(head.slice(9, 12)),
    headers: Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)])
    ) as Record<string, string>,
    text: body
  }
}

/** A server that stops when `stop` is called. */
const aServer = (delay: Duration.Duration, grace: Duration.Duration) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(
      serverWith({ ...shortPatience, delay, grace, head: Duration.seconds(10), request: Duration.seconds(10) }).pipe(
        Layer.provideMerge(TestServices)
      ),
      scope
    )
    const { port, token } = yield* Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      return { port: address._tag === "TcpAddress" ? address.port : 0, token: (yield* anAccount()).token }
    }).pipe(Effect.provide(context))
    return { port, token, stop: Effect.runPromise.bind(undefined, Scope.close(scope, Exit.void)) }
  })

const until = async (holds: () => Promise<boolean>) => {
  while (!(await holds())) await sleep(5)
}

const untilRefused = (port: number) =>
  until(() =>
    aClient(port)
      .send("/healthz")
      .then(
        () => false,
        () => true
      )
  )

describe("a server that stops", () => {
  it.live(
    "first reports that it is not ready, accepts connections during its delay, and closes each one with its answer",
    () =>
      Effect.gen(function* () {
        const { port, stop, token } = yield* aServer(Duration.seconds(5), Duration.millis(100))
        yield* Effect.promise(async () => {
          const early = aClient(port)
          assert.strictEqual(answerIn(await early.send("/api/v1/ping", token)).headers.connection, "keep-alive")
          const stopped = stop()
          await until(async () => answerIn(await aClient(port).send("/readyz")).status === 503)
          const red = answerIn(await aClient(port).send("/readyz"))
          assertRefusal(red, refusals.stopping)
          for (const client of [early, aClient(port)]) {
            const { headers, status } = answerIn(await client.send("/api/v1/ping", token))
            assert.deepStrictEqual([status, headers.connection], [200, "close"])
            await client.ended
          }
          await stopped
          const late = await aClient(port)
            .send("/healthz")
            .catch((error: NodeJS.ErrnoException) => error.code)
          assert.strictEqual(late, "ECONNREFUSED")
        })
      })
  )

  it.live("answers requests on open connections after it stopped listening, then closes idle ones", () =>
    Effect.gen(function* () {
      const { port, stop, token } = yield* aServer(Duration.zero, Duration.seconds(5))
      yield* Effect.promise(async () => {
        const clients = Array.from({ length: 20 }, () => aClient(port))
        for (const client of clients) await client.send("/api/v1/ping", token)
        const idle = aClient(port)
        await idle.send("/healthz")
        const stopped = stop()
        await untilRefused(port)
        const answers = await Promise.all(clients.map((client) => client.send("/api/v1/ping", token)))
        assert.deepStrictEqual(
          answers.map(answerIn).map(({ headers, status }) => [status, headers.connection]),
          clients.map(() => [200, "close"])
        )
        await stopped
        // Closed normally, not reset.
        await idle.ended
      })
    })
  )
})
