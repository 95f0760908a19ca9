import { Effect, Schema } from "effect"
import { HealthParams, IssuesParams, ScanRequest } from "../../api/DataHealth.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import { HealthDimension, HealthOverview, type HealthSnapshot } from "../../health/Health.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { StoreId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { html, seeOther } from "../Html.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { decoded, makeVisits, queryOf, type Visits } from "../Visits.ts"
import { everyDimension, HealthPage, type Scanned } from "./HealthPage.tsx"
import { IssuesPage } from "./IssuesPage.tsx"

const routes = {
  show: ["GET", paths.health, refuseOnPage],
  scan: ["POST", paths.scanHealth, refuseOnPage, "scan"],
  issues: ["GET", paths.healthIssues, refuseOnPage]
} as const

/** Number of issues on a page. */
const pageSize = 25

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))

const isDimension = Schema.is(HealthDimension)

const scannedOf = (given: Parameters): Scanned | undefined => {
  const name = given.get("scanned")
  return name === everyDimension || isDimension(name) ? name : undefined
}

/** Redirects to the data health page and scrolls to the dimension that was scanned. */
const afterScan = (scanned: Scanned, storeId: StoreId | undefined) => {
  const query = new URLSearchParams({ ...(storeId !== undefined && { store_id: storeId }), scanned })
  return seeOther(`${paths.health}?${query}${scanned === everyDimension ? "" : `#${scanned}`}`)
}

const localesOf = (snapshots: ReadonlyArray<HealthSnapshot>): ReadonlyArray<string> =>
  snapshots.flatMap((snapshot) =>
    snapshot.scanned && "by_locale" in snapshot.result ? snapshot.result.by_locale.map(({ locale }) => locale) : []
  )

/** Data health of an account: the results of scans, the form that starts a scan, and the lists of issues. */
export const health: Surface<DataHealth | Stores | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const dataHealth = yield* DataHealth
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makeVisits

    const snapshotsOf = (storeId: StoreId | undefined) =>
      Effect.flatMap(dataHealth.overview(storeId), ({ text }) =>
        Effect.map(Effect.orDie(decodeOverview(text)), ({ dimensions }) => dimensions)
      )

    return {
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const { store_id: storeId } = yield* decoded(HealthParams, ["store_id"], query)
          const snapshots = yield* snapshotsOf(storeId)
          const linked = yield* stores.list
          return html(
            <HealthPage
              visitor={visitor}
              stores={linked}
              storeId={storeId}
              snapshots={snapshots}
              scanned={scannedOf(query)}
            />
          )
        })
      ),
      scan: withForm((_, form) =>
        Effect.gen(function* () {
          if (form.get("dimension") === everyDimension) {
            yield* Effect.forEach(HealthDimension.literals, (dimension) => dataHealth.scan(dimension), {
              discard: true
            })
            return afterScan(everyDimension, undefined)
          }
          const { dimension, store_id } = yield* decoded(ScanRequest, ["dimension", "store_id"], form)
          yield* dataHealth.scan(dimension, store_id)
          return afterScan(dimension, store_id)
        })
      ),
      issues: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const { locale, page, section, store_id } = yield* decoded(
            IssuesParams,
            ["section", "page", "store_id", "locale"],
            queryOf(request)
          )
          const found = yield* dataHealth.issues({ section, page, page_size: pageSize, store_id, locale })
          const rows = yield* dataHealth.countIssues({ section, store_id, locale })
          const snapshots = yield* snapshotsOf(store_id)
          const linked = yield* stores.list
          // The selected language stays in the list even if it has no issues.
          const locales = new Set([...localesOf(snapshots), ...(locale === undefined ? [] : [locale])])
          return html(
            <IssuesPage
              visitor={visitor}
              stores={linked}
              locales={[...locales]}
              filters={{ storeId: store_id, locale }}
              page={found}
              rows={rows}
              // The number of rows and the page are read separately, and a scan can end between both reads.
              last={Math.max(Math.ceil(rows / pageSize), found.has_next ? page + 1 : 1)}
            />
          )
        })
      )
    }
  })
)
