import { dirname, resolve } from "node:path"
import { Args, Command, HelpDoc, Options } from "@effect/cli"
import { Config, Console, Effect, Option, Schema, Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { ImportEvent } from "../admin/AdminRpcs.ts"
import {
  ConflictDecision,
  columnsNotKept,
  type ImportConflict,
  type ImportRun,
  isRemovalToConfirm,
  plannedOf,
  type ReviewIncomplete
} from "../imports/Import.ts"
import { type ImportFileRejected, type ImportProblem, problemText } from "../imports/ImportedProduct.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { PendingEntity } from "../publishing/PublicationRecord.ts"
import { mostEntries } from "../storedata/MirrorRecords.ts"
import { account, answer, hint, json, quoted, Refused, seconds, unread } from "./Output.ts"
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
    const much = step === "fetching" ? `${done} records` : `${bar} ${String(Math.floor(part * 100)).padStart(3)} %`
    process.stderr.write(`\r${step.padEnd(9)} ${much}`)
  })

const clear = Effect.sync(() => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
})

const interruptedWhile = {
  reading: () => "Interrupted while the file was read: nothing is written. Import it again.",
  fetching: () => "Interrupted while the store was read: nothing is written. Refresh it again.",
  applying: (id: string, account: Option.Option<string>) =>
    `Interrupted while the import was applied: a running server finishes it, or \`${hint(`import accept ${id}`, account)}\` does. See \`${hint("import list", account)}\`.`
}

/** Draws the progress; the import as it is at the end. Interrupted, it says what comes next. `id`: where it is known. */
const followed = <E, R>(
  events: Stream.Stream<ImportEvent, E, R>,
  begun: keyof typeof interruptedWhile,
  account: Option.Option<string>,
  id = ""
) =>
  Effect.gen(function* () {
    let step = begun
    let importId = id
    const last = yield* Stream.runFoldEffect(events, Option.none<ImportRun>(), (last, event) => {
      if (event._tag === "Done") return Effect.succeedSome(event.run)
      if (event.step === "applying") step = "applying"
      importId = event.import_id ?? importId
      return Effect.as(draw(event), last)
    }).pipe(
      Effect.ensuring(clear),
      Effect.onInterrupt(() => Console.error(interruptedWhile[step](importId, account)))
    )
    return yield* Effect.mapError(
      last,
      () => new Refused({ message: "The import ended without an answer: see `catalog import list`." })
    )
  })

const acceptFlags = {
  takeStore: Options.boolean("take-store").pipe(
    Options.withDescription("Accept: every undecided conflict takes the store's value.")
  ),
  keepDrafts: Options.boolean("keep-drafts").pipe(
    Options.withDescription("Accept: every undecided conflict keeps the draft.")
  ),
  remove: Options.boolean("remove").pipe(
    Options.withDescription("Accept: entities that are no longer in the store are taken off it, however many they are.")
  )
}

