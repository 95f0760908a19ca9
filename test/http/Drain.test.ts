import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { type DrainPatience, makeDrain } from "../../src/http/Drain.ts"

/** A server, and a connection to it that stays open after its first answer. */
const idleConnection = (patience: DrainPatience) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer()
      const stop = makeDrain(server, patience)
      server.on("request", (_, response) => response.end("answer")).listen(0, "127.0.0.1")
      await once(server, "listening")
      const { port } = server.address() as AddressInfo
      const socket = connect(port, "127.0.0.1")
      await once(socket, "connect")
      return { server, port, socket, stop }
    }),
    ({ server, socket }) =>
      Effect.sync(() => {
        socket.destroy()
        server.closeAllConnections()
        server.close()
      })
  )

/** The answer to a request, or "closed" if the connection ends without one. */
const ask = (socket: Socket) =>
  Effect.async<string>((resume) => {
    const end = (seen: string) => resume(Effect.succeed(seen))
    socket.once("data", (chunk) => end(chunk.toString()))
    socket.once("close", () => end("closed"))
    socket.once("error", () => end("closed"))
    socket.write("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n")
  })

const isRefused = (port: number) =>
  Effect.promise(async () => {
    const probe = connect(port, "127.0.0.1")
    const refused = await once(probe, "connect").then(
      () => false,
      () => true
    )
    probe.destroy()
    return refused
  })

/** A server with an idle connection. It is stopping and does not listen any more. */
const aStoppingServer = (grace: Duration.DurationInput) =>
  Effect.gen(function* () {
    const patience = { delay: Duration.zero, grace: Duration.decode(grace), drain: Duration.minutes(10) }
    const { port, socket, stop } = yield* idleConnection(patience)
    assert.include(yield* ask(socket), "answer")
    const stopping = yield* Effect.fork(stop)
    yield* Effect.repeat(isRefused(port), { until: (refused) => refused })
    return { socket, stopping }
  })

describe("a server that stops", () => {
  it.scopedLive("answers a request on a connection that was idle, closes the connection and stops", () =>
    Effect.gen(function* () {
      const { socket, stopping } = yield* aStoppingServer("10 minutes")
      const answer = yield* ask(socket)
      assert.include(answer, "answer")
      assert.include(answer.toLowerCase(), "connection: close")
      yield* Fiber.join(stopping)
    })
  )

  it.scopedLive("without a grace period for idle connections, stops before the request, which fails", () =>
    Effect.gen(function* () {
      const { socket, stopping } = yield* aStoppingServer("0 millis")
      yield* Fiber.join(stopping)
      assert.strictEqual(yield* ask(socket), "closed")
    })
  )
})
