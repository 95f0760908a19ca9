import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "vitest"

const pages = [
  "README.md",
  ...readdirSync("docs").map((name) => join("docs", name)),
  ...readdirSync("src").map((name) => join("src", name, "README.md"))
].filter((path) => path.endsWith(".md") && existsSync(path))

/** The anchors of a page's headings, in GitHub's form. */
const anchorsOf = (path: string): ReadonlyArray<string> =>
  [...readFileSync(path, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  )

describe("the documents", () => {
  for (const page of pages)
    it(`${page} links to existing pages and sections, and names existing paths`, () => {
      const text = readFileSync(page, "utf8")
      for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
        const [path = "", anchor] = link.split("#")
        const target = path === "" ? page : join(dirname(page), path)
        assert.isTrue(existsSync(target), `${page} links to ${link}`)
        if (anchor !== undefined) assert.include(anchorsOf(target), anchor, `${page} links to ${link}`)
      }
      for (const [, path = ""] of text.matchAll(/`((?:src|test|docs|migrations)\/[\w./-]+)`/g)) {
        const names = [path, `${path}.ts`, `${path}.test.ts`]
        assert.isTrue(
          names.some((name) => existsSync(name)),
          `${page} names ${path}`
        )
      }
    })
})
