import { dirname, resolve } from "node:path"
import { Args, Command, HelpDoc, Options } from "@effect/cli"
import { Config, Effect, type Option, Schema, type Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { ImportEvent } from "../admin/AdminRpcs.ts"
import { ConflictDecision, type ImportConflict, type ImportRun } from "../imports/Import.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, textOption } from "./Flags.ts"
import {
  conflictLines,
  importLines,
  maxRemovals,
  nextStepText,
  refuseFile,
  refuseIncomplete,
  refuseUnknown,
  removalLines,
  toImportJson
} from "./ImportOutput.ts"
import { account, answer, hint, json, quoted, Refused, seconds, unread } from "./Output.ts"
import { followEvents, makeProgressText } from "./ProgressLine.ts"

const importId = argument("IMPORT_ID", "Id of the import, from `import list`.")

/** Makes the text of an import's progress. A file that is compared is counted in rows, a store in records. */
export const makeImportText = () => {
  const text = makeProgressText()
  let hasFetched = false
  return ({ done, step, total }: Extract<ImportEvent, { readonly _tag: "Progress" }>, now: number) => {
    if (step === "fetching") hasFetched = true
    const items = {
      checking: null,
      fetching: "records",
      comparing: hasFetched ? "records" : "rows",
      applying: "changes"
    }
    return text({ step, done, total, items: items[step] }, now)
  }
}

const interruptionTexts = {
  reading: () => "Interrupted while the file was being read. Nothing was written: import it again.",
  fetching: () => "Interrupted while the store was being read. Nothing was written: refresh it again.",
  applying: (id: string, account: Option.Option<string>) =>
    `Interrupted while the import was being applied: a running server finishes it, or \`${hint(`import accept ${id}`, account)}\` does. See \`${hint("import list", account)}\`.`
}

/** Draws the progress and returns the import at its end. If interrupted, it explains how to continue. */
const followImport = <E, R>(
  events: Stream.Stream<ImportEvent, E, R>,
  begun: keyof typeof interruptionTexts,
  account: Option.Option<string>,
  id = ""
) => {
  let step = begun
  let importId = id
  const text = makeImportText()
  const run = followEvents(events, {
    progress: (event, now) => {
      if (event.step === "applying") step = "applying"
      importId = event.import_id ?? importId
      return text(event, now)
    },
    interrupted: () => interruptionTexts[step](importId, account),
    unknown: `It is unknown how the import goes on: see \`${hint("import list", account)}\`.`
  })
  return Effect.map(run, (done) => done.run)
}

const acceptFlags = {
  takeStore: Options.boolean("take-store").pipe(
    Options.withDescription("When accepting: take the store's value in every undecided conflict.")
  ),
  keepDrafts: Options.boolean("keep-drafts").pipe(
    Options.withDescription("When accepting: keep the draft in every undecided conflict.")
  ),
  remove: Options.boolean("remove").pipe(
    Options.withDescription(
      "When accepting: confirm that entities that are no longer in the store lose their versions on it."
    )
  )
}

/** Parses the decisions about an import's conflicts and removals. Refused: `--keep-drafts` together with `--take-store`. */
const parseChoices = ({
  keepDrafts,
  remove,
  takeStore
}: {
  readonly takeStore: boolean
  readonly keepDrafts: boolean
  readonly remove: boolean
}): Effect.Effect<{ readonly rest: ConflictDecision | null; readonly remove: boolean }, Refused> =>
  takeStore && keepDrafts
    ? Effect.fail(new Refused({ message: "Use either --take-store or --keep-drafts: they exclude each other." }))
    : Effect.succeed({ rest: takeStore ? "take_store" : keepDrafts ? "keep_draft" : null, remove })

/** All conflicts of an import, read in pages. */
const readConflicts = (run: ImportRun, account: Option.Option<string>) =>
  Effect.gen(function* () {
    const client = yield* AdminClient
    const all: Array<ImportConflict> = []
    while (all.length < run.summary.conflicts) {
      const after = all.at(-1)?.conflict ?? 0
      const some = yield* client.listConflicts({ account: account, id: run.id, after, limit: 500 })
      if (some.length === 0) break
      all.push(...some)
    }
    return all
  })

/** The directory of the caller. npm runs scripts in the package's directory, and passes the caller's in a variable. */
export const calledFrom = Effect.gen(function* () {
  const name = (variable: string) => Effect.orDie(Config.string(variable).pipe(Config.withDefault("")))
  const manifest = yield* name("npm_package_json")
  const isMoved = manifest !== "" && dirname(manifest) === process.cwd()
  return isMoved ? (yield* name("INIT_CWD")) || process.cwd() : process.cwd()
})

const csv = Command.make(
  "csv",
  {
    file: argument("FILE", "A Shopify product export."),
    store: textOption("store", "DOMAIN", "Domain or id of the linked store of the file."),
    accept: Options.boolean("accept").pipe(
      Options.withDescription("Apply it at once if no conflict is undecided; otherwise it waits for a review.")
    ),
    ...acceptFlags,
    account,
    json
  },
  ({ accept, account, file, json, store, ...flags }) =>
    Effect.gen(function* () {
      const choices = yield* parseChoices(flags)
      const client = yield* AdminClient
      const path = resolve(yield* calledFrom, file)
      const run = yield* followImport(
        client.importCsv({ account, path, store, accept, ...choices }),
        "reading",
        account
      )
      yield* answer(json, toImportJson(run), importLines(run, account))
    }).pipe(
      Effect.catchTags({
        ImportFileRejected: (rejected) => Effect.fail(refuseFile(rejected)),
        ReviewIncomplete: refuseIncomplete
      }),
      withAdmin
    )
).pipe(Command.withDescription("Import a store's product export. Without --accept it waits for a review."))

const refresh = Command.make(
  "refresh",
  {
    store: textOption("store", "DOMAIN", "Domain or id of the linked store."),
    accept: Options.boolean("accept").pipe(
      Options.withDescription("Apply it at once if nothing is left to decide; otherwise it waits for a review.")
    ),
    ...acceptFlags,
    account,
    json
  },
  ({ accept, account, json, store, ...flags }) =>
    Effect.gen(function* () {
      const choices = yield* parseChoices(flags)
      const client = yield* AdminClient
      const run = yield* followImport(client.refreshStore({ account, store, accept, ...choices }), "fetching", account)
      yield* answer(json, toImportJson(run), importLines(run, account))
    }).pipe(
      Effect.catchTags({
        PlatformRefused: unread,
        PlatformUnavailable: unread,
        ReviewIncomplete: refuseIncomplete
      }),
      withAdmin
    )
).pipe(Command.withDescription("Import a whole store through its platform. Without --accept it waits for a review."))

const conflictNumber = /^[1-9]\d{0,8}$/
const isDecision = Schema.is(ConflictDecision)

const decide = Command.make(
  "decide",
  {
    id: importId,
    rest: Args.text({ name: "[CONFLICT...] keep_draft|take_store" }).pipe(
      Args.withDescription("Numbers of conflicts from `import show`, then the decision."),
      Args.atLeast(1),
      Args.mapEffect((words) => {
        const numbers = words.slice(0, -1)
        const decision = words.at(-1)
        const wrong = numbers.find((word) => !conflictNumber.test(word))
        if (!isDecision(decision))
          return Effect.fail(
            HelpDoc.p(`Expected keep_draft or take_store at the end; received ${quoted(decision ?? "")}`)
          )
        if (wrong !== undefined)
          return Effect.fail(HelpDoc.p(`Expected the number of a conflict; received ${quoted(wrong)}`))
        return Effect.succeed({ numbers: numbers.map(Number), decision })
      })
    ),
    all: Options.boolean("all").pipe(
      Options.withDescription("Decide every conflict, including those already decided. Omit the numbers.")
    ),
    account,
    json
  },
  ({ account, all, id, json, rest: { decision, numbers } }) =>
    Effect.gen(function* () {
      if (all === numbers.length > 0) return yield* new Refused({ message: "Give the numbers of conflicts, or --all." })
      const client = yield* AdminClient
      const { decided } = yield* client.decideImport({ account, id, conflicts: all ? "all" : numbers, decision })
      const run = yield* client.showImport({ account, id })
      const left = (yield* readConflicts(run, account)).filter((conflict) => conflict.decision === null).length
      yield* answer(json, { import_id: id, decision, decided, undecided: left }, [
        `${decided} ${decided === 1 ? "conflict" : "conflicts"} decided: ${decision}; ${left} undecided.`,
        nextStepText(id, account)
      ])
    }).pipe(Effect.catchTag("NotFound", refuseUnknown(id)), withAdmin)
).pipe(
  Command.withDescription("Decide conflicts of an import under review: keep the draft, or take the store's value.")
)

const accept = Command.make(
  "accept",
  { id: importId, ...acceptFlags, account, json },
  ({ account, id, json, ...flags }) =>
    Effect.gen(function* () {
      const choices = yield* parseChoices(flags)
      const run = yield* followImport(
        (yield* AdminClient).acceptImport({ account, id, ...choices }),
        "applying",
        account,
        id
      )
      yield* answer(json, toImportJson(run), importLines(run, account))
    }).pipe(Effect.catchTags({ NotFound: refuseUnknown(id), ReviewIncomplete: refuseIncomplete }), withAdmin)
).pipe(Command.withDescription("Apply an import under review. Every conflict must be decided."))

const discard = Command.make("discard", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* (yield* AdminClient).discardImport({ account, id })
    yield* answer(json, toImportJson(run), importLines(run, account))
  }).pipe(Effect.catchTag("NotFound", refuseUnknown(id)), withAdmin)
).pipe(Command.withDescription("Discard an import under review."))

