import { readFileSync } from "node:fs"
import { join } from "node:path"
import { HttpServerResponse } from "@effect/platform"
import { packageRoot } from "../PackageRoot.ts"

/** Where `npm run build` puts the files that browsers load. */
const folder = join(packageRoot, "dist", "browser")

const names = JSON.parse(readFileSync(join(folder, "names.json"), "utf8")) as Readonly<
  Record<"console.css" | "console.ts", string>
>

/** The paths of the files. Each contains a hash of the content. */
export const assetPaths = {
  stylesheet: `/assets/${names["console.css"]}`,
  script: `/assets/${names["console.ts"]}`
} as const

const contentTypes = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" }

const assetOf = (name: string) =>
  HttpServerResponse.text(readFileSync(join(folder, name), "utf8"), {
    contentType: contentTypes[name.endsWith(".css") ? "css" : "js"],
    headers: { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" }
  })

export const stylesheet = assetOf(names["console.css"])
export const script = assetOf(names["console.ts"])
