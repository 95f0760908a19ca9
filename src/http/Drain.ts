import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { Clock, type Duration, Effect } from "effect"

/** How a server stops. */
export interface DrainPatience {
  /** How long it still accepts connections, so that a balancer can see that it is not ready. */
  readonly delay: Duration.Duration
  /** How long connections may stay idle after that: a request that is on its way is answered. */
  readonly grace: Duration.Duration
  /** For the answers to requests in flight. */
  readonly drain: Duration.Duration
}

/**
 * Watches a server's requests. The effect stops it without failing one: every answer from then on closes its connection, idle
 * connections are closed last.
 */
export const makeDrain = (server: Server, { delay, drain, grace }: DrainPatience): Effect.Effect<void> => {
  const unanswered = new Set<ServerResponse>()
  /** The newest request of a connection: the answers to those before it must not close it. */
  const newest = new WeakMap<Socket, ServerResponse>()
  let isStopping = false

  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const before = newest.get(socket)
    newest.set(socket, response)
    unanswered.add(response)
    response.once("close", () => {
      unanswered.delete(response)
      server.emit("catalog-answered")
    })
    if (!isStopping) return
    if (before !== undefined && unanswered.has(before)) before.shouldKeepAlive = true
    response.shouldKeepAlive = false
  })

  const announce = Effect.sync(() => {
    isStopping = true
    for (const response of unanswered)
      if (response.socket === null || newest.get(response.socket) === response) response.shouldKeepAlive = false
  })

  /** Done when the last connection is closed. Node's own way would close idle connections at once. */
  const closeListener = Effect.async<void>((resume) => {
    server.once("close", () => resume(Effect.void))
    NetServer.prototype.close.call(server)
  })

  const answered = Effect.async<void>((resume) => {
    const settle = () => {
      server.closeIdleConnections()
      if (unanswered.size === 0) resume(Effect.void)
    }
    server.on("catalog-answered", settle)
    settle()
  })

  // Finalizers are not interruptible: without this a bound would wait for what it bounds.
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
    // How long it takes is real time, whatever a test makes of the clock.
    Effect.withClock(Clock.make()),
    Effect.asVoid
  )
}
