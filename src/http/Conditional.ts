import { hash } from "node:crypto"

/** The strong ETag of a body. Equal bodies have equal tags for every caller. */
export const etagOf = (body: Uint8Array | string): string => `"${hash("sha1", body, "base64url")}"`

const tags = /(?:W\/)?("[^"]*")/g

/** Whether an `If-None-Match` header matches the tag. It can be a list, with weak tags, or `*`: RFC 9110 (13.1.2). */
const matchesTag = (header: string, tag: string) =>
  header.trim() === "*" || [...header.matchAll(tags)].some(([, each]) => each === tag)

/** Whether a GET or HEAD can be answered with 304, because the client has the body with this tag. */
export const isNotModified = (
  { headers, method }: { readonly method: string; readonly headers: { readonly [name: string]: string | undefined } },
  etag: string
): boolean => {
  const ifNoneMatch = headers["if-none-match"]
  return ifNoneMatch !== undefined && (method === "GET" || method === "HEAD") && matchesTag(ifNoneMatch, etag)
}
