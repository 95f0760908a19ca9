import { Effect, Option, Schema } from "effect"
import { IssuesParams } from "../../api/DataHealth.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { Drafts } from "../../drafts/Drafts.ts"
import type { MetafieldDefinitions } from "../../drafts/MetafieldDefinitions.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import { dimensionOf, type HealthIssue, HealthOverview, type HealthSection } from "../../health/Health.ts"
import type { Remediation } from "../../health/Remediation.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { PublishJobs } from "../../publishing/PublishJobs.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { decoded, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { issuesPath, jobPath, paths } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { type IssueFilters, IssuesPage, type Repair } from "./IssuesPage.tsx"
import { actionOf, filledRowsOf, repairFields, rowsOfForm } from "./RepairForms.ts"
import { equalRowsOf, fillRowsOf, makeReadSheets, type SentRow, type Sheets } from "./RepairRows.ts"
import { type CommonTarget, makeRepairs, type Outcome } from "./Repairs.ts"

const routes = {
  issues: ["GET", paths.healthIssues, refuseOnPage, "view"],
  fill: ["POST", paths.fillIssues, refuseOnPage, "edit", "batch"],
  equal: ["POST", paths.equalIssues, refuseOnPage, "edit", "batch"],
  retry: ["POST", paths.retryIssues, refuseOnPage, "publish", "batch"]
} as const

/** Number of issues on a page. */
const pageSize = 25
/** Maximum time that the page waits for a scan after a repair. The scan's finished steps stay. */
const scanPatience = "5 seconds"

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))

const isFillable = (section: HealthSection) =>
  section === "completeness-required" || section === "completeness-recommended" || section === "media-alt-missing"

const unlinkedMeanwhile = "one of the stores is not linked any more"

/** The message if some stores refuse to publish again. `begun`: the number of jobs for the other stores. */
const notRetried = (refusals: ReadonlyArray<string>, begun: number): Saying => {
  const problem = refusals.join("; ")
  return begun === 0
    ? { sentence: "Not published again: {problem}.", values: { problem } }
    : {
        sentence:
          "Not published again: {problem}. {count, plural, one {# job} other {# jobs}} for other stores began: see the page Jobs.",
        values: { problem, count: begun }
      }
}

/** Begins a job that publishes entities to a store again. `refusal`: why the store refuses. */
const beginRetry =
  ({ selected }: PublishJobs["Type"]) =>
  ([storeId, ids]: readonly [StoreId, ReadonlyArray<EntityId>]) =>
    selected(storeId, ids).pipe(
      Effect.map(({ id }) => ({ id, refusal: undefined })),
      Effect.catchTags({
        ValidationFailed: ({ message }) => Effect.succeed({ id: undefined, refusal: message }),
        NotFound: () => Effect.succeed({ id: undefined, refusal: unlinkedMeanwhile })
      })
    )

type Query = Effect.Effect.Success<ReturnType<typeof queryIn>>

const queryIn = (parameters: Parameters) =>
  Effect.map(decoded(IssuesParams, ["section", "page", "store_id", "locale", "field"], parameters), (query) =>
    // Issues of unused media have no fields, but the filters keep the field of the list that was shown before.
    query.section === "media-unused" ? { ...query, field: undefined } : query
  )

const filtersIn = ({ field, locale, store_id }: Query): IssueFilters => ({ storeId: store_id, locale, field })

/**
 * The result of a sent form, which the page shows: its outcome, the rows as they were sent, and the value for several
 * rows.
 */
interface Sent {
  readonly outcome?: Outcome
  readonly refusal?: Saying
  readonly kept?: ReadonlyArray<SentRow>
  readonly typed?: string | undefined
  /** Whether the page shows only the rows of the sent form. */
  readonly isOnlySent?: boolean
}

/**
 * The number of the last page. The number of rows and the page are read separately, and a scan can end between both reads. With a field,
 * only the number of rows of all fields is known: the last page is this one or the next.
 */
const lastPage = ({ field, page }: Query, rows: number, hasNext: boolean) =>
  Math.max(field === undefined ? Math.ceil(rows / pageSize) : page, hasNext ? page + 1 : 1)

/** `repaired=12-14`: 12 of 14 rows. */
const outcomeIn = (parameters: Parameters): Outcome | undefined => {
  const [, repaired] = /^(\d{1,6})$/.exec(parameters.get("repaired") ?? "") ?? []
  return repaired === undefined ? undefined : { repaired: Number(repaired), refused: [], isLocked: false }
}

const readStore = Schema.decodeOption(StoreId)
const readEntity = Schema.decodeOption(EntityId)

/** The ticked failures of a form, by store. */
const tickedIn = (form: Parameters) => {
  const ticked = new Map<StoreId, Array<EntityId>>()
  for (const name of form.names.filter((each) => each.startsWith(repairFields.retry))) {
    const text = name.slice(repairFields.retry.length)
    const [storeId, id] = [readStore(text.slice(0, 36)), readEntity(text.slice(37))]
    if (Option.isSome(storeId) && Option.isSome(id))
      ticked.set(storeId.value, [...(ticked.get(storeId.value) ?? []), id.value])
  }
  return ticked
}

