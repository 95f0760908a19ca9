import { Either, type Option, Schema } from "effect"
import {
  columnsNotKept,
  type ImportConflict,
  type ImportRun,
  isRemovalToConfirm,
  plannedOf,
  type ReviewIncomplete
} from "../imports/Import.ts"
import { type ImportFileRejected, type ImportProblem, problemText } from "../imports/ImportedProduct.ts"
import type { PendingEntity } from "../publishing/PublicationRecord.ts"
import { maxEntries } from "../storedata/MirrorRecords.ts"
import { hint, noSuch, quoted, Refused } from "./Output.ts"

const numbersText = ({ conflicts, undecided }: ReviewIncomplete) =>
  `${conflicts.join(", ")}${undecided > conflicts.length ? ` and ${undecided - conflicts.length} more` : ""}`

const conflictsText = (count: number) => (count === 1 ? "1 conflict is" : `${count} conflicts are`)

/** Explains why an import cannot be accepted yet, and how to continue. */
export const refuseIncomplete = (review: ReviewIncomplete) => {
  const { id, removals, storeDomain, undecided } = review
  const rest = undecided > 0 ? " --take-store" : ""
  const open = [
    ...(undecided > 0
      ? [
          `${conflictsText(undecided)} undecided (${numbersText(review)}): decide with \`${hint(`import decide ${id} ${review.conflicts[0] ?? 1} keep_draft`)}\`, or accept with --take-store or --keep-drafts for all of them`
        ]
      : []),
    ...(removals > 0
      ? [
          `${removals} products, variants, collections and files are no longer in ${storeDomain}: see \`${hint(`import show ${id}`)}\`, and accept with --remove to take them off the store`
        ]
      : [])
  ]
  return new Refused({
    message: `Nothing was written, and import ${id} is still under review: ${open.join("; ")}. For example: \`${hint(`import accept ${id}${rest}${removals > 0 ? " --remove" : ""}`)}\``
  })
}

export const refuseUnknown = noSuch("import", "import list")

export const toImportJson = (run: ImportRun) => ({
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

/** Maximum number of columns in a line of output. */
const maxColumns = 10

const sourceText = ({ fileName, storeDomain }: ImportRun) =>
  fileName === null ? `, a refresh of ${storeDomain}` : ` of ${fileName} into ${storeDomain}`

const countsText = ({ created, unchanged, updated }: ImportRun["summary"]["files"]) =>
  `${created} created, ${updated} updated, ${unchanged} unchanged`

const isAny = ({ created, unchanged, updated }: ImportRun["summary"]["files"]) => created + updated + unchanged > 0

/** The result of reading the store after an export was applied. */
const answerLines = ({ storeDomain, summary: { answer } }: ImportRun): ReadonlyArray<string> => {
  if (answer === null) return []
  return "error" in answer
    ? [
        `  ${storeDomain} could not be read, so the changed entities count as unpublished until the next refresh: ${answer.error}`
      ]
    : [
        `  ${storeDomain} was read: it already has ${answer.entities} of the changed entities; the others are unpublished`
      ]
}

const countLines = (run: ImportRun): ReadonlyArray<string> => {
  const { beside, collections, files, images, unlinked, variants } = run.summary
  const planned = run.phase === "applied" ? "" : "planned "
  const products = isAny(run.summary) ? `${planned}products: ${countsText(run.summary)}; ${variants} variants` : null
  if (run.source === "csv")
    return [...(products === null ? [] : [`  ${products}, ${images} images`]), ...answerLines(run)]
  return [
    ...(products === null ? [] : [`  ${products}`]),
    ...(isAny(collections) ? [`  ${planned}collections: ${countsText(collections)}`] : []),
    ...(isAny(files) ? [`  ${planned}files: ${countsText(files)}`] : []),
    ...(beside === null
      ? []
      : [
          `  other data: ${beside.markets} markets, ${beside.metafield_definitions + beside.metaobject_definitions} definitions, ${beside.metaobject_entries} entries, ${beside.translations} translations`
        ]),
    ...((beside?.cut_metaobjects.length ?? 0) > 0
      ? [`  only the first ${maxEntries} entries are stored of: ${beside?.cut_metaobjects.join(", ")}`]
      : []),
    ...(unlinked > 0
      ? [
          `  ${unlinked} products, variants, collections and files are no longer in the store: their versions on this store ${run.phase === "applied" ? "were" : "will be"} removed; the entities themselves are kept`,
          ...(run.phase === "reviewing" && isRemovalToConfirm(run.summary) ? ["  accepting this needs --remove"] : [])
        ]
      : [])
  ]
}

const conflictHintLines = (
  { id, phase, summary: { conflicts } }: ImportRun,
  account: Option.Option<string>
): ReadonlyArray<string> =>
  conflicts === 0
    ? []
    : phase === "reviewing"
      ? [
          `  ${conflicts} fields were edited here and in the store: see \`${hint(`import show ${id}`, account)}\`;`,
          "  decide them with `catalog import decide`, or accept with --take-store or --keep-drafts for all undecided ones"
        ]
      : [
          `  ${conflicts} fields were edited here and in the store: see \`${hint(`import show ${id}`, account)}\` for the decisions`
        ]

/** The next commands for an import under review. */
export const nextStepText = (id: string, account: Option.Option<string>) =>
  `Next: ${hint(`import accept ${id}`, account)}, or ${hint(`import discard ${id}`, account)}`

export const importLines = (run: ImportRun, account: Option.Option<string>) => {
  const { more, named } = columnsNotKept(run.summary, maxColumns)
  const { unpublished } = run.summary
  const unit = run.source === "csv" ? "products" : "changes"
  return [
    `Import ${run.id}${sourceText(run)}: ${run.phase}`,
    ...countLines(run),
    ...(run.phase === "applied" || run.phase === "reviewing"
      ? []
      : [`  applied: ${run.applied} of ${plannedOf(run.summary)} ${unit}`]),
    ...conflictHintLines(run, account),
    ...(unpublished > 0
      ? [
          unpublished === 1
            ? "  1 active product is not published to the online store: it is imported as a draft"
            : `  ${unpublished} active products are not published to the online store: they are imported as drafts`
        ]
      : []),
    ...(named.length > 0
      ? [
          `  ignored columns: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}; a publish does not change them in the shop`
        ]
      : []),
    ...(run.error === null ? [] : [`  ${run.error}`]),
    ...problemLines(run.summary.problems, run.summary.problem_count),
    ...(run.isPaused
      ? [
          `Applying it is paused, and the account is locked. Next: ${hint(`jobs resume ${run.id}`, account)}, or ${hint(`jobs cancel ${run.id}`, account)}`
        ]
      : []),
    ...(run.phase === "reviewing" ? [`Nothing is written yet. ${nextStepText(run.id, account)}`] : [])
  ]
}

/** Maximum number of conflicts in the text output. JSON has all. */
const maxConflicts = 50
/** Width of a value column. */
const columnWidth = 36

const readTexts = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.String)))

