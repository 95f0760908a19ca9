import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { Clock, type Duration, Effect, Schedule } from "effect"

/** The phases of a server's stop. */
export interface DrainPatience {
  /** How long the stopping server still accepts connections, so that a load balancer can notice that it is not ready. */
  readonly delay: Duration.Duration
  /** How long idle connections stay open after that, so that requests already on their way are answered. */
  readonly grace: Duration.Duration
  /** How long running requests may take after `grace`. */
  readonly drain: Duration.Duration
}

/**
 * The newest response of a connection. It is a property of the socket, because a listener or a WeakMap entry for each request
 * costs measurable processor time (docs/benchmarks.md).
 */
const newestResponse = Symbol("newest response")

type Connection = Socket & { [newestResponse]?: ServerResponse }

/**
 * Watches a server's requests. The returned effect stops the server without failing a request: from then on, every answer closes
 * its connection, and idle connections are closed last.
 */
export const makeDrain = (server: Server, { delay, drain, grace }: DrainPatience): Effect.Effect<void> => {
  const connections = new Set<Connection>()
  let isStopping = false

  server.on("connection", (socket: Connection) => {
    connections.add(socket)
    socket.once("close", () => connections.delete(socket))
  })

  const isUnanswered = (response: ServerResponse | undefined) => response !== undefined && !response.writableFinished

  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection: Connection = socket
    const before = connection[newestResponse]
    connection[newestResponse] = response
    if (!isStopping) return
    // With pipelined requests, only the answer to the newest request may close the connection.
    if (before !== undefined && isUnanswered(before)) before.shouldKeepAlive = true
    response.shouldKeepAlive = false
  })

  const announce = Effect.sync(() => {
    isStopping = true
    for (const { [newestResponse]: response } of connections)
      if (response !== undefined && isUnanswered(response)) response.shouldKeepAlive = false
  })

  /** Stops listening and waits until the last connection is closed. Node's own `close` would also close idle connections at once. */
  const closeListener = Effect.async<void>((resume) => {
    server.once("close", () => resume(Effect.void))
    NetServer.prototype.close.call(server)
  })

  /** Waits until no request is unanswered, and closes idle connections meanwhile. */
  const answered = Effect.sync(() => {
    server.closeIdleConnections()
    return [...connections].some(({ [newestResponse]: response }) => isUnanswered(response))
  }).pipe(Effect.repeat({ while: (isWaiting) => isWaiting, schedule: Schedule.spaced("10 millis") }), Effect.asVoid)

  // Finalizers are not interruptible. Without `interruptible`, the timeout would wait for the effect to end.
  const within = (bound: Duration.Duration) => (effect: Effect.Effect<void>) =>
    Effect.timeoutOption(Effect.interruptible(effect), bound)

  return announce.pipe(
    Effect.zipRight(Effect.sleep(delay)),
    Effect.zipRight(within(grace)(closeListener)),
    Effect.zipRight(within(drain)(answered)),
    Effect.ensuring(
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
    ),
    // The real clock, even if a test replaced the clock.
    Effect.withClock(Clock.make()),
    Effect.asVoid
  )
}
