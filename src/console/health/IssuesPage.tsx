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
import { Live } from "../Live.tsx"
import type { Saying, Sentence, Words } from "../languages/Words.tsx"
import { EntityLink } from "../Naming.tsx"
import { issuesPath, paths } from "../Paths.ts"
import { StoreChoice } from "../StoreChoice.tsx"
import { type Row, Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { EntityName, Key, ShortValue, StoreName, Text } from "../Wording.tsx"
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
}) => {
  const t = useWords()
  return (
    <form method="get" action={paths.healthIssues} class="line">
      <label>
        {t("Issues")}
        <select name="section">
          {HealthDimension.literals.map((dimension) => (
            <optgroup key={dimension} label={t(dimensionWords[dimension].name)}>
              {sectionsOf(dimension).map((section) => (
                <option key={section} value={section} selected={section === page.section}>
                  {t(sectionWords[section].name)}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <StoreChoice stores={stores} chosen={filters.storeId} />
      {filters.field !== undefined && (
        <label>
          {t("Field")}
          <select name="field">
            <option value="">{t("All fields")}</option>
            <option value={filters.field} selected>
              {fieldName(t, filters.field)}
            </option>
          </select>
        </label>
      )}
      {dimensionOf(page.section) === "translations" && (
        <label>
          {t("Language")}
          <select name="locale">
            <option value="">{t("All languages")}</option>
            {locales.map((locale) => (
              <option key={locale} value={locale} selected={locale === filters.locale}>
                {locale}
              </option>
            ))}
          </select>
        </label>
      )}
      <button type="submit" class="plain">
        {t("Show")}
      </button>
    </form>
  )
}

const Pages = ({
  filters,
  last,
  page
}: {
  readonly page: HealthIssuePage
  readonly filters: IssueFilters
  readonly last: number
}) => {
  const t = useWords()
  const to = (number: number) => issuesPath(page.section, { ...filters, page: number })
  const number = page.page
  return (
    <nav class="pages" aria-label={t("Pages")}>
      {number > 1 && (
        <>
          <a href={to(1)}>{t("First page")}</a>
          <a href={to(Math.min(number - 1, last))} rel="prev">
            {t("Previous page")}
          </a>
        </>
      )}
      <span>
        {filters.field === undefined
          ? t("Page {page, number} of {last, number}", { page: number, last })
          : t("Page {page, number}", { page: number })}
      </span>
      {number < last && (
        <>
          <a href={to(number + 1)} rel="next">
            {t("Next page")}
          </a>
          {filters.field === undefined && <a href={to(last)}>{t("Last page")}</a>}
        </>
      )}
    </nav>
  )
}

/** The entity of an issue. A variant is shown with its product's title and its SKU. */
const IssueEntity = ({ issue }: { readonly issue: HealthIssue }) => {
  const t = useWords()
  const product = issue.product_id !== undefined && (
    <EntityLink id={issue.product_id} kind="product" title={issue.product_title ?? ""} />
  )
  return (
    <>
      <EntityName id={issue.entity_id} kind={issue.entity_type} title={issue.title} />
      {issue.product_id !== undefined && (
        <span class="quiet">
          {" "}
          {issue.sku === undefined || issue.sku === ""
            ? t.rich("of {product}", { product })
            : t.rich("of {product}, SKU {sku}", { product, sku: <Text>{issue.sku}</Text> })}
        </span>
      )}
    </>
  )
}

/** The text of an issue: its problem, and the reasons that concern single fields. */
const wordsOf = (t: Words, { fields, reasons = [] }: HealthIssue, wrong: Sentence): string => {
  const own = reasons.map(({ reason }) => t(reasonWords[reason]))
  return [...(fields.length > reasons.length || fields.length === 0 ? [t(wrong)] : []), ...own].join(" ")
}

/** One table row for each SKU on the page, with the variants that share the SKU. */
const duplicateRows = (
  t: Words,
  issues: ReadonlyArray<HealthIssue>,
  stores: ReadonlyArray<Store>
): ReadonlyArray<Row> =>
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
                  {" "}
                  {t.rich("of {product}", {
                    product: <EntityLink id={product_id} kind="product" title={product_title ?? ""} />
                  })}
                </span>
              )}
            </li>
          ))}
          {rest > 0 && <li>{t("{count, number} more", { count: rest })}</li>}
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
  const t = useWords()
  const { page, stores } = content
  const { name, wrong } = sectionWords[page.section]
  const hasLocales = dimensionOf(page.section) === "translations"
  return (
    <Table
      name={t("{name}, page {page, number} of {last, number}", { name: t(name), page: page.page, last })}
      {...(page.section === "structure-duplicate-sku"
        ? { columns: [t("SKU"), t("Variants"), t("Stores")], rows: duplicateRows(t, page.data, stores) }
        : {
            columns: [t("Item"), t("Store"), ...(hasLocales ? [t("Language")] : []), t("Fields"), t("What is wrong")],
            rows: page.data.map((issue) => ({
              key: `${issue.entity_id} ${issue.store_id} ${issue.locale}`,
              cells: [
                <IssueEntity issue={issue} />,
                <StoreName id={issue.store_id} stores={stores} />,
                ...(hasLocales ? [issue.locale ?? ""] : []),
                <Fields issue={issue} />,
                wordsOf(t, issue, wrong)
              ]
            }))
          })}
    />
  )
}

