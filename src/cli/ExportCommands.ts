import { resolve } from "node:path"
import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { receiveExport } from "./ExportFile.ts"
import { textOption } from "./Flags.ts"
import { calledFrom } from "./ImportCommands.ts"
import { account, answer, json, Refused } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const out = Options.optional(
  textOption("out", "FILE", "The file to write. It appears when it is complete. Without it: stdout.")
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

const jsonl = Command.make("jsonl", { out, account, json }, ({ account, json, out }) =>
  Effect.gen(function* () {
    const path = yield* fileOf(out, json)
    const { bytes, done } = yield* receiveExport((yield* AdminClient).exportJsonl({ account }), path, "entities")
    if (Option.isSome(path))
      yield* answer(json, { file: path.value, entities: done, bytes }, [
        `Wrote ${done.toLocaleString("en")} entities to ${path.value}.`
      ])
  }).pipe(withAdmin)
).pipe(
  Command.withDescription(
    "Export the whole catalog as lines of JSON: entities with values, versions and relationships."
  )
)

export const exportCommand = Command.make("export").pipe(
  Command.withDescription("Exports of the catalog as files, each of one moment."),
  Command.withSubcommands([jsonl])
)