/** What an acceptance says about conflicts and removals, as it is sent. Refused: both decisions at once. */
const choicesOf = ({
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

const numbersOf = ({ conflicts, undecided }: ReviewIncomplete) =>
  `${conflicts.join(", ")}${undecided > conflicts.length ? ` and ${undecided - conflicts.length} more` : ""}`

const conflictCount = (count: number) => (count === 1 ? "1 conflict is" : `${count} conflicts are`)

/** Why an import cannot be accepted yet, and the ways to go on. */
const incomplete = (account: Option.Option<string>) => (review: ReviewIncomplete) => {
  const { id, removals, storeDomain, undecided } = review
  const rest = undecided > 0 ? " --take-store" : ""
  const open = [
    ...(undecided > 0
      ? [
          `${conflictCount(undecided)} undecided (${numbersOf(review)}): decide with \`${hint(`import decide ${id} ${review.conflicts[0] ?? 1} keep_draft`, account)}\`, or accept with --take-store or --keep-drafts for all of them`
        ]
      : []),
    ...(removals > 0
      ? [
          `${removals} products, variants, collections and files are no longer in ${storeDomain}: see \`${hint(`import show ${id}`, account)}\`, and accept with --remove to take them off the store`
        ]
      : [])
  ]
  return new Refused({
    message: `Nothing is written, and import ${id} is still under review: ${open.join("; ")}. For example: ${hint(`import accept ${id}${rest}${removals > 0 ? " --remove" : ""}`, account)}`
  })
}

const unknown = (account: Option.Option<string>, id: string) => () =>
  Effect.fail(
    new Refused({
      code: errorCode.NotFound,
      message: `The account has no import ${id}: see \`${hint("import list", account)}\`.`
    })
  )

const objectOf = (run: ImportRun) => ({
  import_id: run.id,
  source: run.source,
  store: run.storeDomain,
  phase: run.phase,
  created: run.summary.created,
  updated: run.summary.updated,
  unchanged: run.summary.unchanged,
  conflicts: run.summary.conflicts,
  ...(run.summary.problem_count === 0
    ? {}
    : { problems: run.summary.problems, problem_count: run.summary.problem_count }),
  ...(run.source === "csv"
    ? { answer: run.summary.answer, unpublished: run.summary.unpublished, ignored_columns: run.summary.ignored_columns }
    : {
        collections: run.summary.collections,
        files: run.summary.files,
        unlinked: run.summary.unlinked,
        beside: run.summary.beside
      }),
  applied: run.applied,
  error: run.error
})

/** Columns that are not kept, of which a line names at most so many. */
const mostColumns = 10

const sourceOf = ({ fileName, storeDomain }: ImportRun) =>
  fileName === null ? `, a refresh of ${storeDomain}` : ` of ${fileName} into ${storeDomain}`

const countsOf = ({ created, unchanged, updated }: ImportRun["summary"]["files"]) =>
  `${created} created, ${updated} updated, ${unchanged} unchanged`

const isAny = ({ created, unchanged, updated }: ImportRun["summary"]["files"]) => created + updated + unchanged > 0

/** What the platform of the store said after an export was applied. */
const answerLines = ({ storeDomain, summary: { answer } }: ImportRun): ReadonlyArray<string> => {
  if (answer === null) return []
  return "error" in answer
    ? [
        `  ${storeDomain} could not be asked what it holds, so what the file changed waits to be published until a refresh: ${answer.error}`
      ]
    : [
        `  ${storeDomain} was asked: it holds ${answer.entities} of the entities that changed; the others wait to be published`
      ]
}

const whatIsCounted = (run: ImportRun): ReadonlyArray<string> => {
  const { beside, collections, files, images, unlinked, variants } = run.summary
  const planned = run.phase === "applied" ? "" : "planned "
  const products = isAny(run.summary) ? `${planned}products: ${countsOf(run.summary)}; ${variants} variants` : null
  if (run.source === "csv")
    return [...(products === null ? [] : [`  ${products}, ${images} images`]), ...answerLines(run)]
  return [
    ...(products === null ? [] : [`  ${products}`]),
    ...(isAny(collections) ? [`  ${planned}collections: ${countsOf(collections)}`] : []),
    ...(isAny(files) ? [`  ${planned}files: ${countsOf(files)}`] : []),
    ...(beside === null
      ? []
      : [
          `  beside the catalog: ${beside.markets} markets, ${beside.metafield_definitions + beside.metaobject_definitions} definitions, ${beside.metaobject_entries} entries, ${beside.translations} translations`
        ]),
    ...((beside?.cut_metaobjects.length ?? 0) > 0
      ? [`  more entries than are kept (${mostEntries} of a type): ${beside?.cut_metaobjects.join(", ")}`]
      : []),
    ...(unlinked > 0
      ? [
          `  ${unlinked} products, variants, collections and files are not in the store any more: they ${run.phase === "applied" ? "were" : "will be"} taken from it and stay here`,
          ...(run.phase === "reviewing" && isRemovalToConfirm(run.summary) ? ["  accepting them needs --remove"] : [])
        ]
      : [])
  ]
}

const whatConflicts = (
  { id, phase, summary: { conflicts } }: ImportRun,
  account: Option.Option<string>
): ReadonlyArray<string> =>
  conflicts === 0
    ? []
    : phase === "reviewing"
      ? [
          `  ${conflicts} fields were edited here and in the store: see \`${hint(`import show ${id}`, account)}\`;`,
          "  decide each with `catalog import decide`, or all that are undecided with --take-store or --keep-drafts"
        ]
      : [
          `  ${conflicts} fields were edited here and in the store: see \`${hint(`import show ${id}`, account)}\` for the decisions`
        ]

/** What comes after a look at an import that waits. */
const thenDecide = (id: string, account: Option.Option<string>) =>
  `Next: ${hint(`import accept ${id}`, account)}, or ${hint(`import discard ${id}`, account)}`

const linesOf = (run: ImportRun, account: Option.Option<string>) => {
  const { more, named } = columnsNotKept(run.summary, mostColumns)
  const { unpublished } = run.summary
  const unit = run.source === "csv" ? "products" : "changes"
  return [
    `Import ${run.id}${sourceOf(run)}: ${run.phase}`,
    ...whatIsCounted(run),
    ...(run.phase === "applied" || run.phase === "reviewing"
      ? []
      : [`  applied: ${run.applied} of ${plannedOf(run.summary)} ${unit}`]),
    ...whatConflicts(run, account),
    ...(unpublished > 0
      ? [
          unpublished === 1
            ? "  1 active product is not published to the online store: it is imported as a draft"
            : `  ${unpublished} active products are not published to the online store: they are imported as drafts`
        ]
      : []),
    ...(named.length > 0
      ? [
          `  columns that are not kept: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}; a publish leaves them as they are in the shop`
        ]
      : []),
    ...(run.error === null ? [] : [`  ${run.error}`]),
    ...problemLines(run.summary.problems, run.summary.problem_count),
    ...(run.phase === "reviewing" ? [`Nothing is written yet. ${thenDecide(run.id, account)}`] : [])
  ]
}

/** Conflicts that a terminal is shown; JSON has all. */
const mostConflicts = 50
/** Characters of a value beside another one. */
const columnWidth = 36

/** The draft and the store side by side. */
const conflictLines = (conflicts: ReadonlyArray<ImportConflict>): ReadonlyArray<string> => {
  const shown = conflicts.slice(0, mostConflicts)
  const cell = (value: string) => quoted(value, columnWidth - 4).padEnd(columnWidth)
  const numberWidth = String(shown.at(-1)?.conflict ?? 0).length
  const fieldWidth = Math.max(5, ...shown.map(({ field }) => field.length))
  const indent = " ".repeat(numberWidth + 2)
  return [
    ...(shown.length === 0 ? [] : [`${indent}  ${"".padEnd(fieldWidth)}  ${"draft".padEnd(columnWidth)}  store`]),
    ...shown.flatMap((one) => [
      `  ${String(one.conflict).padStart(numberWidth)}  ${one.entity_type} ${one.entity_id}  ${quoted(one.title, columnWidth)} on ${one.store_domain}`,
      `${indent}  ${one.field.padEnd(fieldWidth)}  ${cell(one.draft_value)}  ${cell(one.store_value)}  ${one.decision ?? "undecided"}`
    ]),
    ...(conflicts.length > shown.length ? [`  and ${conflicts.length - shown.length} more: --json shows all`] : [])
  ]
}

/** Entities leaving the store that are shown; JSON has as many. */
const maxRemovals = 100

const removalLines = (run: ImportRun, removals: ReadonlyArray<PendingEntity>): ReadonlyArray<string> =>
  removals.length === 0
    ? []
    : [
        `  no longer in ${run.storeDomain}:`,
        ...removals.map(({ id, kind, title }) => `    ${kind} ${id}  ${quoted(title, columnWidth)}`),
        ...(run.summary.unlinked > removals.length ? [`    and ${run.summary.unlinked - removals.length} more`] : [])
      ]

/** All conflicts of an import, read a part at a time. */
const conflictsOf = (run: ImportRun, named: Option.Option<string>) =>
  Effect.gen(function* () {
    const client = yield* AdminClient
    const all: Array<ImportConflict> = []
    while (all.length < run.summary.conflicts) {
      const after = all.at(-1)?.conflict ?? 0
      const some = yield* client.listConflicts({ account: named, id: run.id, after, limit: 500 })
      if (some.length === 0) break
      all.push(...some)
    }
    return all
  })

/** npm runs a script in the folder of the package, and says where it was called. */
export const calledFrom = Effect.gen(function* () {
  const name = (variable: string) => Effect.orDie(Config.string(variable).pipe(Config.withDefault("")))
  const manifest = yield* name("npm_package_json")
  const isMoved = manifest !== "" && dirname(manifest) === process.cwd()
  return isMoved ? (yield* name("INIT_CWD")) || process.cwd() : process.cwd()
})

/** A problem a line, those of a file that has several. */
const problemLines = (problems: ReadonlyArray<ImportProblem>, count: number): ReadonlyArray<string> =>
  count < 2
    ? []
    : [
        ...problems.map((problem) => `  ${problemText(problem)}`),
        ...(count > problems.length ? [`  and ${count - problems.length} more`] : [])
      ]

const refusedFile = ({ count, message, problems }: ImportFileRejected) =>
  new Refused({
    message,
    ...(count === 1 ? {} : { lines: [`The file has ${count} problems:`, ...problemLines(problems, count)] }),
    members: { problems, problem_count: count }
  })

const csv = Command.make(
  "csv",
  {
    file: Args.text({ name: "FILE" }).pipe(Args.withDescription("A Shopify product export.")),
    store: Options.text("store").pipe(
      Options.withPseudoName("DOMAIN"),
      Options.withDescription("Domain or id of the linked store it comes from.")
    ),
    accept: Options.boolean("accept").pipe(
      Options.withDescription("Apply it at once, unless a conflict is undecided; then it waits for a review.")
    ),
    ...acceptFlags,
    account,
    json
  },
  ({ accept, account, file, json, store, ...flags }) =>
    Effect.gen(function* () {
      const choices = yield* choicesOf(flags)
      const client = yield* AdminClient
      const path = resolve(yield* calledFrom, file)
      const run = yield* followed(client.importCsv({ account, path, store, accept, ...choices }), "reading", account)
      yield* answer(json, objectOf(run), linesOf(run, account))
    }).pipe(
      Effect.catchTags({
        ImportFileRejected: (rejected) => Effect.fail(refusedFile(rejected)),
        ReviewIncomplete: incomplete(account)
      }),
      withAdmin
    )
).pipe(Command.withDescription("Import a store's product export; without --accept it waits for a review."))

const refresh = Command.make(
  "refresh",
  {
    store: Options.text("store").pipe(
      Options.withPseudoName("DOMAIN"),
      Options.withDescription("Domain or id of the linked store.")
    ),
    accept: Options.boolean("accept").pipe(
      Options.withDescription("Apply it at once, unless something is left to decide; then it waits for a review.")
    ),
    ...acceptFlags,
    account,
    json
  },
  ({ accept, account, json, store, ...flags }) =>
    Effect.gen(function* () {
      const choices = yield* choicesOf(flags)
      const client = yield* AdminClient
      const run = yield* followed(client.refreshStore({ account, store, accept, ...choices }), "fetching", account)
      yield* answer(json, objectOf(run), linesOf(run, account))
    }).pipe(
      Effect.catchTags({
        PlatformRefused: unread,
        PlatformUnavailable: unread,
        ReviewIncomplete: incomplete(account)
      }),
      withAdmin
    )
).pipe(
  Command.withDescription("Import all that a store has, through its platform; without --accept it waits for a review.")
)

const conflictNumber = /^[1-9]\d{0,8}$/
const isDecision = Schema.is(ConflictDecision)

const decide = Command.make(
  "decide",
  {
    id: importId,
    rest: Args.text({ name: "[CONFLICT...] keep_draft|take_store" }).pipe(
      Args.withDescription("Numbers of conflicts, as `import show` lists them, then what becomes of them."),
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
      Options.withDescription("Every conflict, those that were decided before too; numbers are left out then.")
    ),
    account,
    json
  },
  ({ account, all, id, json, rest: { decision, numbers } }) =>
    Effect.gen(function* () {
      if (all === numbers.length > 0)
        return yield* new Refused({ message: "Name the conflicts by their numbers, or --all of them." })
      const client = yield* AdminClient
      const { decided } = yield* client.decideImport({ account, id, conflicts: all ? "all" : numbers, decision })
      const run = yield* client.showImport({ account, id })
      const left = (yield* conflictsOf(run, account)).filter((conflict) => conflict.decision === null).length
      yield* answer(json, { import_id: id, decision, decided, undecided: left }, [
        `${decided} ${decided === 1 ? "conflict" : "conflicts"} decided: ${decision}; ${left} undecided.`,
        thenDecide(id, account)
      ])
    }).pipe(Effect.catchTag("NotFound", unknown(account, id)), withAdmin)
).pipe(
  Command.withDescription("Decide conflicts of an import under review: keep the draft, or take the store's value.")
)

const accept = Command.make(
  "accept",
  { id: importId, ...acceptFlags, account, json },
  ({ account, id, json, ...flags }) =>
    Effect.gen(function* () {
      const choices = yield* choicesOf(flags)
      const run = yield* followed(
        (yield* AdminClient).acceptImport({ account, id, ...choices }),
        "applying",
        account,
        id
      )
      yield* answer(json, objectOf(run), linesOf(run, account))
    }).pipe(Effect.catchTags({ NotFound: unknown(account, id), ReviewIncomplete: incomplete(account) }), withAdmin)
).pipe(Command.withDescription("Apply an import that is under review, once every conflict is decided."))

const discard = Command.make("discard", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* (yield* AdminClient).discardImport({ account, id })
    yield* answer(json, objectOf(run), linesOf(run, account))
  }).pipe(Effect.catchTag("NotFound", unknown(account, id)), withAdmin)
).pipe(Command.withDescription("Forget an import that is under review."))

