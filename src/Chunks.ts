import { readFileSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { cachedDataVersionTag } from "node:v8"
import { Script } from "node:vm"

/** The chunks of the bundle (`build.mjs`), each a script in CommonJS. */
const directory = join(import.meta.dirname, "chunks")
const requirePackage = createRequire(join(directory, "Main.cjs"))

const modules = new Map<string, { readonly exports: unknown }>()
const scripts = new Map<string, Script>()

/** Where a chunk's compiled code is. V8 accepts it only from the same version with the same flags, which the tag stands for. */
const codePath = (path: string) => `${path}.${cachedDataVersionTag().toString(16)}.code`

/** V8 compares only the lengths of the sources. A chunk that was changed in place is newer than its code. */
const readCode = (path: string) => {
  try {
    return statSync(codePath(path)).mtimeMs < statSync(path).mtimeMs ? {} : { cachedData: readFileSync(codePath(path)) }
  } catch {
    return {}
  }
}

const loadScript = (name: string): unknown => {
  const loaded = modules.get(name)
  if (loaded !== undefined) return loaded.exports
  const path = join(directory, name)
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(path, "utf8")}\n})`
  const script = new Script(source, { filename: path, ...readCode(path) })
  scripts.set(path, script)
  const module = { exports: {} }
  const require = (id: string) => (id.startsWith("./") ? loadScript(id.slice(2)) : requirePackage(id))
  script.runInThisContext()(module.exports, require, module, path, directory)
  modules.set(name, module)
  return module.exports
}

/**
 * Loads a chunk, with the code that the build has compiled if it is for this version and these flags: that saves a fifth of the
 * processor time of a start. Node's own `require` has no such code, but source maps.
 */
export const loadChunk: (name: string) => unknown = process.sourceMapsEnabled
  ? (name) => requirePackage(`./${name}`)
  : loadScript

/** Writes the compiled code of the chunks that were loaded, with each function that has run. */
export const writeCode = (): void => {
  for (const [path, script] of scripts) writeFileSync(codePath(path), script.createCachedData())
}