/** The data that the page of a list shows. */
const makeShowIssues = Effect.gen(function* () {
  const dataHealth = yield* DataHealth
  const lists = yield* MerchantLists
  const pictures = yield* Pictures
  const stores = yield* Stores
  const readSheets = yield* makeReadSheets

  const localesOf = (storeId: StoreId | undefined) =>
    Effect.gen(function* () {
      const { text } = yield* dataHealth.overview(storeId)
      const { dimensions } = yield* Effect.orDie(decodeOverview(text))
      return dimensions.flatMap((snapshot) =>
        snapshot.scanned && "by_locale" in snapshot.result ? snapshot.result.by_locale.map(({ locale }) => locale) : []
      )
    })

  const repairOf = (
    { field, section }: Query,
    found: ReadonlyArray<HealthIssue>,
    sheets: Sheets,
    { isOnlySent = false, kept = [] }: Sent
  ) =>
    Effect.gen(function* () {
      // An issue names all fields that are empty or differ, also those that are filtered out.
      const issues =
        field === undefined
          ? found
          : found.map((issue) => ({ ...issue, fields: issue.fields.filter((each) => each === field) }))
      // A refused row disappears if somebody else repaired it. If all disappear, the other rows of the page are shown.
      const only = <Row extends { readonly refusal: string | undefined }>(rows: ReadonlyArray<Row>) => {
        const refused = rows.filter(({ refusal }) => refusal !== undefined)
        return isOnlySent && refused.length > 0 ? refused : rows
      }
      if (section === "sync-failed") return { _tag: "Retry" } as const
      if (isFillable(section)) {
        const rows = only(fillRowsOf(issues, sheets, kept))
        return rows.length === 0 ? ({ _tag: "Nothing" } as const) : ({ _tag: "Fill", rows } as const)
      }
      if (section !== "divergence") return { _tag: "None" } as const
      const linked = yield* stores.list
      const { divergence } = yield* dataHealth.rules
      const comparison = { stores: new Map(linked.map((store) => [store.id, store])), rules: divergence }
      const rows = only(equalRowsOf(issues, sheets, comparison, kept))
      return rows.length === 0 ? ({ _tag: "Nothing" } as const) : ({ _tag: "Equal", rows } as const)
    })

  return (visitor: Visitor, query: Query, sent: Sent = {}) =>
    Effect.gen(function* () {
      const { field, locale, section, store_id } = query
      const page = yield* dataHealth.issues({ section, page: query.page, page_size: pageSize, store_id, locale, field })
      const rows = yield* dataHealth.countIssues({ section, store_id, locale })
      const isRepairable = isFillable(section) || section === "divergence"
      const ids = page.data.map(({ entity_id }) => entity_id)
      const sheets: Sheets = isRepairable ? yield* readSheets(page.data) : new Map()
      const repair: Repair = yield* repairOf(query, page.data, sheets, sent)
      const shown = isRepairable || section === "sync-failed" ? yield* lists.rows([...new Set(ids)]) : []
      // The selected language stays in the list even if it has no issues.
      const locales = new Set([...(yield* localesOf(store_id)), ...(locale === undefined ? [] : [locale])])
      return html(
        visitor,
        <IssuesPage
          visitor={visitor}
          stores={yield* stores.list}
          locales={[...locales]}
          filters={filtersIn(query)}
          page={page}
          rows={rows}
          last={lastPage(query, rows, page.has_next)}
          repair={repair}
          outcome={sent.outcome}
          refusal={sent.refusal}
          typed={sent.typed}
          pictures={new Map(shown.map((row) => [row.id, row]))}
          address={pictures.addressesFor(visitor.accountId)}
          firstRefused={repair._tag === "Fill" ? repair.rows.find(({ refusal }) => refusal !== undefined) : undefined}
        />,
        { status: sent.outcome?.isLocked ? 423 : sent.refusal !== undefined || isRefused(sent.outcome) ? 400 : 200 }
      )
    })
})

/** The rows of a form as they were sent, without a refusal. */
const toSentRows = (rows: ReadonlyArray<CommonTarget>): ReadonlyArray<SentRow> =>
  rows.map(({ entityId, field, kind, typed, where }) => ({
    target: { entityId, field, kind },
    typed,
    where,
    refusal: undefined
  }))

/** Whether nothing was repaired. */
const isRefused = (outcome: Outcome | undefined) =>
  outcome !== undefined && outcome.repaired === 0 && outcome.refused.length > 0

type Needs =
  | DataHealth
  | Drafts
  | MerchantLists
  | MetafieldDefinitions
  | Pictures
  | PublishJobs
  | Remediation
  | Stores
  | PageServices

