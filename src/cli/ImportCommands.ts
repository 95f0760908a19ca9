import { dirname, resolve } from "node:path"
import { Args, Command, Options } from "@effect/cli"
import { Config, Console, Effect, Option, Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { ImportEvent } from "../admin/AdminRpcs.ts"
import type { ImportRun } from "../domain/Import.ts"
import { account, answer, json, Refused } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const importId = Args.text({ name: "IMPORT_ID" }).pipe(
  Args.withDescription("Id of the import, as `import list` shows it.")
)

const barWidth = 30

/** A bar on stderr that redraws itself; nothing where nobody looks. */
const draw = ({ done, step, total }: Extract<ImportEvent, { readonly _tag: "Progress" }>) =>
  Effect.sync(() => {
    if (!process.stderr.isTTY) return
    const part = total === 0 ? 0 : Math.min(1, done / total)
    const bar = "█".repeat(Math.round(part * barWidth)).padEnd(barWidth, "░")
    process.stderr.write(`\r${step.padEnd(9)} ${bar} ${String(Math.floor(part * 100)).padStart(3)} %`)
  })

const clear = Effect.sync(() => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
})

const interruptedWhile = {
  reading: "Interrupted while the file was read: nothing is written. Import it again.",
  applying:
    "Interrupted while the import was applied: a running server finishes it, or `catalog import accept IMPORT_ID` does. See `catalog import list`."
}

/** Draws the progress; the import as it is at the end. Interrupted, it says what comes next. */
const followed = <E, R>(events: Stream.Stream<ImportEvent, E, R>, accepted: boolean) =>
  Effect.gen(function* () {
    let step: keyof typeof interruptedWhile = accepted ? "applying" : "reading"
    const last = yield* Stream.runFoldEffect(events, Option.none<ImportRun>(), (last, event) => {
      if (event._tag === "Done") return Effect.succeedSome(event.run)
      if (event.step === "applying") step = "applying"
      return Effect.as(draw(event), last)
    }).pipe(
      Effect.ensuring(clear),
      Effect.onInterrupt(() => Console.error(interruptedWhile[step]))
    )
    return yield* Effect.mapError(
      last,
      () => new Refused({ message: "The import ended without an answer: see `catalog import list`." })
    )
  })

const unknown = (id: string) => () =>
  Effect.fail(new Refused({ message: `The account has no import ${id}: see \`catalog import list\`.` }))

const objectOf = (run: ImportRun) => ({
  import_id: run.id,
  phase: run.phase,
  created: run.summary.created,
  updated: run.summary.updated,
  unchanged: run.summary.unchanged,
  conflicts: run.summary.conflicts,
  applied: run.applied
})

/** Columns that are not kept, of which a line names at most so many. */
const mostColumns = 10

const linesOf = (run: ImportRun) => {
  const { conflicts, created, ignored_columns, images, unchanged, updated, variants } = run.summary
  const filled = ignored_columns.filter(({ filled_cells }) => filled_cells > 0)
  const isDone = run.phase === "applied"
  const plan = isDone ? "products" : "planned products"
  return [
    `Import ${run.id} of ${run.fileName} into ${run.storeDomain}: ${run.phase}`,
    ...(created + updated + unchanged > 0
      ? [
          `  ${plan}: ${created} created, ${updated} updated, ${unchanged} unchanged; ${variants} variants, ${images} images`
        ]
      : []),
    ...(isDone || run.phase === "reviewing" ? [] : [`  applied: ${run.applied} of ${created + updated} products`]),
    ...(conflicts > 0 ? [`  ${conflicts} fields were edited here and in the store: the store's values are taken`] : []),
    ...(filled.length > 0
      ? [
          `  columns that are not kept: ${filled
            .slice(0, mostColumns)
            .map(({ filled_cells, name }) => `${name} (${filled_cells})`)
            .join(", ")}${filled.length > mostColumns ? ` and ${filled.length - mostColumns} more` : ""}`
        ]
      : []),
    ...(run.error === null ? [] : [`  ${run.error}`]),
    ...(run.phase === "reviewing"
      ? [`Nothing is written yet. Next: catalog import accept ${run.id}, or catalog import discard ${run.id}`]
      : [])
  ]
}

/** npm runs a script in the folder of the package, and says where it was called. */
const calledFrom = Effect.gen(function* () {
  const name = (variable: string) => Effect.orDie(Config.string(variable).pipe(Config.withDefault("")))
  const manifest = yield* name("npm_package_json")
  const isMoved = manifest !== "" && dirname(manifest) === process.cwd()
  return isMoved ? (yield* name("INIT_CWD")) || process.cwd() : process.cwd()
})

const csv = Command.make(
  "csv",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("A Shopify product export.")),
    store: Options.text("store").pipe(Options.withDescription("Domain of the linked store it comes from.")),
    accept: Options.boolean("accept").pipe(Options.withDescription("Apply it at once, without a review.")),
    account,
    json
  },
  ({ accept, account, file, json, store }) =>
    Effect.gen(function* () {
      const client = yield* AdminClient
      const run = yield* followed(
        client.importCsv({ account, path: resolve(yield* calledFrom, file), store, accept }),
        false
      )
      yield* answer(json, objectOf(run), linesOf(run))
    }).pipe(withAdmin)
).pipe(Command.withDescription("Import a store's product export; without --accept it waits for a review."))

const accept = Command.make("accept", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* followed((yield* AdminClient).acceptImport({ account, id }), true)
    yield* answer(json, objectOf(run), linesOf(run))
  }).pipe(Effect.catchTag("NotFound", unknown(id)), withAdmin)
).pipe(Command.withDescription("Apply an import that is under review."))

const discard = Command.make("discard", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* (yield* AdminClient).discardImport({ account, id })
    yield* answer(json, objectOf(run), linesOf(run))
  }).pipe(Effect.catchTag("NotFound", unknown(id)), withAdmin)
).pipe(Command.withDescription("Forget an import that is under review."))

const show = Command.make("show", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* (yield* AdminClient).showImport({ account, id })
    yield* answer(json, objectOf(run), linesOf(run))
  }).pipe(Effect.catchTag("NotFound", unknown(id)), withAdmin)
).pipe(Command.withDescription("Show an import."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const runs = yield* (yield* AdminClient).listImports({ account })
    yield* answer(
      json,
      { imports: runs.map(objectOf) },
      runs.length === 0
        ? ["No imports yet: `catalog import csv FILE --store DOMAIN`."]
        : runs.map((run) => `${run.id}  ${run.createdAt}  ${run.phase.padEnd(9)}  ${run.storeDomain}  ${run.fileName}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List imports, newest first."))

export const importCommand = Command.make("import").pipe(
  Command.withDescription("Imports of stores' catalogs."),
  Command.withSubcommands([csv, list, show, accept, discard])
)
