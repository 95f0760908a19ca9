// Builds dist/: the command `catalog` in chunks that a command loads as it needs them, `catalog/client`, `catalog/platform`
// and `catalog/testing` as modules of their users' packages, and the files that browsers load.
import { execFile } from "node:child_process"
import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { promisify } from "node:util"
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

const chunks = "dist/chunks"

const namedImports = /^import \{([^}]*)\} from "(\.\/[^"]*)";$/gm

/**
 * Reads what a chunk takes from another once, when it loads. Without this, esbuild writes a getter's call for each use, which costs a
 * tenth of the time of a page. No chunk changes its exports after it has loaded. If two chunks loaded each other, the build would fail.
 */
const importsAreRead = {
  name: "imports-are-read",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.cjs$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(
        namedImports,
        (_, names, chunk) => `var {${names.replaceAll(" as ", ": ")}} = require("${chunk}");`
      )
    }))
  }
}

/** Builds the command in chunks, then makes each chunk a script: Node.js 20 keeps compiled code of scripts only, not of modules. */
const buildChunks = async () => {
  const names = { outdir: chunks, outExtension: { ".js": ".cjs" }, sourcemap: true }
  await build({ ...bundling, ...names, banner: {}, entryPoints: ["src/cli/Main.ts"], splitting: true })
  await build({
    ...names,
    entryPoints: readdirSync(chunks).flatMap((name) => (name.endsWith(".cjs") ? [join(chunks, name)] : [])),
    allowOverwrite: true,
    plugins: [importsAreRead],
    platform: "node",
    format: "cjs",
    target: bundling.target,
    supported: { "dynamic-import": false },
    define: { "import.meta.dirname": "__dirname" },
    logLevel: "warning"
  })
}

rmSync("dist", { recursive: true, force: true })
const [{ metafile }] = await Promise.all([
  build({ ...browserBundling, outdir: "dist/browser" }),
  build({
    ...bundling,
    entryPoints: ["src/main.ts", "src/WriteCode.ts"],
    outdir: "dist",
    splitting: true,
    sourcemap: true
  }),
  buildChunks(),
  ...["platform", "testing"].map((name) =>
    build({ ...module, entryPoints: [`src/${name}/index.ts`], outfile: `dist/${name}/index.js`, plugins: [] })
  ),
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

// V8 accepts compiled code only with the flags that it was compiled with: those of a command and those of `npm start`.
const compile = promisify(execFile)
await Promise.all(
  [[], ["--max-semi-space-size=32"]].map((flags) =>
    compile(process.execPath, [...flags, "dist/WriteCode.js", "--version"])
  )
)
