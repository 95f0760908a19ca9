import type { ComponentChildren } from "preact"
import { type ImportRun, plannedOf } from "../../imports/Import.ts"
import type { FieldDifference, ReviewedChange, ReviewRow } from "../../imports/ReviewLists.ts"
import type { ReviewList } from "../../imports/StagedImport.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { ImportId } from "../../model/Ids.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { Hidden } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
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
const countOf = (
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

/** The entities of a list that a page shows: those with all words of `search`; in Conflicts, on request only the undecided ones. */
export interface ListFilter {
  readonly search: string
  readonly isUndecided: boolean
}

export const everything: ListFilter = { search: "", isUndecided: false }

/** Maximum length of a search, in characters. */
export const maxSearch = 200

/** The value of the parameter `only`. */
export const undecided = "undecided"

/** The parameters of a filter, for addresses and forms. */
export const filterParameters = ({ isUndecided, search }: ListFilter): ReadonlyArray<readonly [string, string]> => [
  ...(search === "" ? [] : [["search", search] as const]),
  ...(isUndecided ? [["only", undecided] as const] : [])
]

/** The address of a page of a list, with these further parameters. */
export const listPath = (
  id: ImportId,
  tab: ImportTab,
  filter: ListFilter,
  further: Readonly<Record<string, string>> = {}
): string => {
  const query = new URLSearchParams(
    [["list", tab], ...filterParameters(filter), ...Object.entries(further)].map((pair) => [...pair])
  )
  return `${pageOf(paths.import, id)}&${query}`
}

/** The lists of an import, as links, with their numbers. A search stays. */
export const ImportTabs = ({
  current,
  filter: { search },
  run
}: {
  readonly run: ImportRun
  readonly current: ImportTab
  readonly filter: ListFilter
}) => {
  const t = useWords()
  return plannedOf(run.summary) + run.summary.conflicts === 0 ? null : (
    <nav class="tabs" aria-label={t("Lists of the import")}>
      {tabs.map((tab) => (
        <a
          key={tab}
          href={`${listPath(run.id, tab, { search, isUndecided: false })}#lists`}
          {...(tab === current ? { "aria-current": "true" as const } : {})}
        >
          {t(tabWords[tab])} <span class="number">{t.number(countOf(run.summary, tab))}</span>
        </a>
      ))}
    </nav>
  )
}

/** Finds rows of a list by their words, and conflicts that are undecided. */
export const ListSearch = ({
  filter,
  run,
  tab,
  toDecide
}: {
  readonly run: ImportRun
  readonly tab: ImportTab
  readonly filter: ListFilter
  /** The number of undecided conflicts. */
  readonly toDecide: number
}) => {
  const t = useWords()

  const { isUndecided, search } = filter
  const chip = (name: string, isOnly: boolean) => (
    <li>
      <a
        class="chip"
        href={`${listPath(run.id, tab, { search, isUndecided: isOnly })}#lists`}
        aria-current={isOnly === isUndecided ? "true" : undefined}
      >
        {name}
      </a>
    </li>
  )
  return countOf(run.summary, tab) === 0 ? null : (
    <search class="filters">
      {tab === "conflicts" && run.phase === "reviewing" && (
        <ul class="chips" aria-label={t("Decision")}>
          {chip(t("All"), false)}
          {chip(t("{count, number} undecided", { count: toDecide }), true)}
        </ul>
      )}
      <form method="get" action={`${paths.import}#lists`}>
        <Hidden of={[["id", run.id], ["list", tab], ...filterParameters({ search: "", isUndecided })]} />
        <div class="line">
          <div class="find">
            <Icon name="search" />
            <input
              type="search"
              name="search"
              value={search}
              aria-label={t("Search this list")}
              maxLength={maxSearch}
              data-search
            />
          </div>
          <button type="submit" class="plain">
            {t("Search")}
          </button>
        </div>
      </form>
    </search>
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
  gallery: "Media or their order changed",
  members: "Products or their order changed",
  variant_order: "Order of variants changed"
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
  filter,
  rows,
  run,
  tab
}: {
  readonly run: ImportRun
  readonly tab: ReviewList
  readonly filter: ListFilter
  readonly rows: ReadonlyArray<ReviewRow>
  readonly after: number | undefined
  readonly atOnce: number
}) => {
  const t = useWords()

  const next = rows.length === atOnce ? rows.at(-1) : undefined
  return (
    <>
      {rows.length === 0 ? (
        <p class="quiet">
          {countOf(run.summary, tab) === 0
            ? t("There are none.")
            : after !== undefined
              ? t("There are no more.")
              : filter.search !== ""
                ? t("Nothing was found.")
                : t("The list was deleted seven days after the end of the import.")}
        </p>
      ) : (
        <Table
          name={t(tabWords[tab])}
          columns={[t("Item"), run.phase === "reviewing" ? t("What would change") : t("What changed")]}
          rows={rows.map((row) => ({ key: String(row.ordinal), cells: cellsOf(t, row, run.phase === "applied") }))}
        />
      )}
      {(after !== undefined || next !== undefined) && (
        <nav class="pages" aria-label={t(pageWords[tab])}>
          {after !== undefined && <a href={`${listPath(run.id, tab, filter)}#lists`}>{t("To the first")}</a>}
          {next !== undefined && (
            <a href={`${listPath(run.id, tab, filter, { after: String(next.ordinal) })}#lists`}>{t(nextWords[tab])}</a>
          )}
        </nav>
      )}
    </>
  )
}
