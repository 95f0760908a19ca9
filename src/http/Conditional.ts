import { hash } from "node:crypto"

/** The strong ETag of a body. Equal bodies have equal tags for every caller. */
export const etagOf = (body: Uint8Array): string => `"${hash("sha1", body, "base64url")}"`

const tags = /(?:W\/)?("[^"]*")/g

/** Whether an `If-None-Match` header names the tag: a list, weak tags and `*` are read as RFC 9110 (13.1.2) says. */
const names = (header: string, tag: string) =>
  header.trim() === "*" || [...header.matchAll(tags)].some(([, named]) => named === tag)

/** Whether a GET or HEAD already has the body with this tag. */
export const isKnown = (
  { headers, method }: { readonly method: string; readonly headers: { readonly [name: string]: string | undefined } },
  etag: string
): boolean => {
  const asked = headers["if-none-match"]
  return asked !== undefined && (method === "GET" || method === "HEAD") && names(asked, etag)
}