const show = Command.make("show", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* (yield* AdminClient).showImport({ account, id })
    const conflicts = yield* readConflicts(run, account)
    const removals = yield* (yield* AdminClient).listRemovals({ account, id, after: 0, limit: maxRemovals })
    const [first = "", ...lines] = importLines(run, account)
    yield* answer(json, { ...toImportJson(run), conflict_list: conflicts, removal_list: removals }, [
      first,
      ...conflictLines(conflicts),
      ...removalLines(run, removals),
      ...lines
    ])
  }).pipe(Effect.catchTag("NotFound", refuseUnknown(id)), withAdmin)
).pipe(Command.withDescription("Show an import and its conflicts."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const runs = yield* (yield* AdminClient).listImports({ account })
    yield* answer(
      json,
      { imports: runs.map(toImportJson) },
      runs.length === 0
        ? [
            `No imports yet: begin one with \`${hint("import csv FILE --store DOMAIN", account)}\` or \`${hint("import refresh --store DOMAIN", account)}\`.`
          ]
        : runs.map(
            (run) =>
              `${run.id}  ${seconds(run.createdAt)}  ${run.phase.padEnd(9)}  ${run.storeDomain}  ${run.fileName ?? "(refresh)"}`
          )
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the newest 100 imports, newest first."))

export const importCommand = Command.make("import").pipe(
  Command.withDescription("Imports of stores' catalogs."),
  Command.withSubcommands([csv, refresh, list, show, decide, accept, discard])
)
