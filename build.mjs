// Builds dist/: the command `catalog` in chunks that a command loads as it needs them, `catalog/client` and
// `catalog/testing` as modules of their users' packages, and the files that browsers load.
import { rmSync, writeFileSync } from "node:fs"
import { basename } from "node:path"
import { build } from "esbuild"
import { browserBundling, bundling } from "./bundling.mjs"

/** A module of its users' packages. Their `effect` must be the one that it uses. */
const module = { ...bundling, sourcemap: true, packages: "external", external: [], banner: {} }

/** Leaves out modules of which nothing is used: the definitions of the API lie beside rules that only the service applies. */
const onlyWhatIsUsed = {
  name: "only-what-is-used",
  setup: ({ onResolve, resolve }) => {
    onResolve({ filter: /^\.\.?\// }, async ({ path, pluginData, ...from }) =>
      pluginData === onlyWhatIsUsed
        ? undefined
        : { ...(await resolve(path, { ...from, pluginData: onlyWhatIsUsed })), sideEffects: false }
    )
  }
}

rmSync("dist", { recursive: true, force: true })
const [{ metafile }] = await Promise.all([
  build({ ...browserBundling, outdir: "dist/browser" }),
  build({ ...bundling, entryPoints: ["src/main.ts"], outdir: "dist", splitting: true, sourcemap: true }),
  build({ ...module, entryPoints: ["src/testing/index.ts"], outfile: "dist/testing/index.js", plugins: [] }),
  build({
    ...module,
    entryPoints: ["src/client/index.ts"],
    outfile: "dist/client/index.js",
    platform: "neutral",
    plugins: [...bundling.plugins, onlyWhatIsUsed]
  })
])

/** The name of each file that browsers load, by the name of its source. */
const names = Object.entries(metafile.outputs).flatMap(([path, { entryPoint }]) =>
  entryPoint === undefined ? [] : [[basename(entryPoint), basename(path)]]
)
writeFileSync("dist/browser/names.json", JSON.stringify(Object.fromEntries(names)))
