import { dimensionOf, HealthDimension, type HealthIssue, type HealthIssuePage, sectionsOf } from "../domain/Health.ts"
import type { StoreId } from "../domain/Ids.ts"
import type { Store } from "../domain/Store.ts"
import type { Visitor } from "./Browser.ts"
import { grouped } from "./Chart.tsx"
import { Frame, Time } from "./Frame.tsx"
import { Field, issuesPath } from "./HealthPage.tsx"
import { dimensionWords, sectionWords } from "./HealthWords.ts"
import { paths } from "./Paths.ts"
import { StoreChoice } from "./StoreChoice.tsx"
import { Table } from "./Table.tsx"
import { EntityName, ShortValue, StoreName } from "./Wording.tsx"

/** What narrows the list. */
export interface IssueFilters {
  readonly storeId: StoreId | undefined
  readonly locale: string | undefined
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
        Page {grouped(number)} of {grouped(last)}
      </span>
      {number < last && (
        <>
          <a href={to(number + 1)} rel="next">
            Next page
          </a>
          <a href={to(last)}>Last page</a>
        </>
      )}
    </nav>
  )
}

/** `rows`: of all pages together; `last`: the last page; `locales`: what may be chosen of the translation sections. */
export const IssuesPage = ({
  filters,
  last,
  locales,
  page,
  rows,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly locales: ReadonlyArray<string>
  readonly filters: IssueFilters
  readonly page: HealthIssuePage
  readonly rows: number
  readonly last: number
}) => {
  const { name, wrong } = sectionWords[page.section]
  const dimension = dimensionOf(page.section)
  const hasLocales = dimension === "translations"
  return (
    <Frame title={name} visitor={visitor} current={paths.health}>
      <nav class="trail" aria-label="Trail">
        <a href={`${paths.health}#${dimension}`}>Data health: {dimensionWords[dimension].name}</a>
      </nav>
      <Filters page={page} filters={filters} stores={stores} locales={locales} />
      {page.scanned_at === undefined ? (
        <p>
          Never scanned, so nothing is known. <a href={`${paths.health}#${dimension}`}>Scan it first.</a>
        </p>
      ) : (
        <>
          <p>
            {rows === 0
              ? "There is no issue"
              : `${grouped(rows)} ${rows === 1 ? "issue" : "issues"}, one for each entity and store${hasLocales ? " and language" : ""}`}
            {", as of the scan at "}
            <Time at={page.scanned_at} />.
          </p>
          {page.data.length > 0 && (
            <Table
              name={`${name}, page ${page.page} of ${last}`}
              columns={["Entity", "Store", ...(hasLocales ? ["Language"] : []), "Fields", "What is wrong"]}
              rows={page.data.map((issue) => ({
                key: `${issue.entity_id} ${issue.store_id} ${issue.locale}`,
                cells: [
                  <EntityName key="entity" id={issue.entity_id} kind={issue.entity_type} title={issue.title} />,
                  <StoreName key="store" id={issue.store_id} stores={stores} />,
                  ...(hasLocales ? [issue.locale ?? ""] : []),
                  <Fields key="fields" issue={issue} />,
                  `${wrong}.`
                ]
              }))}
            />
          )}
          {rows > 0 && page.data.length === 0 && <p>The list does not reach so far.</p>}
          {rows > 0 && <Pages page={page} filters={filters} last={last} />}
        </>
      )}
    </Frame>
  )
}
