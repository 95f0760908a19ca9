// Builds dist/: the command `catalog` in chunks that a command loads as it needs them, `catalog/testing` as a module of its
// users' packages, and the files that browsers load.
import { rmSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { build } from "esbuild"
import { browserBundling, bundling } from "./bundling.mjs"

rmSync("dist", { recursive: true, force: true })
const [, , { metafile }] = await Promise.all([
  build({ ...bundling, entryPoints: ["src/main.ts"], outdir: "dist", splitting: true, sourcemap: true }),
  build({
    ...bundling,
    entryPoints: ["src/testing/index.ts"],
    outfile: "dist/testing/index.js",
    sourcemap: true,
    // Its users' `effect` must be the one that it uses.
    packages: "external",
    external: [],
    plugins: [],
    banner: {}
  }),
  build({ ...browserBundling, outdir: "dist/browser" })
])

/** The name of each file that browsers load, by the name of its source. */
const names = Object.entries(metafile.outputs).flatMap(([path, { entryPoint }]) =>
  entryPoint === undefined ? [] : [[basename(entryPoint), basename(path)]]
)
writeFileSync("dist/browser/names.json", JSON.stringify(Object.fromEntries(names)))
