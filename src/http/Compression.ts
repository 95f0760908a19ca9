import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from "node:zlib"
import { Effect } from "effect"

/** The content codings that the service has, the preferred one first. */
const codings = ["br", "gzip"] as const

export type Coding = (typeof codings)[number]

/** A body below this size fits in one packet with its head. Compressing it saves nothing. */
const minBytes = 1_024

/** Up to this size, compressing takes less time than handing the body to another thread. */
const maxBytesAtOnce = 65_536

const weighted = /^\s*([^\s;]+)\s*(?:;\s*q=([\d.]+)\s*)?$/

/**
 * The coding that an `Accept-Encoding` header prefers (RFC 9110, 12.5.3). Undefined: the body as it is. Members that are not
 * well-formed are ignored.
 */
export const preferredCoding = (header: string): Coding | undefined => {
  const weights = new Map<string, number>()
  for (const member of header.toLowerCase().split(",")) {
    const [, name, weight = "1"] = weighted.exec(member) ?? []
    if (name !== undefined) weights.set(name, Number(weight))
  }
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get("*") ?? 0
  const [best] = [...codings].sort((one, other) => weightOf(other) - weightOf(one))
  return best !== undefined && weightOf(best) > 0 && weightOf(best) >= (weights.get("identity") ?? 0) ? best : undefined
}

/** The coding of an answer with this body. Undefined: the body is sent as it is. */
export const codingFor = (
  { headers }: { readonly headers: { readonly [name: string]: string | undefined } },
  body: Buffer
): Coding | undefined => {
  const accepted = headers["accept-encoding"]
  return accepted === undefined || body.length <= minBytes ? undefined : preferredCoding(accepted)
}

// The fastest levels. Brotli 5 and gzip 6 take 3 to 9 times as long and save 1 or 2 % of a page more.
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
const deflate = { level: 1 }

const atOnce = {
  br: (body: Buffer) => brotliCompressSync(body, brotli),
  gzip: (body: Buffer) => gzipSync(body, deflate)
}

type Finish = (error: Error | null, compressed: Buffer) => void

const onAnotherThread = {
  br: (body: Buffer, finish: Finish) => brotliCompress(body, brotli, finish),
  gzip: (body: Buffer, finish: Finish) => gzip(body, deflate, finish)
}

/** Compresses a body. A long one is compressed on another thread, so that other requests do not wait for it. */
export const compress = (body: Buffer, coding: Coding): Effect.Effect<Buffer> =>
  body.length <= maxBytesAtOnce
    ? Effect.sync(() => atOnce[coding](body))
    : Effect.async((resume) =>
        onAnotherThread[coding](body, (error, compressed) =>
          resume(error === null ? Effect.succeed(compressed) : Effect.die(error))
        )
      )
