// Fails for a function of more than 120 lines or a file of more than 500 lines in src, or in the folder of the first argument.
// Counts all lines from the start of a function to its end. Biome's rules do not count the lines of template literals, and
// most long functions here consist of SQL.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript"

const maxFunctionLines = 120
const maxFileLines = 500

/** At most five, each with its reason: "src/Folder/File.ts" for a file, "src/Folder/File.ts name" for a function. */
const exceptions = new Map([])
const maxExceptions = 5

const folder = process.argv[2] ?? "src"

const nameOf = (node) => {
  for (let outer = node; outer !== undefined; outer = outer.parent)
    if (outer.name !== undefined) return outer.name.getText()
  return "function"
}

const longFunctions = (path, text) => {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lineAt = (position) => source.getLineAndCharacterOfPosition(position).line
  const found = []
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) {
      const start = lineAt(node.getStart())
      const lines = lineAt(node.end) - start + 1
      if (lines > maxFunctionLines) {
        const name = nameOf(node)
        found.push({ key: `${path} ${name}`, place: `${path}:${start + 1}: ${name}`, lines, max: maxFunctionLines })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const oversized = readdirSync(folder, { recursive: true })
  .filter((name) => /\.tsx?$/.test(name))
  .sort()
  .flatMap((name) => {
    const path = join(folder, name)
    const text = readFileSync(path, "utf8")
    const lines = text.split("\n").length - 1
    const file = lines > maxFileLines ? [{ key: path, place: path, lines, max: maxFileLines }] : []
    return [...file, ...longFunctions(path, text)]
  })

const keys = new Set(oversized.map(({ key }) => key))
const problems = [
  ...oversized
    .filter(({ key }) => !exceptions.has(key))
    .map(({ lines, max, place }) => `${place} has ${lines} lines, more than ${max}`),
  ...[...exceptions.keys()].filter((key) => !keys.has(key)).map((key) => `${key} is an exception that is not needed`),
  ...(exceptions.size > maxExceptions ? [`${exceptions.size} exceptions, more than ${maxExceptions}`] : [])
]
for (const problem of problems) console.error(problem)
process.exit(problems.length > 0 ? 1 : 0)
