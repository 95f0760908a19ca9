// What esbuild is told for everything that runs from a bundle: the command `catalog`, and programs that tests start.
import { readFile } from "node:fs/promises"

const named = /^import \{([^}]*)\} from "(effect|@effect\/(?:cli|platform|rpc|sql|sql-pg))"$/gm

/** One import for each module of the library, on as many lines as before, because source maps count them. */
const importsOf = (statement, names, library) => {
  const modules = names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "))
    .map((name) => {
      const [module, alias = module] = name.split(" as ")
      return /^[a-z]/.test(module)
        ? `import { ${name} } from "${library}/Function"`
        : `import * as ${alias} from "${library}/${module}"`
    })
  return modules.join(";") + "\n".repeat(statement.split("\n").length - 1)
}

/**
 * Imports the modules of a library in place of its index. A chunk that several commands share has each module that any of them
 * uses of an index: a command that needs no server code would load a server's.
 */
const modulesInPlaceOfIndexes = {
  name: "modules-in-place-of-indexes",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/(?:src|test)\/.*\.tsx?$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(named, importsOf),
      loader: path.endsWith("x") ? "tsx" : "ts"
    }))
  }
}

export const bundling = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "warning",
  // PGlite reads its files from its own folder; pg looks for an optional native part; redis is loaded where it is set.
  external: ["@electric-sql/pglite", "pg", "redis"],
  plugins: [modulesInPlaceOfIndexes],
  // Packages in CommonJS call `require`, which a module does not have.
  banner: {
    js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
  }
}

/** What esbuild is told for the files that browsers load. Their names contain a hash, so browsers can cache them forever. */
export const browserBundling = {
  entryPoints: ["console.css", "console.ts", "richtext.ts", "ticks.ts"].map((name) => `src/console/assets/${name}`),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  // A module that is imported while a page is open is a file of its own.
  splitting: true,
  bundle: true,
  platform: "browser",
  format: "esm",
  target: ["chrome123", "firefox121", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  // Warnings of the editor about settings that it does not have here.
  pure: ["console.warn"],
  // Members that only Squire names: without their long names the editor is 0.5 KB smaller. `_tag` is in data of the service.
  mangleProps: /^_[a-z]/,
  reserveProps: /^_tag$/,
  metafile: true,
  logLevel: "warning"
}
