import { hash } from "node:crypto"
import { HttpServerResponse } from "@effect/platform"

/** A strong tag of a body: equal bodies have equal tags, whoever asks. */
const tagOf = (body: Uint8Array) => `"${hash("sha256", body, "base64url")}"`

const tags = /(?:W\/)?("[^"]*")/g

/** Whether an `If-None-Match` header names the tag: a list, weak tags and `*` are read as RFC 9110 (13.1.2) says. */
const names = (header: string, tag: string) =>
  header.trim() === "*" || [...header.matchAll(tags)].some(([, named]) => named === tag)

/** Gives a 200 its ETag, and turns it into a bodyless 304 where a GET or HEAD names that tag. */
export const conditional = (
  request: { readonly method: string; readonly headers: { readonly [name: string]: string | undefined } },
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  if (response.status !== 200 || response.body._tag !== "Uint8Array") return response
  const etag = tagOf(response.body.body)
  const asked = request.headers["if-none-match"]
  const mayMatch = request.method === "GET" || request.method === "HEAD"
  return asked !== undefined && mayMatch && names(asked, etag)
    ? HttpServerResponse.empty({ status: 304, headers: { etag } })
    : HttpServerResponse.setHeader(response, "etag", etag)
}
