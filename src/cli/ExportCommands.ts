import { resolve } from "node:path"
import { Command, Options } from "@effect/cli"
import { Console, Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { receiveExport } from "./ExportFile.ts"
import { textOption } from "./Flags.ts"
import { calledFrom } from "./ImportCommands.ts"
import { followJob } from "./JobCommands.ts"
import { account, answer, byFlag, hint, json, Refused } from "./Output.ts"

const out = Options.optional(
  textOption("out", "FILE", "The file to write. It is created only when the export is complete. Default: stdout.")
)

/** The absolute path of the file; none: stdout. Refused: --json without a file. */
const fileOf = (out: Option.Option<string>, json: boolean) =>
  Effect.gen(function* () {
    if (json && Option.isNone(out))
      return yield* new Refused({
        message: "--json: give --out too, because the export itself goes to stdout without it."
      })
    const folder = yield* calledFrom
    return Option.map(out, (path) => resolve(folder, path))
  })

const number = (count: number) => count.toLocaleString("en")

const jsonl = Command.make("jsonl", { out, account, json }, ({ account, json, out }) =>
  Effect.gen(function* () {
    const path = yield* fileOf(out, json)
    const { bytes, done } = yield* receiveExport((yield* AdminClient).exportJsonl({ account }), path, "entities")
    if (Option.isSome(path))
      yield* answer(json, { file: path.value, entities: done, bytes }, [
        `Wrote ${number(done)} entities to ${path.value}.`
      ])
  }).pipe(withAdmin)
).pipe(
  Command.withDescription(
    "Export the whole catalog as lines of JSON: entities with values, versions and relationships."
  )
)

const csv = Command.make(
  "csv",
  {
    store: textOption("store", "DOMAIN", "Domain or id of the linked store."),
    out,
    publish: Options.boolean("publish").pipe(
      Options.withDescription(
        "For a store without a platform: when the file is complete, its values count as published. Drafts that were changed meanwhile stay unpublished."
      )
    ),
    account,
    json
  },
  ({ account, json, out, publish, store }) =>
    Effect.gen(function* () {
      const path = yield* fileOf(out, json)
      const client = yield* AdminClient
      const written = yield* receiveExport(client.exportCsv({ account, store, forPublish: publish }), path, "products")
      const { bytes, done, end } = written
      const notes = end?.notes ?? []
      const exportId = end?.exportId ?? null
      const wrote = [
        `Wrote ${number(done)} ${done === 1 ? "product" : "products"} to ${Option.getOrElse(path, () => "stdout")}.`,
        ...notes
      ]
      const tell = (value: Readonly<Record<string, unknown>>, lines: ReadonlyArray<string>) =>
        Option.isSome(path)
          ? answer(json, { file: path.value, products: done, bytes, notes, ...value }, [...wrote, ...lines])
          : // The export itself goes to stdout.
            Console.error([...wrote, ...lines].join("\n"))
      if (exportId === null) return yield* tell({ job: null }, ["This export does not count as a publish."])
      const begun = yield* client.publishExport({ account, store, exportId })
      const job = yield* followJob(account, begun)
      const { changed = 0, published = 0 } = job.result
      yield* tell({ job }, [
        `${number(published)} ${published === 1 ? "entity counts" : "entities count"} as published now${
          changed === 0
            ? ""
            : `; ${number(changed)} changed during the export and ${changed === 1 ? "stays" : "stay"} unpublished`
        }: see \`${hint(`jobs show ${job.id}`, account)}\`.`
      ])
    }).pipe(
      Effect.catchTags({
        NotFound: () => new Refused({ message: `No store ${store} is linked: see \`catalog store list\`.` }),
        ValidationFailed: byFlag
      }),
      withAdmin
    )
).pipe(Command.withDescription("Export a store's products as the product CSV of Shopify, which `import csv` reads."))

export const exportCommand = Command.make("export").pipe(
  Command.withDescription("Exports of the catalog as files, each of one moment."),
  Command.withSubcommands([csv, jsonl])
)
