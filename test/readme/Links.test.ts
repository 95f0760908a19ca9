import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "vitest"

const pages = [
  "README.md",
  ...readdirSync("docs", { recursive: true }).map((name) => join("docs", String(name))),
  ...readdirSync("src").map((name) => join("src", name, "README.md"))
].filter((path) => path.endsWith(".md") && existsSync(path))

const features = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory())
const folders = new Set(["src", "test", "docs", "ops", "migrations", ...features.map(({ name }) => name)])

/** Protocols, the exports of the package, and paths with a placeholder such as `cli/NOUNCommands.ts`. */
const isOther = (path: string, name: string) =>
  /^(http\/(protobuf|json)|catalog\/(client|platform|testing))$/.test(path) || /^[A-Z]{2}/.test(name)

/** Whether the path exists, from the root, `src` or `test`, with or without its ending. */
const isThere = (path: string) =>
  ["", "src/", "test/"].some((root) =>
    ["", ".ts", ".tsx", ".test.ts"].some((ending) => existsSync(`${root}${path}${ending}`))
  )

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
      for (const [, path = ""] of text.matchAll(/`(\w[\w-]*\/[\w./-]+)`/g)) {
        const [folder = "", name = ""] = path.split("/")
        if (folders.has(folder) && !isOther(path, name)) assert.isTrue(isThere(path), `${page} names ${path}`)
      }
    })
})
