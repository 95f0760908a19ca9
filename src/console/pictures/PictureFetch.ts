import { Data, Duration, Effect } from "effect"
import { getOutside } from "../../connections/OutsideRequest.ts"

/** A picture cannot be read. */
export class PictureUnread extends Data.TaggedError("PictureUnread")<{ readonly why: string }> {}

export interface Picture {
  readonly bytes: Uint8Array
  readonly type: string
}

export const maxPictureBytes = 10 * 1_048_576
const timeout = Duration.seconds(10)
const maxRedirects = 3

const pictureUnread = (why: string) => new PictureUnread({ why })

const failures = {
  unresolved: "its host has no address",
  private: "its host has no public address",
  untrusted: "its host did not answer",
  unanswered: "its host did not answer"
}

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

/** Each step of a redirect is checked like the first address. */
const follow = (address: string, redirects: number): Effect.Effect<Buffer, PictureUnread> =>
  Effect.gen(function* () {
    if (!URL.canParse(address)) return yield* pictureUnread("its address is not a URL")
    const url = new URL(address)
    if (url.protocol !== "https:" || url.username !== "" || url.password !== "" || url.port !== "")
      return yield* pictureUnread("its address is not https")
    const { bytes, headers, status } = yield* Effect.catchTag(
      getOutside(url, {
        headers: { accept: "image/avif,image/webp,image/*", "accept-encoding": "identity" },
        maxBytes: maxPictureBytes
      }),
      "OutsideFailure",
      ({ reason }) => pictureUnread(failures[reason])
    )
    if (status >= 300 && status < 400 && headers.location !== undefined) {
      if (redirects === 0 || !URL.canParse(headers.location, url))
        return yield* pictureUnread("its host redirects too often")
      return yield* follow(new URL(headers.location, url).href, redirects - 1)
    }
    if (status !== 200) return yield* pictureUnread(`its host answered ${status}`)
    return bytes ?? (yield* pictureUnread("it is larger than 10 MB"))
  })

/** Fetches an image of at most 10 MB within ten seconds, from public addresses over https only. */
export const fetchPicture = (address: string): Effect.Effect<Picture, PictureUnread> =>
  Effect.gen(function* () {
    const bytes = yield* follow(address, maxRedirects)
    const type = imageTypeOf(bytes)
    return type === undefined ? yield* pictureUnread("it is not an image") : { bytes, type }
  }).pipe(
    Effect.timeoutFail({
      duration: timeout,
      onTimeout: () => pictureUnread("its host did not answer within ten seconds")
    })
  )
