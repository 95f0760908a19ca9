/**
 * The picture of src in docs/architecture.md, generated from the imports that dependency-cruiser finds, in the order
 * of its rules. `npm run docs:picture` writes it; Picture.test.ts fails if the page shows another one.
 */
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const root = fileURLToPath(new URL("../../", import.meta.url))
const page = `${root}docs/architecture.md`
const [begin, end] = ["<!-- picture: npm run docs:picture -->\n", "<!-- end of the picture -->"]

/** One line for each folder, shown under its name. */
const labels: Readonly<Record<string, string>> = {
  model: "values, errors, pure rules",
  telemetry: "metrics, traces and logs for operators",
  runtime: "queues, clocks, ids, fault steps",
  database: "engine, migrations, transactions",
  catalog: "reads: lists, search, cursors",
  drafts: "the one write path, history",
  events: "tells open pages what changed",
  feed: "the changes of an account, in order",
  jobs: "work in the background, in steps",
  platform: "calls to stores; Shopify",
  stores: "linked stores, their tokens",
  bulk: "changes of many drafts",
  health: "scans, issues, fills, reconciles",
  publishing: "publish requests, the queue",
  budgets: "requests per minute, Redis",
  access: "accounts, keys, users, sessions",
  storedata: "markets, definitions, translations",
  drops: "timed field changes",
  connections: "OAuth: clients, consents, tokens",
  imports: "product files, refreshes, reviews",
  exports: "the catalog as a file",
  webhooks: "messages about every change",
  demo: "the demo account and its shops",
  programs: "one program per endpoint; sweeper",
  api: "endpoint definitions, error table",
  http: "gate, handlers, documents",
  mcp: "tools for agents",
  console: "pages",
  oauth: "authorization server",
  admin: "operator commands over rpc",
  cli: "command line",
  client: "typed client for users' programs",
  testing: "layers and builders for tests"
}

interface Cruise {
  readonly modules: ReadonlyArray<{
    readonly source: string
    readonly dependencies: ReadonlyArray<{ readonly resolved: string }>
  }>
  readonly summary: { readonly ruleSetUsed: { readonly forbidden: ReadonlyArray<{ readonly name: string }> } }
}

const cruise = async (): Promise<Cruise> => {
  const args = ["--config", ".dependency-cruiser.cjs", "--output-type", "json", "src"]
  const { stdout } = await promisify(execFile)(process.execPath, ["node_modules/.bin/depcruise", ...args], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024
  })
  return JSON.parse(stdout) as Cruise
}

/** All folders that can be reached from a folder by two or more imports. */
const beyond = (imports: ReadonlyMap<string, ReadonlyArray<string>>, from: string): ReadonlySet<string> => {
  const reached = new Set<string>()
  const follow = (folder: string): void => {
    for (const next of imports.get(folder) ?? [])
      if (!reached.has(next)) {
        reached.add(next)
        follow(next)
      }
  }
  for (const next of imports.get(from) ?? []) follow(next)
  return reached
}

/**
 * Draws an arrow from each folder to the folders that it imports, unless a longer path has the same ends. Leaves out
 * files for tests (`*.memory.ts`) and imports against the order, which `npm run check:arrows` refuses.
 */
export const drawPicture = async (): Promise<string> => {
  const { modules, summary } = await cruise()
  const folders = summary.ruleSetUsed.forbidden.flatMap(({ name }) => /^arrows-of-(\w+)$/.exec(name)?.[1] ?? [])
  const folderOf = (path: string) => /^src\/(\w+)\//.exec(path)?.[1]
  const imported = new Set(
    modules
      .filter(({ source }) => !source.endsWith(".memory.ts"))
      .flatMap(({ source, dependencies }) =>
        dependencies.map(({ resolved }) => `${folderOf(source)} ${folderOf(resolved)}`)
      )
  )
  const imports = new Map(
    folders.map((folder, place) => [
      folder,
      folders.slice(0, place).filter((other) => imported.has(`${folder} ${other}`))
    ])
  )
  const surfaces = folders.slice(folders.indexOf("api"))
  const node = (folder: string) => {
    const label = labels[folder]
    if (label === undefined) throw new Error(`test/readme/Picture.ts has no label for src/${folder}`)
    return `    ${folder}["${folder}/<br/>${label}"]`
  }
  const arrows = [...folders].reverse().flatMap((folder) => {
    const indirect = beyond(imports, folder)
    const direct = (imports.get(folder) ?? []).filter((other) => !indirect.has(other))
    return direct.length === 0 ? [] : [`  ${folder} --> ${direct.join(" & ")}`]
  })
  return [
    "```mermaid",
    "flowchart TB",
    '  subgraph surfaces["surfaces"]',
    ...surfaces.map(node),
    "  end",
    '  subgraph core["core, lowest last"]',
    ...folders
      .filter((folder) => !surfaces.includes(folder))
      .reverse()
      .map(node),
    "  end",
    ...arrows,
    "```",
    ""
  ].join("\n")
}

const parts = () => {
  const text = readFileSync(page, "utf8")
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)]
  if (from < begin.length || to < from) throw new Error(`${page} has no place for the picture`)
  return { before: text.slice(0, from), picture: text.slice(from, to), after: text.slice(to) }
}

/** The picture on the page. */
export const shownPicture = (): string => parts().picture

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { before, after } = parts()
  writeFileSync(page, `${before}${await drawPicture()}${after}`)
}
