import { resolve } from "node:path"
import { Command, Options } from "@effect/cli"
import { Console, Effect, Option, Schema } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { EntityKind } from "../model/Attribute.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { EntityId } from "../model/Ids.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { receiveExport } from "./ExportFile.ts"
import { textOption } from "./Flags.ts"
import { calledFrom } from "./ImportCommands.ts"
import { followJob } from "./JobCommands.ts"
import { type GivenFilters, isFiltered, listFilters } from "./ListFilters.ts"
import { account, answer, byFlag, formatCount, hint, json, Refused } from "./Output.ts"

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

const readIds = Schema.decodeUnknownOption(Schema.Array(EntityId))

const ids = Options.repeated(textOption("id", "ID", "Only the entity with this id. Can be repeated."))

/** The selection of a command. Null: there are neither ids nor filters nor a kind. Refused: a malformed id, or ids and filters. */
const selectionOf = (
  kindOption: Option.Option<EntityKind>,
  { id, ...filters }: GivenFilters & { readonly id: ReadonlyArray<string> }
) =>
  Effect.gen(function* () {
    const kind = Option.getOrElse(kindOption, () => "product" as const)
    if (id.length > 0 && isFiltered(filters)) return yield* new Refused({ message: "Give ids or filters, not both." })
    if (id.length === 0)
      return isFiltered(filters) || Option.isSome(kindOption) ? { kind, ids: null, ...filters } : null
    const validIds = readIds(id.map((each) => each.toLowerCase()))
    if (Option.isSome(validIds)) return { kind, ids: validIds.value, ...filters }
    return yield* new Refused({ message: `There is no ${kind} with one of these ids.`, code: errorCode.NotFound })
  })

const jsonl = Command.make(
  "jsonl",
  {
    kind: Options.choice("kind", EntityKind.literals).pipe(
      Options.withDescription("Only entities of this kind. With ids or filters the default is product."),
      Options.optional
    ),
    id: ids,
    ...listFilters,
    out,
    account,
    json
  },
  ({ account, json, kind, out, ...given }) =>
    Effect.gen(function* () {
      const path = yield* fileOf(out, json)
      const selection = yield* selectionOf(kind, given)
      const parts = (yield* AdminClient).exportJsonl({ account, selection })
      const { bytes, done } = yield* receiveExport(parts, path, "entities")
      if (Option.isSome(path))
        yield* answer(json, { file: path.value, entities: done, bytes }, [
          `Wrote ${formatCount(done)} ${done === 1 ? "entity" : "entities"} to ${path.value}.`
        ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(
  Command.withDescription(
    "Export the catalog as lines of JSON: entities with values, versions and relationships. With ids or filters: only these entities, products with their variants."
  )
)

const csv = Command.make(
  "csv",
  {
    store: textOption("store", "DOMAIN", "Domain or id of the linked store."),
    id: ids,
    ...listFilters,
    out,
    publish: Options.boolean("publish").pipe(
      Options.withDescription(
        "For a store without a platform: when the file is complete, its values count as published. Drafts that were changed meanwhile stay unpublished."
      )
    ),
    account,
    json
  },
  ({ account, json, out, publish, store, ...given }) =>
    Effect.gen(function* () {
      const path = yield* fileOf(out, json)
      const selection = yield* selectionOf(Option.none(), given)
      const client = yield* AdminClient
      const parts = client.exportCsv({ account, selection, store, forPublish: publish })
      const written = yield* receiveExport(parts, path, "products")
      const { bytes, done, end } = written
      const notes = end?.notes ?? []
      const exportId = end?.exportId ?? null
      const wrote = [
        `Wrote ${formatCount(done)} ${done === 1 ? "product" : "products"} to ${Option.getOrElse(path, () => "stdout")}.`,
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
        `${formatCount(published)} ${published === 1 ? "entity counts" : "entities count"} as published now${
          changed === 0
            ? ""
            : `; ${formatCount(changed)} changed during the export and ${changed === 1 ? "stays" : "stay"} unpublished`
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
