import { HttpServerResponse } from "@effect/platform"
import { createElement, type VNode } from "preact"
import { renderToString } from "preact-render-to-string"
import { Viewer, type ViewerOf } from "./Viewer.tsx"

/**
 * Headers of every page. `form-action` is left out of the policy, because Chrome applies it to redirects too and would block the
 * redirect after a consent. With the referrer policy `no-referrer`, browsers would send our own forms with `Origin: null`.
 */
export const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cache-control": "no-store"
}

/** A page for one viewer. Several pages are rendered at the same time, so its language is not a global value. */
export const html = (
  viewer: ViewerOf,
  page: VNode,
  { headers = {}, status = 200 }: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(
    `<!doctype html>\n${renderToString(createElement(Viewer.Provider, { value: viewer }, page))}\n`,
    {
      status,
      contentType: "text/html; charset=utf-8",
      headers: { ...pageHeaders, ...headers }
    }
  )

/** Redirects a browser, for example from a form to the page with its result. */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.empty({ status: 303, headers: { ...pageHeaders, location, ...headers } })
