// Builds dist/: the command `catalog` in chunks that a command loads as it needs them, and `catalog/testing` as a module of its
// users' packages.
import { rmSync } from "node:fs"
import { build } from "esbuild"
import { bundling } from "./bundling.mjs"

rmSync("dist", { recursive: true, force: true })
await Promise.all([
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
  })
])
