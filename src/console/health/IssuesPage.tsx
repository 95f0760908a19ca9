import { Array as Arr } from "effect"
import {
  dimensionOf,
  HealthDimension,
  type HealthIssue,
  type HealthIssuePage,
  sectionsOf
} from "../../health/Health.ts"
import type { StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { Frame, Refusal, Time } from "../Frame.tsx"
import { english } from "../languages/Words.tsx"
import { counted, EntityLink } from "../Naming.tsx"
import { issuesPath, paths } from "../Paths.ts"
import { StoreChoice } from "../StoreChoice.tsx"
import { type Row, Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { EntityName, Key, ShortValue, StoreName, Text } from "../Wording.tsx"
import { grouped } from "./Chart.tsx"
import { Field } from "./HealthPage.tsx"
import { dimensionWords, reasonWords, sectionWords } from "./HealthWords.ts"
import type { RepairContent } from "./RepairContent.ts"
import type { EqualRow, FillRow } from "./RepairRows.ts"
import type { Outcome } from "./Repairs.ts"
import { EqualTable, FillTable, OutcomeOf, RetryTable } from "./RepairTables.tsx"

export interface IssueFilters {
  readonly storeId: StoreId | undefined
  readonly locale: string | undefined
  readonly field: string | undefined
}

const Fields = ({ issue }: { readonly issue: HealthIssue }) => (
  <ul>
    {issue.fields.map((field) => {
      const shown = issue.values?.find((each) => each.field === field)
      return (
        <li key={field}>
          <Field field={field} />
          {shown !== undefined && (
            <>
              {": "}
              <ShortValue>{shown.value}</ShortValue>
            </>
          )}
        </li>
      )
    })}
  </ul>
)

const Filters = ({
  filters,
  locales,
  page,
  stores
}: {
  readonly page: HealthIssuePage
  readonly filters: IssueFilters
  readonly stores: ReadonlyArray<Store>
  readonly locales: ReadonlyArray<string>
}) => (
  <form method="get" action={paths.healthIssues} class="line">
    <label>
      Issues
      <select name="section">
        {HealthDimension.literals.map((dimension) => (
          <optgroup key={dimension} label={dimensionWords[dimension].name}>
            {sectionsOf(dimension).map((section) => (
              <option key={section} value={section} selected={section === page.section}>
                {sectionWords[section].name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
    <StoreChoice stores={stores} chosen={filters.storeId} />
    {filters.field !== undefined && (
      <label>
        Field
        <select name="field">
          <option value="">All fields</option>
          <option value={filters.field} selected>
            {fieldName(english, filters.field)}
          </option>
        </select>
      </label>
    )}
    {dimensionOf(page.section) === "translations" && (
      <label>
        Language
        <select name="locale">
          <option value="">All languages</option>
          {locales.map((locale) => (
            <option key={locale} value={locale} selected={locale === filters.locale}>
              {locale}
            </option>
          ))}
        </select>
      </label>
    )}
    <button type="submit" class="plain">
      Show
    </button>
  </form>
)

const Pages = ({
  filters,
  last,
  page
}: {
  readonly page: HealthIssuePage
  readonly filters: IssueFilters
  readonly last: number
}) => {
  const to = (number: number) => issuesPath(page.section, { ...filters, page: number })
  const number = page.page
  return (
    <nav class="pages" aria-label="Pages">
      {number > 1 && (
        <>
          <a href={to(1)}>First page</a>
          <a href={to(Math.min(number - 1, last))} rel="prev">
            Previous page
          </a>
        </>
      )}
      <span>
        Page {grouped(number)}
        {filters.field === undefined && ` of ${grouped(last)}`}
      </span>
      {number < last && (
        <>
          <a href={to(number + 1)} rel="next">
            Next page
          </a>
          {filters.field === undefined && <a href={to(last)}>Last page</a>}
        </>
      )}
    </nav>
  )
}

/** The entity of an issue. A variant is shown with its product's title and its SKU. */
const IssueEntity = ({ issue }: { readonly issue: HealthIssue }) => (
  <>
    <EntityName id={issue.entity_id} kind={issue.entity_type} title={issue.title} />
    {issue.product_id !== undefined && (
      <span class="quiet">
        {" of "}
        <EntityLink id={issue.product_id} kind="product" title={issue.product_title ?? ""} />
        {issue.sku !== undefined && issue.sku !== "" && (
          <>
            , SKU <Text>{issue.sku}</Text>
          </>
        )}
      </span>
    )}
  </>
)

/** The text of an issue: its problem, and the reasons that concern single fields. */
const wordsOf = ({ fields, reasons = [] }: HealthIssue, wrong: string): string => {
  const own = reasons.map(({ reason }) => `${reasonWords[reason]}.`)
  return [...(fields.length > reasons.length || fields.length === 0 ? [`${wrong}.`] : []), ...own].join(" ")
}

/** One table row for each SKU on the page, with the variants that share the SKU. */
const duplicateRows = (issues: ReadonlyArray<HealthIssue>, stores: ReadonlyArray<Store>): ReadonlyArray<Row> =>
  Object.entries(Arr.groupBy(issues, ({ sku = "" }) => `SKU ${sku}`)).map(([key, [first, ...others]]) => {
    const shown = [...new Map([first, ...others].map((issue) => [issue.entity_id, issue])).values()]
    const elsewhere = (first.duplicates ?? []).filter(
      (other) => !shown.some((issue) => issue.entity_id === other.entity_id)
    )
    const rest = (first.duplicates_count ?? 0) + 1 - shown.length - elsewhere.length
    return {
      key,
      cells: [
        <Key>{first.sku ?? ""}</Key>,
        <ul>
          {[...shown, ...elsewhere].map(({ entity_id, product_id, product_title, title }) => (
            <li key={entity_id}>
              <EntityLink id={entity_id} kind="variant" title={title} />
              {product_id !== undefined && (
                <span class="quiet">
                  {" of "}
                  <EntityLink id={product_id} kind="product" title={product_title ?? ""} />
                </span>
              )}
            </li>
          ))}
          {rest > 0 && <li>{grouped(rest)} more</li>}
        </ul>,
        <ul>
          {[...new Set([first, ...others].map(({ store_id }) => store_id))].map((id) => (
            <li key={id}>
              <StoreName id={id} stores={stores} />
            </li>
          ))}
        </ul>
      ]
    }
  })

/** The issues of a page, without a form. */
const Listed = ({ content, last }: { readonly content: IssuesContent; readonly last: number }) => {
  const { page, stores } = content
  const { name, wrong } = sectionWords[page.section]
  const hasLocales = dimensionOf(page.section) === "translations"
  return (
    <Table
      name={`${name}, page ${page.page} of ${last}`}
      {...(page.section === "structure-duplicate-sku"
        ? { columns: ["SKU", "Variants", "Stores"], rows: duplicateRows(page.data, stores) }
        : {
            columns: ["Entity", "Store", ...(hasLocales ? ["Language"] : []), "Fields", "What is wrong"],
            rows: page.data.map((issue) => ({
              key: `${issue.entity_id} ${issue.store_id} ${issue.locale}`,
              cells: [
                <IssueEntity issue={issue} />,
                <StoreName id={issue.store_id} stores={stores} />,
                ...(hasLocales ? [issue.locale ?? ""] : []),
                <Fields issue={issue} />,
                wordsOf(issue, wrong)
              ]
            }))
          })}
    />
  )
}

/** The issues of a page, as a form where they can be repaired. */
const Issues = ({ content, last }: { readonly content: IssuesContent; readonly last: number }) => {
  const { repair } = content
  const listed = <Listed content={content} last={last} />
  switch (repair._tag) {
    case "Fill":
      return (
        <Allowed to="edit" otherwise={listed}>
          <FillTable content={content} rows={repair.rows} />
        </Allowed>
      )
    case "Equal":
      return (
        <Allowed to="edit" otherwise={listed}>
          <EqualTable content={content} rows={repair.rows} />
        </Allowed>
      )
    case "Retry":
      return (
        <Allowed to="publish" otherwise={listed}>
          <RetryTable content={content} />
        </Allowed>
      )
    case "Nothing":
      return (
        <>
          <p>
            Nothing on this page can be repaired any more: since the scan, each issue was repaired, its entity was
            removed, or its field cannot be edited. <a href={paths.health}>Scan again</a>
          </p>
          {listed}
        </>
      )
    case "None":
      return listed
  }
}

/** How the rows of a page are repaired. `Nothing`: none of them can be repaired any more. */
export type Repair =
  | { readonly _tag: "Fill"; readonly rows: ReadonlyArray<FillRow> }
  | { readonly _tag: "Equal"; readonly rows: ReadonlyArray<EqualRow> }
  | { readonly _tag: "Retry" | "Nothing" | "None" }

/** `outcome`: of the last form; `refusal`: why it was not understood; `locales`: choices in translation sections. */
export interface IssuesContent extends RepairContent {
  readonly repair: Repair
  readonly outcome: Outcome | undefined
  readonly refusal: string | undefined
  readonly locales: ReadonlyArray<string>
  /** Number of the last page. */
  readonly last: number
}

export const IssuesPage = (content: IssuesContent) => {
  const { filters, last, locales, outcome, page, refusal, rows, stores, visitor } = content
  const { name } = sectionWords[page.section]
  const dimension = dimensionOf(page.section)
  const ofEach = `one for each entity and store${dimension === "translations" ? " and language" : ""}`
  return (
    <Frame title={name} visitor={visitor} current={paths.health}>
      <nav class="trail" aria-label="Trail">
        <a href={`${paths.health}#${dimension}`}>Data health: {dimensionWords[dimension].name}</a>
      </nav>
      <Refusal text={refusal} />
      {outcome !== undefined && <OutcomeOf outcome={outcome} />}
      <Filters page={page} filters={filters} stores={stores} locales={locales} />
      {page.scanned_at === undefined ? (
        <p>
          Not scanned yet. <a href={`${paths.health}#${dimension}`}>Scan it first.</a>
        </p>
      ) : (
        <>
          <p>
            {rows === 0 ? "There are no issues" : `${counted(rows, "issue")}, ${ofEach}`}
            {filters.field !== undefined && `, of all fields; here those of ${fieldName(english, filters.field)}`}
            {", as of the scan at "}
            <Time at={page.scanned_at} />.
          </p>
          {page.data.length > 0 && <Issues content={content} last={last} />}
          {rows > 0 && page.data.length === 0 && <p>There are no more issues.</p>}
          {rows > 0 && <Pages page={page} filters={filters} last={last} />}
        </>
      )}
    </Frame>
  )
}
