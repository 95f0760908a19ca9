import { Effect } from "effect"
import type { Client } from "./ClusterClients.ts"
import { type Supplier, sizes } from "./ClusterImports.ts"
import { aPageUserOf, inTurns, open, type PageUser, type Processes } from "./ClusterPages.ts"

const files = ["jsonl", "csv"] as const

/** A user who downloads the catalog of an account while another user imports products. */
interface Exporter extends PageUser {
  readonly done: Record<(typeof files)[number], number>
}

export const anExporterOf = (client: Client) =>
  Effect.map(aPageUserOf(client), (user): Exporter => ({ ...user, done: { jsonl: 0, csv: 0 } }))

interface Line {
  readonly type: string
  readonly entities?: number
  readonly attributes?: Readonly<Record<string, { readonly value: string }>>
}

/** The titles of the products of an export by handle, and why it is not complete. */
const readLines = (text: string) => {
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
  const [head, end] = [lines[0], lines.at(-1)]
  const entities = lines.filter(({ type }) => ["collection", "media", "product", "variant"].includes(type))
  const isWhole = head?.type === "catalog" && end?.type === "end" && text.endsWith("\n")
  return {
    products: entities.flatMap(({ attributes = {}, type }) =>
      type === "product" && attributes.handle !== undefined ? [[attributes.handle.value, attributes.title?.value]] : []
    ),
    wrong:
      isWhole && head.entities === entities.length && end.entities === entities.length
        ? undefined
        : `${entities.length} entities between ${JSON.stringify(head)} and ${JSON.stringify(end)}`
  }
}

const readRows = (text: string) => {
  const rows = text.trimEnd().split(/\r?\n/)
  const columns = rows[0]?.split(",") ?? []
  const title = columns.indexOf("Title")
  return { products: rows.slice(1).map((row) => [row.split(",")[0], row.split(",")[title]]), wrong: undefined }
}

/** Downloads a file. If it arrives to its end, it must have every product, with the title from before or after an import. */
const download = (processes: Processes, exporter: Exporter, supplier: Supplier, file: (typeof files)[number]) =>
  Effect.gen(function* () {
    const titles = () => [supplier.titles, supplier.coming].flatMap((each) => Object.values(each))
    const before = titles()
    const path = file === "csv" ? `/exports/products.csv?id=${supplier.filesId}` : "/exports/catalog.jsonl"
    const answer = yield* open(processes, exporter, path, undefined, true)
    if (answer === undefined) return
    const allowed = new Set([...before, ...titles()])
    const { products, wrong } = file === "csv" ? readRows(answer.text) : readLines(answer.text)
    const expected = sizes.file + (file === "csv" ? 0 : sizes.refresh)
    const others = products.filter(([, title]) => !allowed.has(title ?? ""))
    const handles = new Set(products.map(([handle]) => handle))
    if (wrong !== undefined || products.length !== expected || handles.size !== expected || others.length > 0)
      exporter.wrong.push(
        `${path} had ${products.length} products with ${handles.size} handles instead of ${expected}; ` +
          `${others.length} with other titles than ${[...allowed]}, such as ${others[0]}; ${wrong ?? "it is whole"}`
      )
    exporter.done[file] += 1
  })

/** Downloads files in turns until it is paused. */
export const exporting = (processes: Processes, exporter: Exporter, supplier: Supplier, pauseMillis: number) =>
  inTurns(exporter, pauseMillis, (turn) => download(processes, exporter, supplier, turn % 2 === 0 ? "jsonl" : "csv"))
