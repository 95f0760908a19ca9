import type { Server } from "node:http"
import type { Socket } from "node:net"
import { networkOf } from "./ClientAddress.ts"

/** How many connections are open at once, and how long one may leave an answer unread. */
export interface ConnectionBounds {
  /** In the process. */
  readonly connections: number
  /** From one address. Infinite behind proxies, because all connections come from theirs. */
  readonly connectionsPerAddress: number
  /** A connection whose client reads nothing of an answer for this long is closed. */
  readonly writeStallMillis: number
}

/** How many refused connections may stay open to read why. Further ones are closed without an answer. */
const maxRefused = 256

/** How often refusals are logged at most: there may be as many as packets. */
const noteMillis = 60_000

/** What happens to a connection over a bound. */
export interface Refusing {
  /** Answers why, and ends it. */
  readonly refuse: (socket: Socket) => void
  /** Called for the first refusal, then at most once a minute, with the setting and the number refused so far. */
  readonly note: (setting: "MAX_CONNECTIONS" | "MAX_CONNECTIONS_PER_ADDRESS", total: number) => void
}

/** Counters of Node's handle, which `Socket` uses but does not publish: how far a single large write has come. */
interface Handle {
  /** Bytes handed to the system's queue so far. */
  readonly bytesWritten?: number
  /** Those of them that the system has not taken yet. */
  readonly writeQueueSize?: number
}

const sentBy = (socket: Socket) => {
  const { bytesWritten = 0, writeQueueSize = 0 } = (socket as { _handle?: Handle | null })._handle ?? {}
  return bytesWritten - writeQueueSize
}

/**
 * Bounds a server's connections. Connections over a bound are refused before they are read; connections that leave an answer
 * unread are closed. Must be called before anything else listens for connections.
 */
export const boundConnections = (
  server: Server,
  { connections, connectionsPerAddress, writeStallMillis }: ConnectionBounds,
  { note, refuse }: Refusing
): void => {
  const byAddress = new Map<string, number>()
  /** The open connections. For those with something to send: how much was sent, and since when nothing more. */
  const open = new Map<Socket, { sent: number; since: number } | undefined>()
  let refused = 0
  let total = 0
  let notedAt = Number.NEGATIVE_INFINITY

  const add = (address: string, count: number) => {
    const ofAddress = (byAddress.get(address) ?? 0) + count
    if (ofAddress === 0) byAddress.delete(address)
    else byAddress.set(address, ofAddress)
    return ofAddress
  }

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

  // Node's own listener begins to read requests.
  const serve = server.listeners("connection")
  server.removeAllListeners("connection")
  server.on("connection", (socket: Socket) => {
    const address = networkOf(socket.remoteAddress ?? "unknown")
    if (open.size >= connections || (byAddress.get(address) ?? 0) >= connectionsPerAddress) return turnAway(socket)
    open.set(socket, undefined)
    add(address, 1)
    socket.once("close", () => {
      open.delete(socket)
      add(address, -1)
    })
    for (const listener of serve) listener.call(server, socket)
  })

  const look = () => {
    const now = performance.now()
    for (const [socket, known] of open) {
      if (socket.writableLength === 0) {
        if (known !== undefined) open.set(socket, undefined)
        continue
      }
      const sent = sentBy(socket)
      if (known === undefined || known.sent !== sent) open.set(socket, { sent, since: now })
      else if (now - known.since >= writeStallMillis) socket.destroy()
    }
  }
  const looking = setInterval(look, Math.max(10, writeStallMillis / 10)).unref()
  server.once("close", () => clearInterval(looking))
}
