import { assert } from "@effect/vitest"
import { pageHeaders } from "../../src/console/Html.ts"
import type { Answer } from "../oauth/PagesServer.ts"

/**
 * The content of a page without its frame, and without the address of its event stream, which differs for each
 * request.
 */
export const mainOf = ({ text }: Answer): string =>
  /<main[\s\S]*<\/main>/.exec(text)?.[0].replace(/ data-events="[^"]*"/, "") ?? assert.fail(`no page: ${text}`)

/** Text with escaped HTML. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")

/** Checks a page: its headers and type, and that it has no inline scripts or styles. */
export const assertPage = ({ headers, status, text }: Answer, expected = 200): void => {
  assert.strictEqual(status, expected, text)
  for (const [name, value] of Object.entries(pageHeaders)) assert.strictEqual(headers.get(name), value, name)
  assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
  assert.isNull(headers.get("location"))
  assert.notMatch(text, /<script(?! type="module" src="\/assets\/)|<img(?! src="\/)|\sstyle="|\son[a-z]+="/)
  assert.lengthOf(text.match(/<h1[ >]/g) ?? [], 1)
}

/** Checks the complete content of a page with an error. */
export const assertRefusal = (answer: Answer, status: number, title: string, message: string): void => {
  assertPage(answer, status)
  assert.strictEqual(
    mainOf(answer),
    `<main id="content" class="narrow"><h1>${title}</h1><div class="sheet"><p>${escaped(message)}</p><p><a href="/">To the start page</a></p></div></main>`
  )
}

export const refusals = {
  foreign: [
    403,
    "Not accepted",
    "This form did not come from a page of this service. Open the page again and repeat it there."
  ],
  absent: [404, "Not found", "There is no such record. It may have been removed."],
  unreadable: [400, "Not understood", "A field of the form occurs twice or has characters that cannot be stored."]
} as const
