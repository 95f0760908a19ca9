import type { ComponentChildren } from "preact"
import { type ImportRun, plannedOf } from "../../imports/Import.ts"
import type { FieldDifference, ReviewedChange, ReviewRow } from "../../imports/ReviewLists.ts"
import type { ReviewList } from "../../imports/StagedImport.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { fieldName } from "../entities/FieldNames.ts"
import type { Sentence, Words } from "../languages/Words.tsx"
import { EntityLink, kindWords, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { ShortValue, Text } from "../Wording.tsx"

export type ImportTab = ReviewList | "conflicts"

const tabWords: Readonly<Record<ImportTab, Sentence>> = {
  new: "New",
  changed: "Changed",
  leaving: "Leaving",
  conflicts: "Conflicts"
}

const pageWords: Readonly<Record<ImportTab, Sentence>> = {
  new: "Pages of New",
  changed: "Pages of Changed",
  leaving: "Pages of Leaving",
  conflicts: "Pages of Conflicts"
}

const nextWords: Readonly<Record<ImportTab, Sentence>> = {
  new: "Next new",
  changed: "Next changed",
  leaving: "Next leaving",
  conflicts: "Next conflicts"
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

const titles: Readonly<Partial<Record<ImportRun["phase"], Sentence>>> = {
  reviewing: "What it would change",
  applying: "What it changes",
  applied: "What it made"
}

/** The heading of the lists. Undefined: the import has none. */
export const listsTitle = ({ phase }: ImportRun): Sentence | undefined => titles[phase]

const tabPath = (run: ImportRun, tab: ImportTab) => `${pageOf(paths.import, run.id)}&list=${tab}#lists`

/** The lists of an import, as links, with their numbers. */
export const ImportTabs = ({ current, run }: { readonly run: ImportRun; readonly current: ImportTab }) => {
  const t = useWords()
  return plannedOf(run.summary) + run.summary.conflicts === 0 ? null : (
    <nav class="tabs" aria-label={t("Lists of the import")}>
      {tabs.map((tab) => (
        <a key={tab} href={tabPath(run, tab)} {...(tab === current ? { "aria-current": "true" as const } : {})}>
          {t(tabWords[tab])} <span class="number">{t.number(countOf(run.summary, tab))}</span>
        </a>
      ))}
    </nav>
  )
}

const Difference = ({ difference: { after, before, field, isOverride } }: { readonly difference: FieldDifference }) => {
  const t = useWords()
  return (
    <li>
      {fieldName(t, field)}
      {isOverride && <span class="quiet"> {t("on the store")}</span>}:{" "}
      {before !== null && (
        <>
          <ShortValue>{before}</ShortValue> <span aria-hidden="true">→</span>
          <span class="spoken"> {t("becomes")} </span>{" "}
        </>
      )}
      <ShortValue>{after ?? ""}</ShortValue>
    </li>
  )
}

const otherWords: Readonly<Record<ReviewedChange["others"][number], Sentence>> = {
  added_to_store: "Added to the store",
  removed_from_store: "Removed from the store",
  gallery: "Other media, or another order of them",
  members: "Other products, or another order of them",
  variant_order: "Another order of variants"
}

const newWords: Readonly<Record<EntityKind, Sentence>> = {
  product: "New product {title}",
  variant: "New variant {title}",
  collection: "New collection {title}",
  media: "New media file {title}"
}

const changedWords: Readonly<Record<EntityKind, Sentence>> = {
  product: "Changed product {title}",
  variant: "Changed variant {title}",
  collection: "Changed collection {title}",
  media: "Changed media file {title}"
}

const Differences = ({ change, isMain }: { readonly change: ReviewedChange; readonly isMain: boolean }) => {
  const t = useWords()
  return (
    <>
      {!isMain && (
        <p>
          {t.rich(change.isNew ? newWords[change.kind] : changedWords[change.kind], {
            title: <Text>{titleOr(t, change.kind, change.title)}</Text>
          })}
        </p>
      )}
      {change.differences.length + change.others.length > 0 && (
        <ul>
          {change.differences.map((difference) => (
            <Difference key={`${difference.field} ${difference.isOverride}`} difference={difference} />
          ))}
          {change.others.map((other) => (
            <li key={other}>{t(otherWords[other])}</li>
          ))}
        </ul>
      )}
    </>
  )
}

/** An entity with its kind, and a variant with its product. */
const Named = ({ change, children }: { readonly change: ReviewedChange; readonly children: ComponentChildren }) => {
  const t = useWords()
  return (
    <>
      {children}{" "}
      <span class="quiet">
        {t(kindWords[change.kind])}
        {change.product !== null && (
          <> {t.rich("of {product}", { product: <Text>{titleOr(t, "product", change.product)}</Text> })}</>
        )}
      </span>
    </>
  )
}

const cellsOf = (t: Words, row: ReviewRow, isApplied: boolean): readonly [ComponentChildren, ComponentChildren] => {
  const [main] = row.changes
  const isEmpty = row.changes.every(({ differences, others }) => differences.length + others.length === 0)
  return [
    main === undefined ? (
      t("No longer in the catalog")
    ) : main.isNew && !isApplied ? (
      <Named change={main}>
        <Text>{titleOr(t, main.kind, main.title)}</Text>
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
      {row.more > 0 && <p class="quiet">{t("And {count, number} more.", { count: row.more })}</p>}
      {row.hasConflicts ? (
        <p class="quiet">{isEmpty ? t("Its values are in Conflicts.") : t("Further values are in Conflicts.")}</p>
      ) : (
        isEmpty && <p class="quiet">{t("No value: the import only notes what the store has.")}</p>
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
  const t = useWords()

  const path = `${pageOf(paths.import, run.id)}&list=${tab}`
  const next = rows.length === atOnce ? rows.at(-1) : undefined
  return (
    <>
      {rows.length === 0 ? (
        <p class="quiet">
          {countOf(run.summary, tab) === 0
            ? t("There are none.")
            : after !== undefined
              ? t("There are no more.")
              : t("The list was deleted seven days after the end of the import.")}
        </p>
      ) : (
        <Table
          name={t(tabWords[tab])}
          columns={[t("Entity"), run.phase === "reviewing" ? t("What would change") : t("What changed")]}
          rows={rows.map((row) => ({ key: String(row.ordinal), cells: cellsOf(t, row, run.phase === "applied") }))}
        />
      )}
      {(after !== undefined || next !== undefined) && (
        <nav class="pages" aria-label={t(pageWords[tab])}>
          {after !== undefined && <a href={`${path}#lists`}>{t("To the first")}</a>}
          {next !== undefined && <a href={`${path}&after=${next.ordinal}#lists`}>{t(nextWords[tab])}</a>}
        </nav>
      )}
    </>
  )
}
