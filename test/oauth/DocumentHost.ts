import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { Network } from "../../src/connections/OutsideRequest.ts"
import { certificate, certificateKey } from "../support/Certificate.ts"
import { loopbackRedirect } from "./ClientMemory.ts"
import { redirectUri } from "./PagesServer.ts"

export const documentHost = "agent.example"
/** A public address. The tests' network connects it to this machine. */
export const publicAddress = "93.184.216.34"

/** The response of the host for a path. */
export interface HostAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Sends the response head, and no body. */
  readonly stalls?: boolean
}

export const addressAt = (path: string, host = documentHost) => `https://${host}${path}`

/** The response with a client's document for a path. */
export const documentAt = (path: string, others: Readonly<Record<string, unknown>> = {}): HostAnswer => ({
  body: JSON.stringify({
    client_id: addressAt(path),
    client_name: "Described Agent",
    client_uri: "https://agent.example",
    redirect_uris: [redirectUri, loopbackRedirect],
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    token_endpoint_auth_method: "none",
    ...others
  })
})

/** A host of documents on this machine, and a network in which it has a public address. */
export const makeDocumentHost = Effect.gen(function* () {
  const answers = new Map<string, HostAnswer>()
  const requested: Array<string> = []
  const dialled: Array<string> = []
  const addresses = new Map<string, ReadonlyArray<string>>()
  let resolved = 0
  let connections = 0
  const server = yield* Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const made = createServer({ cert: certificate, key: certificateKey }, (request, response) => {
        requested.push(request.url ?? "")
        const {
          body = "",
          headers = {},
          stalls = false,
          status = 200
        } = answers.get(request.url ?? "") ?? { status: 404 }
        response.writeHead(status, { "content-type": "application/json", ...headers })
        if (stalls) response.flushHeaders()
        else response.end(body)
      })
      made.on("connection", () => {
        connections += 1
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.close()
        made.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  const network: Network = {
    resolve: (host) => {
      resolved += 1
      const found = addresses.get(host)
      return found === undefined ? Promise.reject(new Error(`ENOTFOUND ${host}`)) : Promise.resolve(found)
    },
    dial: (address) => {
      dialled.push(address)
      return { address: "127.0.0.1", port, ca: certificate }
    }
  }
  addresses.set(documentHost, [publicAddress, "2606:2800:220:1:248:1893:25c8:1946"])
  return {
    network,
    answers,
    addresses,
    /** Paths that were requested, in order. */
    requested,
    /** Addresses to which a connection was started. */
    dialled,
    counts: () => ({ resolved, connections })
  }
})
