import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { Effect, Schedule } from "effect"

const lines = (...records: ReadonlyArray<string>) => `${records.join("\n")}\n`
const head = "Handle,Title,Variant SKU,Variant Price"

/** A valid export, imported beforehand into the store us.example: `mug` with the SKU M-1 and `cup` with C-1. */
export const goodExport = lines(head, "mug,Mug,M-1,5.00", "cup,Cup,C-1,4.00")

interface BadExport {
  readonly what: string
  readonly content: string | Uint8Array
  /** The complete error message. */
  readonly message: string
}

/** Files that can be opened but are refused, each with a single problem. */
export const badExports: ReadonlyArray<BadExport> = [
  {
    what: "other columns",
    content: lines("id,name", "1,Mug"),
    message: 'Line 1: This is not a header of a Shopify product export: "Handle" and "Title" are missing.'
  },
  {
    what: "an inventory export, of products that are here",
    content: lines(
      "Handle,Title,Option1 Name,Option1 Value,SKU,HS Code,COO,Location,Available (not editable),On hand (new)",
      "mug,Mug,Title,Default Title,M-1,,,Shop,3,"
    ),
    message:
      'Line 1: This is an inventory export (it has the columns "HS Code" and "COO"), not a product export: in the Shopify admin, open Products, choose Export and import that file.'
  },
  {
    what: "no header",
    content: lines("mug,Mug,true,true,5.00", "cup,Cup,true,true,4.00"),
    message:
      "Line 1: The first line is not a header: it has values, not the names of a product export's columns (Handle, Title, ...). Add the header line, or export the products again."
  },
  {
    what: "an open quote",
    content: lines(head, "mug,Mug,M-1,5.00", 'pot,"Pot,P-1,3.00'),
    message: 'Line 3, column "Title": The quote that opens this cell is never closed.'
  },
  {
    what: "invalid UTF-8",
    content: Buffer.concat([Buffer.from(lines(head, "mug,Mug,M-1,5.00")), Buffer.from([0x63, 0xe9, 0x2c, 0x0a])]),
    message:
      'Line 3: The file is not valid UTF-8 here (perhaps it is Windows-1252): save it as UTF-8 (Excel: "CSV UTF-8").'
  },
  {
    what: "binary",
    content: Buffer.from("PK\u0003\u0004\n\u0014\u0000\u0006"),
    message: "Line 2: The file contains U+0000: it is not a text file."
  },
  { what: "nothing", content: "", message: "The file is empty." },
  { what: "no rows", content: lines(head), message: "The file has a header but no products." },
  {
    what: "no title",
    content: lines(head, "mug,Mug,M-1,5.00", "pot,,P-1,3.00"),
    message: 'Line 3, column "Title": The first line of a product must have its title.'
  },
  {
    what: "no column of titles, and a product that is not here",
    content: lines("Handle,Variant SKU,Variant Price", "mug,M-1,9.00", "pot,P-1,3.00"),
    message: 'Line 3, column "Title": the product does not exist yet, and a new product needs a title'
  },
  {
    what: "a misfit price",
    content: lines(head, "mug,Mug,M-1,9.00", 'pot,Pot,P-1,"3,00 €"'),
    message: 'Line 3, column "Variant Price": "3,00 €" is not a number of 0 or more, written like 12.50.'
  },
  {
    what: "SKUs that lead to different products",
    content: lines(head, "pot,Pot,P-1,3.00", "mug,Mug,M-1,9.00", "mug,,C-1,9.00"),
    message:
      'Line 4, column "Variant SKU": this SKU and an earlier SKU of the product belong to different products here'
  },
  {
    what: "two products that lead to one, the second by its SKU",
    content: lines(head, "mug,Mug,,9.00", "jug,Jug,M-1,9.00"),
    message: 'Line 3, column "Variant SKU": the SKU "M-1" belongs to the product that is already on line 2'
  },
  {
    what: "two products that lead to one, the second by its handle",
    content: lines(head, "jug,Jug,M-1,9.00", "mug,Mug,,9.00"),
    message: 'Line 3, column "Handle": the handle "mug" belongs to the product that is already on line 2'
  },
  {
    what: "a line of 10 MB",
    content: Buffer.concat([Buffer.from(lines(head, "mug,Mug,M-1,9.00")), Buffer.alloc(10_000_000, "x")]),
    message: "Line 3: The line is longer than 1 MiB."
  }
]

