// Loaded into each worker. Node.js loads the sources of the service itself, because vite's form of a module calls a getter for each use
// of an import, and takes twice as long to load. Node.js removes the types of `.ts` but does not translate `.tsx`.
// Debuggers read the source map. Vitest does not: a stack trace names a line of a translated `.tsx`, not of the source.
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { transformSync } from "esbuild"

registerHooks({
  load: (url, context, next) => {
    if (!url.endsWith(".tsx")) return next(url, context)
    const sourcefile = fileURLToPath(url)
    const options = { loader: "tsx", jsx: "automatic", jsxImportSource: "preact", sourcefile, sourcemap: "inline" }
    const { code } = transformSync(readFileSync(sourcefile, "utf8"), options)
    return { format: "module", source: code, shortCircuit: true }
  }
})
