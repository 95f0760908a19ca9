// Builds dist/: the command `catalog` as one file, and `catalog/testing` as a module of its users' packages.
import { rmSync } from "node:fs"
import { build } from "esbuild"

const shared = { bundle: true, platform: "node", format: "esm", target: "node20", sourcemap: true, logLevel: "warning" }

rmSync("dist", { recursive: true, force: true })
await Promise.all([
  build({
    ...shared,
    entryPoints: ["src/main.ts"],
    outdir: "dist",
    splitting: true,
    // PGlite reads its files from its own folder; pg looks for an optional native part; redis is loaded where it is set.
    external: ["@electric-sql/pglite", "pg", "redis"],
    // Packages in CommonJS call `require`, which a module does not have.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
    }
  }),
  build({
    ...shared,
    entryPoints: ["src/testing/index.ts"],
    outfile: "dist/testing/index.js",
    // Its users' `effect` must be the one that it uses.
    packages: "external"
  })
])