/** Paths of files that cannot be read: how to create each, and the message. */
export const badPaths: ReadonlyArray<{
  readonly what: string
  readonly make: (path: string) => void
  readonly message: (path: string) => string
}> = [
  { what: "no file", make: () => {}, message: (path) => `There is no such file: ${path}` },
  { what: "a directory", make: (path) => mkdirSync(path), message: () => "This is a directory, not a file." },
  {
    what: "a file of somebody else",
    make: (path) => {
      writeFileSync(path, goodExport)
      chmodSync(path, 0)
    },
    message: () => "The service has no permission to read the file."
  }
]

/** File permissions do not apply to the superuser, so such a test runs as another user. */
export const asNobody = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  process.geteuid?.() !== 0
    ? work
    : Effect.acquireUseRelease(
        Effect.sync(() => process.seteuid?.(65_534)),
        () => work,
        () => Effect.sync(() => process.seteuid?.(0))
      )

/** An export of 3.4 MB, of which 500 kB are read before it is changed. */
export const writeLongExport = (path: string) =>
  writeFileSync(
    path,
    lines(head, ...Array.from({ length: 40_000 }, (_, index) => `long-${index},${"Long ".repeat(12)},L-${index},1.00`))
  )

export const changedMessage = "The file was changed or replaced while it was read: import it again."

/** Changes of a file while it is read. */
export const disturbances: ReadonlyArray<readonly [what: string, disturb: (path: string) => void]> = [
  ["shrinks", (path) => truncateSync(path, 2_000_000)],
  ["grows", (path) => appendFileSync(path, "mug,Mug,M-1,9.00\n")],
  [
    "is replaced",
    (path) => {
      writeFileSync(`${path}.new`, goodExport)
      renameSync(`${path}.new`, path)
    }
  ]
]

/** Whether this machine reports how many bytes a process reads. */
export const tellsReads = existsSync("/proc/self/io")

const readBytes = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1])

const isOpen = (path: string) =>
  readdirSync("/proc/self/fd").some((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path
    } catch {
      return false
    }
  })

/** Waits until this process has the file open and has read some of it. */
export const untilRead = (path: string) =>
  Effect.gen(function* () {
    const look = Effect.sync(() => isOpen(path))
    yield* Effect.repeat(look, { until: (open) => open, schedule: Schedule.spaced("2 millis") })
    const before = readBytes()
    const some = Effect.sync(() => readBytes() - before)
    yield* Effect.repeat(some, { until: (bytes) => bytes > 500_000, schedule: Schedule.spaced("2 millis") })
  })

/** Every row of the database except import runs; and of those the file, phase and error, oldest first. */
export const databaseContent = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql`
    SELECT quote_ident(tablename) AS name FROM pg_tables
    WHERE schemaname = 'public' AND tablename <> 'import_run' ORDER BY 1`
  const rows = yield* Effect.forEach(tables, ({ name }) =>
    Effect.map(
      sql.unsafe<{ rows: string }>(`SELECT coalesce(json_agg(t ORDER BY t::text), '[]')::text AS rows FROM ${name} t`),
      ([row]) => [name, row?.rows] as const
    )
  )
  const imports = yield* sql`SELECT file_name, phase, error FROM import_run ORDER BY created_at, id`
  return { rows, imports }
})

export const inFolder = (folder: string) => {
  let count = 0
  return () => join(folder, `bad-${count++}.csv`)
}
