import { type RequestOptions, request } from "node:https"
import { isIPv6, type LookupFunction } from "node:net"
import { Data, Duration, Effect } from "effect"
import { type Dialled, type Network, OutsideNetwork } from "../../connections/DocumentFetch.ts"
import { isPublicAddress } from "../../connections/PublicAddress.ts"

/** A picture cannot be read. */
export class PictureUnread extends Data.TaggedError("PictureUnread")<{ readonly why: string }> {}

export interface Picture {
  readonly bytes: Uint8Array
  readonly type: string
}

export const maxPictureBytes = 10 * 1_048_576
const timeout = Duration.seconds(10)
const maxRedirects = 3

const unread = (why: string) => new PictureUnread({ why })

/** The formats that browsers show, by their first bytes. SVG is none of them: it can hold scripts and links. */
const formats: ReadonlyArray<readonly [type: string, isIt: (bytes: Buffer) => boolean]> = [
  ["image/png", (bytes) => bytes.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))],
  ["image/jpeg", (bytes) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ["image/gif", (bytes) => /^GIF8[79]a/.test(bytes.toString("latin1", 0, 6))],
  ["image/webp", (bytes) => /^RIFF[\s\S]{4}WEBP/.test(bytes.toString("latin1", 0, 12))],
  ["image/avif", (bytes) => /^[\s\S]{4}ftypavi[fs]/.test(bytes.toString("latin1", 0, 12))]
]

/** The type of an image by its content. Undefined: it is not an image that browsers show. */
export const imageTypeOf = (content: Uint8Array): string | undefined => {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  return formats.find(([, isIt]) => isIt(bytes))?.[0]
}

type Answer = { readonly _tag: "Bytes"; readonly bytes: Buffer } | { readonly _tag: "Moved"; readonly to: string }

/** Sends one request to a checked address, without cookies, credentials or a second look-up of the host. */
const get = (url: URL, { address, ...dialled }: Dialled) =>
  Effect.async<Answer, PictureUnread>((resume) => {
    const lookup: LookupFunction = (_, { all }, found) => {
      const family = isIPv6(address) ? 6 : 4
      if (all === true) found(null, [{ address, family }])
      else found(null, address, family)
    }
    const options: RequestOptions = {
      ...dialled,
      agent: false,
      headers: { accept: "image/avif,image/webp,image/*", "accept-encoding": "identity" },
      lookup
    }
    const sent = request(url, options)
    const end = (answer: Effect.Effect<Answer, PictureUnread>) => {
      resume(answer)
      sent.destroy()
    }
    sent.on("error", () => end(unread("its host did not answer")))
    sent.on("response", (response) => {
      const { headers, statusCode = 0 } = response
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined)
        return end(Effect.succeed({ _tag: "Moved", to: headers.location }))
      if (statusCode !== 200) return end(unread(`its host answered ${statusCode}`))
      const chunks: Array<Buffer> = []
      let length = 0
      response.on("data", (chunk: Buffer) => {
        length += chunk.length
        if (length > maxPictureBytes) end(unread("it is larger than 10 MB"))
        else chunks.push(chunk)
      })
      response.on("error", () => end(unread("its host did not answer")))
      response.on("end", () => end(Effect.succeed({ _tag: "Bytes", bytes: Buffer.concat(chunks) })))
    })
    sent.end()
    return Effect.sync(() => sent.destroy())
  })

/** Each step of a redirect is checked like the first address. */
const follow = (network: Network, address: string, redirects: number): Effect.Effect<Buffer, PictureUnread> =>
  Effect.gen(function* () {
    if (!URL.canParse(address)) return yield* unread("its address is no URL")
    const url = new URL(address)
    if (url.protocol !== "https:" || url.username !== "" || url.password !== "" || url.port !== "")
      return yield* unread("its address is not https")
    const addresses = yield* Effect.tryPromise({
      try: () => network.resolve(url.hostname.replace(/^\[|\]$/g, "")),
      catch: () => unread("its host has no address")
    })
    const [first] = addresses
    if (first === undefined || !addresses.every(isPublicAddress)) return yield* unread("its host has no public address")
    const answer = yield* get(url, network.dial(first))
    if (answer._tag === "Bytes") return answer.bytes
    if (redirects === 0 || !URL.canParse(answer.to, url)) return yield* unread("its host redirects too often")
    return yield* follow(network, new URL(answer.to, url).href, redirects - 1)
  })

/** Fetches an image of at most 10 MB within ten seconds, from public addresses over https only. */
export const fetchPicture = (address: string): Effect.Effect<Picture, PictureUnread> =>
  Effect.gen(function* () {
    const bytes = yield* follow(yield* OutsideNetwork, address, maxRedirects)
    const type = imageTypeOf(bytes)
    return type === undefined ? yield* unread("it is not an image") : { bytes, type }
  }).pipe(
    Effect.timeoutFail({ duration: timeout, onTimeout: () => unread("its host did not answer within ten seconds") })
  )
