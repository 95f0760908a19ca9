import type { IncomingMessage, Server, ServerResponse } from "node:http"

/** How many bytes of request bodies are held at once. */
export interface BodyBounds {
  /** In the process. */
  readonly bytes: number
  /** For one credential; for requests without one: for one address. */
  readonly bytesPerCredential: number
}

interface Body {
  owner: string
  /** Adds to what is held; false: over a bound, and nothing is held of this body any more. */
  readonly hold: (bytes: number) => boolean
}

/** The bodies that are being read or worked on, by request. Beside the context, as `Caller` is. */
const bodies = new WeakMap<IncomingMessage, Body>()

/** Counts a body for a credential, before anything of it is read. */
export const chargeTo = (request: IncomingMessage, credentialId: string): void => {
  const body = bodies.get(request)
  if (body !== undefined) body.owner = credentialId
}

/** Whether there is room for so many more bytes of a body. */
export const holdBytes = (request: IncomingMessage, bytes: number): boolean => bodies.get(request)?.hold(bytes) ?? true

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/** Bounds the bodies of a server's requests: what is read of one is held until its request is answered. */
export const boundBodies = (server: Server, { bytes: most, bytesPerCredential }: BodyBounds): void => {
  let held = 0
  const heldByOwner = new Map<string, number>()

  const add = (owner: string, bytes: number) => {
    held += bytes
    const ofOwner = (heldByOwner.get(owner) ?? 0) + bytes
    if (ofOwner === 0) heldByOwner.delete(owner)
    else heldByOwner.set(owner, ofOwner)
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
      owner: request.socket.remoteAddress ?? "unknown",
      hold: (bytes) => {
        if (isOver) return false
        if (held + bytes > most || (heldByOwner.get(body.owner) ?? 0) + bytes > bytesPerCredential) {
          release()
          // The rest of the body is not kept: after the answer the connection is of no use.
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