/** The issues of a page, as a form where they can be repaired. */
const Issues = ({ content, last }: { readonly content: IssuesContent; readonly last: number }) => {
  const t = useWords()
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
            {t.rich(
              "Nothing on this page can be repaired any more: since the scan, each issue was repaired, its item was removed, or its field cannot be edited. <link>Scan again</link>",
              { link: (words) => <a href={paths.health}>{words}</a> }
            )}
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
interface IssuesContent extends RepairContent {
  readonly repair: Repair
  readonly outcome: Outcome | undefined
  readonly refusal: Saying | undefined
  readonly locales: ReadonlyArray<string>
  /** Number of the last page. */
  readonly last: number
}

/** The number of issues, and the time of their scan. */
const Found = ({
  at,
  hasLocales,
  rows
}: {
  readonly at: string
  readonly rows: number
  readonly hasLocales: boolean
}) => {
  const t = useWords()
  const time = <Time at={at} />
  if (rows === 0) return <>{t.rich("There are no issues, as of the scan at {time}.", { time })}</>
  return (
    <>
      {t.rich(
        hasLocales
          ? "{count, plural, one {# issue} other {# issues}}, one for each item, store and language, as of the scan at {time}."
          : "{count, plural, one {# issue} other {# issues}}, one for each item and store, as of the scan at {time}.",
        { count: rows, time }
      )}
    </>
  )
}

export const IssuesPage = (content: IssuesContent) => {
  const t = useWords()
  const { filters, last, locales, outcome, page, refusal, rows, stores, visitor } = content
  const dimension = dimensionOf(page.section)
  return (
    <Frame title={t(sectionWords[page.section].name)} visitor={visitor} current={paths.health}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={`${paths.health}#${dimension}`}>
          {t("Data health: {dimension}", { dimension: t(dimensionWords[dimension].name) })}
        </a>
      </nav>
      <Refusal text={refusal} />
      {outcome !== undefined && <OutcomeOf outcome={outcome} />}
      <Filters page={page} filters={filters} stores={stores} locales={locales} />
      {page.scanned_at === undefined ? (
        <p>
          {t.rich("Not scanned yet. <link>Scan it first.</link>", {
            link: (words) => <a href={`${paths.health}#${dimension}`}>{words}</a>
          })}
        </p>
      ) : (
        <>
          {/* Rows stay as they are: somebody may be filling them. */}
          <Live
            id="found"
            on={["scan"]}
            says={t("{count, plural, =0 {There are no issues now.} one {# issue now.} other {# issues now.}}", {
              count: rows
            })}
          >
            <p>
              <Found at={page.scanned_at} rows={rows} hasLocales={dimension === "translations"} />
              {filters.field !== undefined &&
                ` ${t("This number counts all fields. Below are only the issues of {field}.", { field: fieldName(t, filters.field) })}`}
            </p>
          </Live>
          {page.data.length > 0 && <Issues content={content} last={last} />}
          {rows > 0 && page.data.length === 0 && <p>{t("There are no more issues.")}</p>}
          {rows > 0 && <Pages page={page} filters={filters} last={last} />}
        </>
      )}
    </Frame>
  )
}
