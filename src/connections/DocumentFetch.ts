import * as dns from "node:dns/promises"
import { type RequestOptions, request } from "node:https"
import { isIPv6, type LookupFunction } from "node:net"
import { Context, Data, Duration, Effect } from "effect"
import { isPublicAddress } from "./PublicAddress.ts"

/** A document cannot be read. `message`: a sentence for people, which tells nothing about this service's network. */
export class DocumentUnread extends Data.TaggedError("DocumentUnread")<{ readonly message: string }> {}

/** A checked IP address, with options to connect to it. */
export interface Dialled extends Pick<RequestOptions, "ca" | "port"> {
  readonly address: string
}

/** The network access of a fetch. */
export interface Network {
  /** Resolves a host name to all its IP addresses. */
  readonly resolve: (host: string) => Promise<ReadonlyArray<string>>
  readonly dial: (address: string) => Dialled
}

const internet: Network = {
  resolve: async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address),
  dial: (address) => ({ address })
}

/** The network of fetches, by default the internet. Tests provide another one. */
export class OutsideNetwork extends Context.Reference<OutsideNetwork>()("catalog/OutsideNetwork", {
  defaultValue: () => internet
}) {}

/** A fetched document. */
export interface FetchedDocument {
  readonly text: string
  /** The max-age of the response in seconds. Undefined: it has none. */
  readonly maxAge: number | undefined
}

const maxBytes = 65_536
const timeout = Duration.seconds(5)

const unread = (message: string) => new DocumentUnread({ message })

const noAnswer = unread("Its host did not answer.")

const isJson = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

const maxAgeOf = (header: string | undefined) => {
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(header ?? "") ?? []
  return /(?:^|[\s,])no-(?:store|cache)\b/i.test(header ?? "") ? 0 : seconds === undefined ? undefined : Number(seconds)
}

/** Sends one request to a checked IP address without resolving the host again. Follows no redirect. */
const get = (url: URL, { address, ...dialled }: Dialled) =>
  Effect.async<FetchedDocument, DocumentUnread>((resume) => {
    const fail = (error: DocumentUnread) => {
      resume(Effect.fail(error))
      sent.destroy()
    }
    const lookup: LookupFunction = (_, { all }, found) => {
      const family = isIPv6(address) ? 6 : 4
      if (all === true) found(null, [{ address, family }])
      else found(null, address, family)
    }
    const sent = request(url, {
      ...dialled,
      agent: false,
      headers: { accept: "application/json", "accept-encoding": "identity" },
      lookup
    })
    sent.on("error", () => resume(Effect.fail(noAnswer)))
    sent.on("response", (response) => {
      const { headers, statusCode = 0 } = response
      if (statusCode >= 300 && statusCode < 400) return fail(unread("Its host answered with a redirect."))
      if (statusCode !== 200) return fail(unread("Its host answered with an error."))
      if (!isJson.test(headers["content-type"] ?? "")) return fail(unread("It is not JSON by its content type."))
      if (headers["content-encoding"] !== undefined)
        return fail(unread("It is compressed, although the request did not allow compression."))
      const chunks: Array<Buffer> = []
      let length = 0
      response.on("data", (chunk: Buffer) => {
        length += chunk.length
        if (length > maxBytes) fail(unread(`It is larger than ${maxBytes / 1_024} KiB.`))
        else chunks.push(chunk)
      })
      response.on("error", () => resume(Effect.fail(noAnswer)))
      response.on("end", () =>
        resume(Effect.succeed({ text: Buffer.concat(chunks).toString(), maxAge: maxAgeOf(headers["cache-control"]) }))
      )
    })
    sent.end()
    return Effect.sync(() => sent.destroy())
  })

/**
 * Fetches a JSON document of at most 64 KiB within five seconds. All IP addresses of the host must be public. The caller must
 * check that the URL is https and that the host is trusted.
 */
export const fetchDocument = (url: URL): Effect.Effect<FetchedDocument, DocumentUnread> =>
  Effect.gen(function* () {
    const network = yield* OutsideNetwork
    const addresses = yield* Effect.tryPromise({ try: () => network.resolve(url.hostname), catch: () => noAnswer })
    const [address] = addresses
    if (address === undefined || !addresses.every(isPublicAddress))
      return yield* unread("Its host has no public address.")
    return yield* get(url, network.dial(address))
  }).pipe(
    Effect.timeoutFail({
      duration: timeout,
      onTimeout: () => unread(`Its host did not answer within ${Duration.toSeconds(timeout)} seconds.`)
    })
  )