const show = Command.make("show", { id: importId, account, json }, ({ account, id, json }) =>
  Effect.gen(function* () {
    const run = yield* (yield* AdminClient).showImport({ account, id })
    const conflicts = yield* conflictsOf(run, account)
    const removals = yield* (yield* AdminClient).listRemovals({ account, id, after: 0, limit: maxRemovals })
    const [first = "", ...lines] = linesOf(run, account)
    yield* answer(json, { ...objectOf(run), conflict_list: conflicts, removal_list: removals }, [
      first,
      ...conflictLines(conflicts),
      ...removalLines(run, removals),
      ...lines
    ])
  }).pipe(Effect.catchTag("NotFound", unknown(account, id)), withAdmin)
).pipe(Command.withDescription("Show an import, its conflicts side by side."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const runs = yield* (yield* AdminClient).listImports({ account })
    yield* answer(
      json,
      { imports: runs.map(objectOf) },
      runs.length === 0
        ? [
            `No imports yet: \`${hint("import csv FILE --store DOMAIN", account)}\`, or \`${hint("import refresh --store DOMAIN", account)}\`.`
          ]
        : runs.map(
            (run) =>
              `${run.id}  ${seconds(run.createdAt)}  ${run.phase.padEnd(9)}  ${run.storeDomain}  ${run.fileName ?? "(refresh)"}`
          )
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List imports, newest first."))

export const importCommand = Command.make("import").pipe(
  Command.withDescription("Imports of stores' catalogs."),
  Command.withSubcommands([csv, refresh, list, show, decide, accept, discard])
)