/** The lists of issues, and the forms that repair them. */
export const issueList: Surface<Needs> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const dataHealth = yield* DataHealth
    const publishJobs = yield* PublishJobs
    const repairs = yield* makeRepairs
    const showIssues = yield* makeShowIssues
    const { asWatcher, withForm } = yield* makePageHandlers

    const filterOf = ({ field, locale, section, store_id }: Query) => ({ section, store_id, locale, field })

    /** Scans again, so that the list and the score show the repair, and shows the outcome. */
    const finish = (visitor: Visitor, query: Query, outcome: Outcome, sent: Sent) =>
      Effect.gen(function* () {
        const { section, store_id, ...filters } = query
        if (outcome.refused.length > 0) return yield* showIssues(visitor, query, { ...sent, outcome })
        yield* Effect.timeoutOption(dataHealth.scan(dimensionOf(section)), scanPatience)
        const address = issuesPath(section, { ...filters, storeId: store_id })
        return seeOther(`${address}&${new URLSearchParams({ repaired: String(outcome.repaired) })}`)
      })

    return {
      issues: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const outcome = outcomeIn(query)
          return yield* showIssues(visitor, yield* queryIn(query), outcome === undefined ? {} : { outcome })
        })
      ),
      fill: withForm((visitor, form) =>
        Effect.gen(function* () {
          const query = yield* queryIn(form)
          const rows = yield* rowsOfForm(form)
          const typed = form.get(repairFields.common)
          const keptOf = (value: string | undefined) =>
            rows.map(({ entityId, field, kind, typed, where }) => ({
              target: { entityId, field, kind },
              typed: typed.trim() === "" ? (value ?? typed) : typed,
              where,
              refusal: undefined
            }))
          const refuse = (refusal: string) => showIssues(visitor, query, { refusal, kept: keptOf(undefined), typed })
          switch (actionOf(form)) {
            case "spread":
              return yield* typed === undefined
                ? refuse("Nothing is filled: type the value for the empty rows first.")
                : showIssues(visitor, query, { kept: keptOf(typed), typed })
            case "all": {
              if (typed === undefined || query.field === undefined)
                return yield* refuse(
                  "Nothing is filled: first choose one field, and type its value for the whole list."
                )
              const issues = yield* repairs.firstIssues(filterOf(query))
              const outcome = yield* repairs.fillAll(issues, query.field, typed)
              return yield* finish(visitor, query, outcome, { typed, kept: keptOf(undefined) })
            }
            case "rows": {
              const filled = yield* filledRowsOf(rows)
              if (filled.length === 0) return yield* refuse("Nothing is filled: type a value into a row first.")
              const outcome = yield* repairs.fill(filled)
              return yield* finish(visitor, query, outcome, { kept: outcome.refused, isOnlySent: true, typed })
            }
          }
        })
      ),
      equal: withForm((visitor, form) =>
        Effect.gen(function* () {
          const query = yield* queryIn(form)
          const value = form.get(repairFields.common)
          const common = readStore(value ?? "")
          const rows = yield* rowsOfForm(form)
          const chosen = rows.flatMap((row) => {
            const where = row.where === "" ? value : row.where
            return Option.match(readStore(where ?? ""), { onNone: () => [], onSome: (id) => [{ ...row, where: id }] })
          })
          const sent = toSentRows(rows)
          if (actionOf(form) === "all") {
            if (Option.isNone(common))
              return yield* showIssues(visitor, query, {
                refusal: "Nothing is changed: first choose the store whose values the whole list gets.",
                kept: sent
              })
            const issues = yield* repairs.firstIssues(filterOf(query))
            return yield* finish(visitor, query, yield* repairs.equalAll(issues, common.value, query.field), {
              kept: sent,
              typed: value
            })
          }
          if (chosen.length === 0)
            return yield* showIssues(visitor, query, {
              refusal: "Nothing is changed: choose a store's value in a row, or one store for all rows first.",
              kept: sent
            })
          const outcome = yield* repairs.equal(chosen)
          return yield* finish(visitor, query, outcome, { kept: outcome.refused, isOnlySent: true, typed: value })
        })
      ),
      retry: withForm((visitor, form) =>
        Effect.gen(function* () {
          const query = yield* queryIn(form)
          const ticked = tickedIn(form)
          if (actionOf(form) === "all")
            for (const { entity_id, store_id } of yield* repairs.firstIssues(filterOf(query)))
              ticked.set(store_id, [...new Set([...(ticked.get(store_id) ?? []), entity_id])])
          if (ticked.size === 0)
            return yield* showIssues(visitor, query, { refusal: "Nothing is published: select some rows first." })
          const begun = yield* Effect.forEach([...ticked], beginRetry(publishJobs))
          const refusals = begun.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal]))
          if (refusals.length > 0)
            return yield* showIssues(visitor, query, { refusal: notRetried(refusals, begun.length - refusals.length) })
          const [first, ...others] = begun
          return seeOther(first?.id !== undefined && others.length === 0 ? jobPath(first.id) : paths.jobs)
        })
      )
    }
  })
)
