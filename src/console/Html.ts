import { HttpServerResponse } from "@effect/platform"
import type { VNode } from "preact"
import { renderToString } from "preact-render-to-string"

/**
 * What every page leaves with. No `form-action`: Chrome follows it along the redirect that ends a consent, and stops there.
 * `same-origin`: with `no-referrer` browsers would send our own forms with `Origin: null`.
 */
export const pageHeaders = {
  "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cache-control": "no-store"
}

/** A page as it is sent. */
export const html = (
  page: VNode,
  { headers = {}, status = 200 }: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(`<!doctype html>\n${renderToString(page)}\n`, {
    status,
    contentType: "text/html; charset=utf-8",
    headers: { ...pageHeaders, ...headers }
  })

/** Sends a browser on: after a form, to the page that shows what came of it. */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.empty({ status: 303, headers: { ...pageHeaders, location, ...headers } })
