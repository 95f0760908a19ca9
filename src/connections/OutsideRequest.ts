import * as dns from "node:dns/promises"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import * as http from "node:http"
import type { RequestOptions } from "node:https"
import * as https from "node:https"
import { isIP, isIPv6, type LookupFunction } from "node:net"
import { TLSSocket } from "node:tls"
import { Context, Data, Effect, type Scope } from "effect"
import { isPublicAddress } from "./PublicAddress.ts"

/** Time limit of the first DNS query to each server. Each server is asked twice, and the second query may take longer. */
const queryMillis = 2_000

/**
 * Resolves host names that strangers chose: by DNS queries of this process. `timeout`: milliseconds of the first query. It does not
 * use the operating system's resolver, because Node runs that on two threads, on which the look-up of the database's host would
 * then wait for slow names of strangers. Names of /etc/hosts are not found.
 */
export const makeHostLookUp = ({
  servers,
  timeout = queryMillis
}: {
  /** Addresses of DNS servers, with or without port. Default: those of the operating system. */
  readonly servers?: ReadonlyArray<string>
  readonly timeout?: number
} = {}): ((host: string) => Promise<ReadonlyArray<string>>) => {
  const resolver = new dns.Resolver({ timeout, tries: 2 })
  if (servers !== undefined) resolver.setServers([...servers])
  return async (host) => {
    if (isIP(host) !== 0) return [host]
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = [v4, v6].flatMap((found) => (found.status === "fulfilled" ? found.value : []))
    if (addresses.length === 0 && v4.status === "rejected") throw v4.reason
    return addresses
  }
}

/** A checked IP address, with options to connect to it. */
export interface DialTarget extends Pick<RequestOptions, "ca" | "port"> {
  readonly address: string
}

/** The network of requests to hosts outside. */
export interface Network {
  /** Resolves a host name to all its IP addresses. `isTrusted`: the operator named the host. */
  readonly resolve: (host: string, isTrusted: boolean) => Promise<ReadonlyArray<string>>
  readonly dial: (address: string) => DialTarget
}

const lookUp = makeHostLookUp()

const internet: Network = {
  resolve: async (host, isTrusted) =>
    isTrusted ? (await dns.lookup(host, { all: true })).map(({ address }) => address) : lookUp(host),
  dial: (address) => ({ address })
}

/** The network of requests to hosts outside, by default the internet. Tests provide another one. */
export class OutsideNetwork extends Context.Reference<OutsideNetwork>()("catalog/OutsideNetwork", {
  defaultValue: () => internet
}) {}

/**
 * `unresolved`: the host has no address. `private`: not all its addresses are public. `untrusted`: its certificate is not valid for it.
 * `unanswered`: it did not answer.
 */
export class OutsideFailure extends Data.TaggedError("OutsideFailure")<{
  readonly reason: "unresolved" | "private" | "untrusted" | "unanswered"
}> {}

export interface OutsideResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The content of a response to GET with status 200; empty for other responses. Undefined: it is larger than `maxBytes`. */
  readonly bytes: Buffer | undefined
}

interface Options {
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
  /** The content of a POST request. Undefined: the request is GET. */
  readonly body?: string
}

/** An origin whose host was resolved and checked. All its connections go to the address that was checked. */
interface OutsideOrigin {
  /** Sends one request. Follows no redirect. The caller must set a timeout. */
  readonly send: (url: URL, options: Options) => Effect.Effect<OutsideResponse, OutsideFailure>
}

/** Collects the content of a response. Undefined: it is larger than `maxBytes`. */
const collect = (response: IncomingMessage, maxBytes: number, done: (bytes: Buffer | undefined) => void) => {
  const chunks: Array<Buffer> = []
  let length = 0
  response.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (length > maxBytes) done(undefined)
    else chunks.push(chunk)
  })
  response.on("end", () => done(Buffer.concat(chunks)))
}

/** Whether a request failed because the certificate of its host is not valid. */
const isUntrusted = ({ socket }: http.ClientRequest) =>
  socket instanceof TLSSocket && (socket.authorizationError ?? null) !== null

/** Maximum time for which a connection is kept for the rest of a response that is discarded. */
const maxDiscardMillis = 1_000

/**
 * Discards the content of a response, so that its connection can serve the next request. Closes the connection if the content is
 * longer than `maxBytes` or does not end in time.
 */
