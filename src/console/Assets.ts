import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { HttpServerResponse } from "@effect/platform"
import { packageRoot } from "../PackageRoot.ts"
import { markShape } from "./Icon.tsx"

/** Where `npm run build` puts the files that browsers load. */
const folder = join(packageRoot, "dist", "browser")

const names = JSON.parse(readFileSync(join(folder, "names.json"), "utf8")) as Readonly<
  Record<"console.css" | "console.ts" | "islands.ts" | "richtext.ts" | "ticks.ts", string>
>

/** The icon of the pages in a browser's tab. */
const mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="#2f5bd7"><path d="${markShape}"/><circle cx="14" cy="14" r="3"/></svg>`

/** The paths of the files. Each contains a hash of the content. */
export const assetPaths = {
  stylesheet: `/assets/${names["console.css"]}`,
  script: `/assets/${names["console.ts"]}`,
  /** The script of pages with islands. */
  islands: `/assets/${names["islands.ts"]}`,
  /** The editor of descriptions. Only pages that edit one load it. */
  richText: `/assets/${names["richtext.ts"]}`,
  /** Keeps the ticked checkboxes when an item is moved. Only the page of a collection's products loads it. */
  ticks: `/assets/${names["ticks.ts"]}`,
  icon: `/assets/icon-${hash("sha256", mark, "hex").slice(0, 8)}.svg`
} as const

const immutable = (content: string, contentType: string) =>
  HttpServerResponse.text(content, {
    contentType,
    headers: { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" }
  })

const readBuilt = (name: string) => readFileSync(join(folder, name), "utf8")

export const stylesheet = immutable(readBuilt(names["console.css"]), "text/css; charset=utf-8")
export const script = immutable(readBuilt(names["console.ts"]), "text/javascript; charset=utf-8")
export const islandScript = immutable(readBuilt(names["islands.ts"]), "text/javascript; charset=utf-8")
export const richText = immutable(readBuilt(names["richtext.ts"]), "text/javascript; charset=utf-8")
export const ticks = immutable(readBuilt(names["ticks.ts"]), "text/javascript; charset=utf-8")
export const icon = immutable(mark, "image/svg+xml")