/** A table of conflicts, with draft and store values side by side. */
export const conflictLines = (conflicts: ReadonlyArray<ImportConflict>): ReadonlyArray<string> => {
  const shown = conflicts.slice(0, maxConflicts)
  const cell = (value: string) => quoted(value, columnWidth - 4).padEnd(columnWidth)
  const listOf = (list: string, pictures: NonNullable<ImportConflict["pictures"]>) =>
    Either.match(readTexts(list), {
      onLeft: () => list,
      onRight: (ids) => ids.map((id) => pictures[id] ?? "a new picture").join(", ")
    })
  const valueOf = (value: string, { pictures }: ImportConflict) =>
    cell(pictures === undefined ? value : listOf(value, pictures))
  const numberWidth = String(shown.at(-1)?.conflict ?? 0).length
  const fieldWidth = Math.max(5, ...shown.map(({ field }) => field.length))
  const indent = " ".repeat(numberWidth + 2)
  return [
    ...(shown.length === 0 ? [] : [`${indent}  ${"".padEnd(fieldWidth)}  ${"draft".padEnd(columnWidth)}  store`]),
    ...shown.flatMap((one) => [
      `  ${String(one.conflict).padStart(numberWidth)}  ${one.entity_type} ${one.entity_id}  ${quoted(one.title, columnWidth)} on ${one.store_domain}`,
      `${indent}  ${one.field.padEnd(fieldWidth)}  ${valueOf(one.draft_value, one)}  ${valueOf(one.store_value, one)}  ${one.decision ?? "undecided"}`
    ]),
    ...(conflicts.length > shown.length ? [`  and ${conflicts.length - shown.length} more: --json shows all`] : [])
  ]
}

/** Maximum number of removed entities in the text output and in JSON. */
export const maxRemovals = 100

export const removalLines = (run: ImportRun, removals: ReadonlyArray<PendingEntity>): ReadonlyArray<string> =>
  removals.length === 0
    ? []
    : [
        `  no longer in ${run.storeDomain}:`,
        ...removals.map(({ id, kind, title }) => `    ${kind} ${id}  ${quoted(title, columnWidth)}`),
        ...(run.summary.unlinked > removals.length ? [`    and ${run.summary.unlinked - removals.length} more`] : [])
      ]

/** One line per problem, if a file has several. A single problem is in the message. */
const problemLines = (problems: ReadonlyArray<ImportProblem>, count: number): ReadonlyArray<string> =>
  count < 2
    ? []
    : [
        ...problems.map((problem) => `  ${problemText(problem)}`),
        ...(count > problems.length ? [`  and ${count - problems.length} more`] : [])
      ]

export const refuseFile = ({ count, message, problems }: ImportFileRejected) =>
  new Refused({
    message,
    ...(count === 1 ? {} : { lines: [`The file has ${count} problems:`, ...problemLines(problems, count)] }),
    members: { problems, problem_count: count }
  })