const discard = (response: IncomingMessage, maxBytes: number) => {
  let length = 0
  const late = setTimeout(() => response.destroy(), maxDiscardMillis)
  response.on("close", () => clearTimeout(late))
  response.on("error", () => response.destroy())
  response.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (length > maxBytes) response.destroy()
  })
}

/**
 * Sends one request to a checked IP address without resolving the host again. A connection that served a request before may be closed
 * by the host at any moment, so a request that gets no answer on it is sent again, once, over a new connection.
 */
const sendTo = (
  { address, ...dialled }: DialTarget,
  agent: http.Agent | false,
  url: URL,
  { body, headers, maxBytes }: Options
) =>
  Effect.async<OutsideResponse, OutsideFailure>((resume) => {
    const lookup: LookupFunction = (_, { all }, found) => {
      const family = isIPv6(address) ? 6 : 4
      if (all === true) found(null, [{ address, family }])
      else found(null, address, family)
    }
    const options = { ...dialled, headers, lookup, method: body === undefined ? "GET" : "POST" }
    let isOver = false
    const begin = (via: http.Agent | false): http.ClientRequest => {
      const { request } = url.protocol === "https:" ? https : http
      const clientRequest = request(url, { ...options, agent: via })
      const end = (outcome: Effect.Effect<OutsideResponse, OutsideFailure>) => {
        isOver = true
        resume(outcome)
        clientRequest.destroy()
      }
      const fail = () => end(new OutsideFailure({ reason: isUntrusted(clientRequest) ? "untrusted" : "unanswered" }))
      clientRequest.on("error", () => {
        if (isOver) return
        if (clientRequest.reusedSocket) current = begin(false)
        else fail()
      })
      clientRequest.on("response", (response) => {
        const { headers, statusCode: status = 0 } = response
        const answer = (bytes: Buffer | undefined) => end(Effect.succeed({ status, headers, bytes }))
        if (body !== undefined) {
          isOver = true
          discard(response, maxBytes)
          resume(Effect.succeed({ status, headers, bytes: Buffer.alloc(0) }))
        } else if (status !== 200) answer(Buffer.alloc(0))
        else {
          response.on("error", fail)
          collect(response, maxBytes, answer)
        }
      })
      clientRequest.end(body)
      return clientRequest
    }
    let current = begin(agent)
    return Effect.sync(() => {
      isOver = true
      current.destroy()
    })
  })

/**
 * Time limit of a look-up of a host, with all its DNS queries. It leaves time to ask a second DNS server if the first one does not answer.
 * Without the limit, a look-up takes up to 17 s with three servers.
 */
const lookUpMillis = 4_000

const unresolved = () => new OutsideFailure({ reason: "unresolved" })

/** The address to connect to. Fails unless all addresses of the host are public. `isTrusted`: they may be private. */
const dialFor = ({ hostname }: URL, isTrusted: boolean) =>
  Effect.gen(function* () {
    const network = yield* OutsideNetwork
    const addresses = yield* Effect.tryPromise({
      try: () => network.resolve(hostname.replace(/^\[|\]$/g, ""), isTrusted),
      catch: unresolved
    }).pipe(Effect.timeoutFail({ duration: lookUpMillis, onTimeout: unresolved }))
    const [address] = addresses
    if (address === undefined || !(isTrusted || addresses.every(isPublicAddress)))
      return yield* new OutsideFailure({ reason: "private" })
    return network.dial(address)
  })

/**
 * Resolves and checks a host that a stranger named, and keeps up to `maxConnections` connections to it until the scope ends.
 * `isTrusted`: the operator named the host, so it may have private addresses. The caller must check the protocol of the URL.
 */
export const openOutside = (
  url: URL,
  { isTrusted, maxConnections }: { readonly isTrusted: boolean; readonly maxConnections: number }
): Effect.Effect<OutsideOrigin, OutsideFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const dialled = yield* dialFor(url, isTrusted)
    const { Agent } = url.protocol === "https:" ? https : http
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ keepAlive: true, maxSockets: maxConnections })),
      (made) => Effect.sync(() => made.destroy())
    )
    return { send: (target, options) => sendTo(dialled, agent, target, options) }
  })

/**
 * Sends a GET request to a host that a stranger named: without cookies and credentials, only if all IP addresses of the host are
 * public, and to an address that was checked. Follows no redirect. The caller must check that the URL is https and set a timeout.
 */
export const getOutside = (url: URL, options: Options): Effect.Effect<OutsideResponse, OutsideFailure> =>
  Effect.flatMap(dialFor(url, false), (dialled) => sendTo(dialled, false, url, options))
