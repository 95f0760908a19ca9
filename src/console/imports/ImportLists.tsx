import type { ComponentChildren } from "preact"
import { type ImportRun, plannedOf } from "../../imports/Import.ts"
import type { FieldDifference, ReviewedChange, ReviewRow } from "../../imports/ReviewLists.ts"
import type { ReviewList } from "../../imports/StagedImport.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { english } from "../languages/Words.tsx"
import { EntityLink, kindWords, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { ShortValue, Text } from "../Wording.tsx"

export type ImportTab = ReviewList | "conflicts"

const tabWords: Readonly<Record<ImportTab, string>> = {
  new: "New",
  changed: "Changed",
  leaving: "Leaving",
  conflicts: "Conflicts"
}

const tabs: ReadonlyArray<ImportTab> = ["new", "changed", "leaving", "conflicts"]

export const isTab = (text: string): text is ImportTab => tabs.some((tab) => tab === text)

/** The number of products, collections and files, of removed entities, or of conflicts. */
export const countOf = (
  { collections, conflicts, created, files, unlinked, updated }: ImportRun["summary"],
  tab: ImportTab
): number => {
  switch (tab) {
    case "new":
      return created + collections.created + files.created
    case "changed":
      return updated + collections.updated + files.updated
    case "leaving":
      return unlinked
    case "conflicts":
      return conflicts
  }
}

/** Under review: the list that needs the person most. Afterwards: the first list of the import's results. */
export const firstTab = ({ phase, summary }: ImportRun): ImportTab =>
  (phase === "reviewing" ? tabs.toReversed() : tabs).find((tab) => countOf(summary, tab) > 0) ?? "changed"

const titles: Readonly<Partial<Record<ImportRun["phase"], string>>> = {
  reviewing: "What it would change",
  applying: "What it changes",
  applied: "What it made"
}

/** The heading of the lists. Undefined: the import has none. */
export const listsTitle = ({ phase }: ImportRun): string | undefined => titles[phase]

const tabPath = (run: ImportRun, tab: ImportTab) => `${pageOf(paths.import, run.id)}&list=${tab}#lists`

/** The lists of an import, as links, with their numbers. */
export const ImportTabs = ({ current, run }: { readonly run: ImportRun; readonly current: ImportTab }) =>
  plannedOf(run.summary) + run.summary.conflicts === 0 ? null : (
    <nav class="tabs" aria-label="Lists of the import">
      {tabs.map((tab) => (
        <a key={tab} href={tabPath(run, tab)} {...(tab === current ? { "aria-current": "true" as const } : {})}>
          {tabWords[tab]} <span class="number">{countOf(run.summary, tab).toLocaleString("en")}</span>
        </a>
      ))}
    </nav>
  )

const Difference = ({ difference: { after, before, field, isOverride } }: { readonly difference: FieldDifference }) => (
  <li>
    {fieldName(english, field)}
    {isOverride && <span class="quiet"> on the store</span>}:{" "}
    {before !== null && (
      <>
        <ShortValue>{before}</ShortValue> <span aria-hidden="true">→</span>
        <span class="spoken"> becomes </span>{" "}
      </>
    )}
    <ShortValue>{after ?? ""}</ShortValue>
  </li>
)

const otherWords: Readonly<Record<ReviewedChange["others"][number], string>> = {
  added_to_store: "Added to the store",
  removed_from_store: "Removed from the store",
  gallery: "Other media, or another order of them",
  members: "Other products, or another order of them",
  variant_order: "Another order of variants"
}

const Differences = ({ change, isMain }: { readonly change: ReviewedChange; readonly isMain: boolean }) => (
  <>
    {!isMain && (
      <p>
        {change.isNew ? "New" : "Changed"} {kindWords[change.kind].toLowerCase()}{" "}
        <Text>{titleOr(english, change.kind, change.title)}</Text>
      </p>
    )}
    {change.differences.length + change.others.length > 0 && (
      <ul>
        {change.differences.map((difference) => (
          <Difference key={`${difference.field} ${difference.isOverride}`} difference={difference} />
        ))}
        {change.others.map((other) => (
          <li key={other}>{otherWords[other]}</li>
        ))}
      </ul>
    )}
  </>
)

/** An entity with its kind, and a variant with its product. */
const Named = ({ change, children }: { readonly change: ReviewedChange; readonly children: ComponentChildren }) => (
  <>
    {children}{" "}
    <span class="quiet">
      {kindWords[change.kind]}
      {change.product !== null && (
        <>
          {" "}
          of <Text>{titleOr(english, "product", change.product)}</Text>
        </>
      )}
    </span>
  </>
)

const cellsOf = (row: ReviewRow, isApplied: boolean): readonly [ComponentChildren, ComponentChildren] => {
  const [main] = row.changes
  const isEmpty = row.changes.every(({ differences, others }) => differences.length + others.length === 0)
  return [
    main === undefined ? (
      "No longer in the catalog"
    ) : main.isNew && !isApplied ? (
      <Named change={main}>
        <Text>{titleOr(english, main.kind, main.title)}</Text>
      </Named>
    ) : (
      <Named change={main}>
        <EntityLink id={main.id} kind={main.kind} title={main.title} />
      </Named>
    ),
    <>
      {row.changes.map((change, index) => (
        <Differences key={change.id} change={change} isMain={index === 0} />
      ))}
      {row.more > 0 && <p class="quiet">And {row.more.toLocaleString("en")} more.</p>}
      {row.hasConflicts ? (
        <p class="quiet">{isEmpty ? "Its values are in Conflicts." : "Further values are in Conflicts."}</p>
      ) : (
        isEmpty && <p class="quiet">No value: the import only notes what the store has.</p>
      )}
    </>
  ]
}

/**
 * A page of a list. `after`: the ordinal after which it starts, undefined: from the start; `atOnce`: rows of a full
 * page.
 */
export const ImportRows = ({
  after,
  atOnce,
  rows,
  run,
  tab
}: {
  readonly run: ImportRun
  readonly tab: ReviewList
  readonly rows: ReadonlyArray<ReviewRow>
  readonly after: number | undefined
  readonly atOnce: number
}) => {
  const path = `${pageOf(paths.import, run.id)}&list=${tab}`
  const next = rows.length === atOnce ? rows.at(-1) : undefined
  return (
    <>
      {rows.length === 0 ? (
        <p class="quiet">
          {countOf(run.summary, tab) === 0
            ? "There are none."
            : after !== undefined
              ? "There are no more."
              : "The list was deleted seven days after the end of the import."}
        </p>
      ) : (
        <Table
          name={tabWords[tab]}
          columns={["Entity", run.phase === "reviewing" ? "What would change" : "What changed"]}
          rows={rows.map((row) => ({ key: String(row.ordinal), cells: cellsOf(row, run.phase === "applied") }))}
        />
      )}
      {(after !== undefined || next !== undefined) && (
        <nav class="pages" aria-label={`Pages of ${tabWords[tab]}`}>
          {after !== undefined && <a href={`${path}#lists`}>To the first</a>}
          {next !== undefined && <a href={`${path}&after=${next.ordinal}#lists`}>Next {tabWords[tab].toLowerCase()}</a>}
        </nav>
      )}
    </>
  )
}
