import type { Server } from "node:http"
import type { Socket } from "node:net"
import { networkOf } from "./ClientAddress.ts"
import { Tally } from "./Tally.ts"

/** Limits of open connections, and of the time for which a client may leave an answer unread. */
export interface ConnectionBounds {
  /** Maximum open connections of the process. */
  readonly connections: number
  /** Maximum from one IP address. Infinite behind proxies, because all connections come from their addresses. */
  readonly connectionsPerAddress: number
  /** A connection is closed if its client reads nothing of an answer for this time. */
  readonly writeStallMillis: number
}

/** Maximum refused connections that stay open so that their clients can read the refusal. Others are closed without an answer. */
const maxRefused = 256

/** Minimum interval between logs of refusals, because there may be very many. */
const noteMillis = 60_000

/** Callbacks for connections over a limit. */
interface Refusing {
  /** Answers with the reason and ends the connection. */
  readonly refuse: (socket: Socket) => void
  /** Called for the first refusal, then at most once a minute. `setting`: the limit that was reached; `total`: refusals so far. */
  readonly note: (setting: "MAX_CONNECTIONS" | "MAX_CONNECTIONS_PER_ADDRESS", total: number) => void
}

/** Counters of Node's internal handle, which show the progress of a single large write. `Socket` does not expose them. */
interface Handle {
  /** Bytes that were written to the handle so far. */
  readonly bytesWritten?: number
  /** Bytes of these that the operating system has not accepted yet. */
  readonly writeQueueSize?: number
}

const sentBy = (socket: Socket) => {
  const { bytesWritten = 0, writeQueueSize = 0 } = (socket as { _handle?: Handle | null })._handle ?? {}
  return bytesWritten - writeQueueSize
}

/**
 * Limits a server's connections. Connections over a limit are refused before they are read; connections whose client leaves an
 * answer unread are closed. Must be called before any other listener for connections is added.
 */
export const boundConnections = (
  server: Server,
  { connections, connectionsPerAddress, writeStallMillis }: ConnectionBounds,
  { note, refuse }: Refusing
): void => {
  const byAddress = new Tally<string>()
  /** The open connections. If one has unsent data: the bytes sent so far, and how many checks found that number unchanged. */
  const open = new Map<Socket, { sent: number; checks: number } | undefined>()
  let refused = 0
  let total = 0
  let notedAt = Number.NEGATIVE_INFINITY

  const turnAway = (socket: Socket) => {
    total += 1
    const now = performance.now()
    if (now - notedAt >= noteMillis) {
      notedAt = now
      note(open.size >= connections ? "MAX_CONNECTIONS" : "MAX_CONNECTIONS_PER_ADDRESS", total)
    }
    socket.on("error", () => socket.destroy())
    if (refused >= maxRefused) {
      socket.destroy()
      return
    }
    refused += 1
    socket.once("close", () => {
      refused -= 1
    })
    refuse(socket.resume())
  }

  // Node's own listener reads requests, so it is called only for connections that are not refused.
  const serve = server.listeners("connection")
  server.removeAllListeners("connection")
  server.on("connection", (socket: Socket) => {
    const address = networkOf(socket.remoteAddress ?? "unknown")
    if (open.size >= connections || byAddress.of(address) >= connectionsPerAddress) return turnAway(socket)
    open.set(socket, undefined)
    byAddress.add(address, 1)
    socket.once("close", () => {
      open.delete(socket)
      byAddress.add(address, -1)
    })
    for (const listener of serve) listener.call(server, socket)
  })

  const checkMillis = Math.max(10, writeStallMillis / 10)

  // Checks are counted, and not the time: while the process stands still, clients that read are not to blame.
  const closeStalled = () => {
    for (const [socket, progress] of open) {
      if (socket.writableLength === 0) {
        if (progress !== undefined) open.set(socket, undefined)
        continue
      }
      const sent = sentBy(socket)
      if (progress === undefined || progress.sent !== sent) open.set(socket, { sent, checks: 0 })
      else if (++progress.checks * checkMillis >= writeStallMillis) socket.destroy()
    }
  }
  const timer = setInterval(closeStalled, checkMillis).unref()
  server.once("close", () => clearInterval(timer))
}
