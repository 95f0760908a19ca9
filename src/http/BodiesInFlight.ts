import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { addressOfMessage } from "./ClientAddress.ts"
import { Tally } from "./Tally.ts"

/** Maximum bytes of request bodies that are in memory at the same time. */
export interface BodyBounds {
  /** Maximum for all requests in the process. */
  readonly bytes: number
  /** Maximum per credential. For requests without a credential, maximum per IP address of the client. */
  readonly bytesPerCredential: number
}

interface Body {
  owner: string
  /** Counts more bytes of this body. False: a bound is exceeded, and the bytes of this body are no longer counted. */
  readonly count: (bytes: number) => boolean
}

/** The bodies that are being read or processed, by request. */
const bodies = new WeakMap<IncomingMessage, Body>()

/** Counts a body for a credential. Must be called before the body is read. */
export const chargeTo = (request: IncomingMessage, credentialId: string): void => {
  const body = bodies.get(request)
  if (body !== undefined) body.owner = credentialId
}

/** Counts bytes of a request's body. False: they exceed a limit, so the request must be refused. */
export const countBytes = (request: IncomingMessage, bytes: number): boolean =>
  bodies.get(request)?.count(bytes) ?? true

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/** Limits the bodies of a server's requests. The bytes of a body count until its request is answered. */
export const boundBodies = (
  server: Server,
  { bytes: maxBytes, bytesPerCredential }: BodyBounds,
  trustedProxies: number
): void => {
  let totalBytes = 0
  const bytesByOwner = new Tally<string>()

  const add = (owner: string, bytes: number) => {
    totalBytes += bytes
    bytesByOwner.add(owner, bytes)
  }

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    let own = 0
    let isOver = false
    const release = () => {
      add(body.owner, -own)
      own = 0
      isOver = true
    }
    const body: Body = {
      owner: addressOfMessage(request, trustedProxies),
      count: (bytes) => {
        if (isOver) return false
        if (totalBytes + bytes > maxBytes || bytesByOwner.of(body.owner) + bytes > bytesPerCredential) {
          release()
          // The rest of the body is not read, so the connection cannot carry another request.
          response.shouldKeepAlive = false
          return false
        }
        own += bytes
        add(body.owner, bytes)
        return true
      }
    }
    bodies.set(request, body)
    response.once("close", release)
  })
}
