import * as dns from "node:dns/promises"
import type { IncomingHttpHeaders } from "node:http"
import { type RequestOptions, request } from "node:https"
import { isIPv6, type LookupFunction } from "node:net"
import { Context, Data, Effect } from "effect"
import { isPublicAddress } from "./PublicAddress.ts"

/** A checked IP address, with options to connect to it. */
export interface Dialled extends Pick<RequestOptions, "ca" | "port"> {
  readonly address: string
}

/** The network of requests to hosts outside. */
export interface Network {
  /** Resolves a host name to all its IP addresses. */
  readonly resolve: (host: string) => Promise<ReadonlyArray<string>>
  readonly dial: (address: string) => Dialled
}

const internet: Network = {
  resolve: async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address),
  dial: (address) => ({ address })
}

/** The network of requests to hosts outside, by default the internet. Tests provide another one. */
export class OutsideNetwork extends Context.Reference<OutsideNetwork>()("catalog/OutsideNetwork", {
  defaultValue: () => internet
}) {}

/** `unresolved`: the host has no address. `private`: not all its addresses are public. `unanswered`: it did not answer. */
export class OutsideFailure extends Data.TaggedError("OutsideFailure")<{
  readonly reason: "unresolved" | "private" | "unanswered"
}> {}

export interface OutsideResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The content of a response with status 200; of others it is not read. Undefined: it is larger than `maxBytes`. */
  readonly bytes: Buffer | undefined
}

interface Options {
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
}

/** Sends one request to a checked IP address without resolving the host again. */
const send = (url: URL, { address, ...dialled }: Dialled, { headers, maxBytes }: Options) =>
  Effect.async<OutsideResponse, OutsideFailure>((resume) => {
    const lookup: LookupFunction = (_, { all }, found) => {
      const family = isIPv6(address) ? 6 : 4
      if (all === true) found(null, [{ address, family }])
      else found(null, address, family)
    }
    const sent = request(url, { ...dialled, agent: false, headers, lookup })
    const end = (outcome: Effect.Effect<OutsideResponse, OutsideFailure>) => {
      resume(outcome)
      sent.destroy()
    }
    const fail = () => end(new OutsideFailure({ reason: "unanswered" }))
    sent.on("error", fail)
    sent.on("response", (response) => {
      const { headers, statusCode: status = 0 } = response
      const answer = (bytes: Buffer | undefined) => end(Effect.succeed({ status, headers, bytes }))
      if (status !== 200) return answer(Buffer.alloc(0))
      const chunks: Array<Buffer> = []
      let length = 0
      response.on("data", (chunk: Buffer) => {
        length += chunk.length
        if (length > maxBytes) answer(undefined)
        else chunks.push(chunk)
      })
      response.on("error", fail)
      response.on("end", () => answer(Buffer.concat(chunks)))
    })
    sent.end()
    return Effect.sync(() => sent.destroy())
  })

/**
 * Sends a GET request to a host that a stranger named: without cookies and credentials, only if all IP addresses of the host are
 * public, and to an address that was checked. Follows no redirect. The caller must check that the URL is https and set a timeout.
 */
export const getOutside = (url: URL, options: Options): Effect.Effect<OutsideResponse, OutsideFailure> =>
  Effect.gen(function* () {
    const network = yield* OutsideNetwork
    const addresses = yield* Effect.tryPromise({
      try: () => network.resolve(url.hostname.replace(/^\[|\]$/g, "")),
      catch: () => new OutsideFailure({ reason: "unresolved" })
    })
    const [address] = addresses
    if (address === undefined || !addresses.every(isPublicAddress))
      return yield* new OutsideFailure({ reason: "private" })
    return yield* send(url, network.dial(address), options)
  })
