import { Data, Duration, Effect } from "effect"
import { getOutside, type OutsideResponse } from "./OutsideRequest.ts"

/** A document cannot be read. `message`: a sentence for people, which tells nothing about this service's network. */
export class DocumentUnread extends Data.TaggedError("DocumentUnread")<{ readonly message: string }> {}

/** A fetched document. */
interface FetchedDocument {
  readonly text: string
  /** The max-age of the response in seconds. Undefined: it has none. */
  readonly maxAge: number | undefined
}

const maxBytes = 65_536
const timeout = Duration.seconds(5)

const documentUnread = (message: string) => new DocumentUnread({ message })

const failures = {
  unresolved: "Its host did not answer.",
  private: "Its host has no public address.",
  untrusted: "Its host did not answer.",
  unanswered: "Its host did not answer."
}

const isJson = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

const maxAgeOf = (header: string | undefined) => {
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(header ?? "") ?? []
  return /(?:^|[\s,])no-(?:store|cache)\b/i.test(header ?? "") ? 0 : seconds === undefined ? undefined : Number(seconds)
}

const documentOf = ({ bytes, headers, status }: OutsideResponse): Effect.Effect<FetchedDocument, DocumentUnread> => {
  if (status >= 300 && status < 400) return documentUnread("Its host answered with a redirect.")
  if (status !== 200) return documentUnread("Its host answered with an error.")
  if (!isJson.test(headers["content-type"] ?? "")) return documentUnread("Its content type is not JSON.")
  if (headers["content-encoding"] !== undefined)
    return documentUnread("It is compressed, although the request did not allow compression.")
  if (bytes === undefined) return documentUnread(`It is larger than ${maxBytes / 1_024} KiB.`)
  return Effect.succeed({ text: bytes.toString(), maxAge: maxAgeOf(headers["cache-control"]) })
}

/**
 * Fetches a JSON document of at most 64 KiB within five seconds. All IP addresses of the host must be public. The caller must
 * check that the URL is https and that the host is trusted.
 */
export const fetchDocument = (url: URL): Effect.Effect<FetchedDocument, DocumentUnread> =>
  getOutside(url, { headers: { accept: "application/json", "accept-encoding": "identity" }, maxBytes }).pipe(
    Effect.catchTag("OutsideFailure", ({ reason }) => documentUnread(failures[reason])),
    Effect.flatMap(documentOf),
    Effect.timeoutFail({
      duration: timeout,
      onTimeout: () => documentUnread(`Its host did not answer within ${Duration.toSeconds(timeout)} seconds.`)
    })
  )
