import { Effect, Schema } from "effect"
import { HealthParams, ScanRequest } from "../../api/DataHealth.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import { HealthDimension, HealthOverview } from "../../health/Health.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { StoreId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { html, seeOther } from "../Html.ts"
import { decoded, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { everyDimension, HealthPage, type Scanned } from "./HealthPage.tsx"

const routes = {
  show: ["GET", paths.health, refuseOnPage, "view"],
  scan: ["POST", paths.scanHealth, refuseOnPage, "edit", "scan"]
} as const

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))

const isDimension = Schema.is(HealthDimension)

const scannedOf = (parameters: Parameters): Scanned | undefined => {
  const name = parameters.get("scanned")
  return name === everyDimension || isDimension(name) ? name : undefined
}

/** Redirects to the data health page and scrolls to the dimension that was scanned. */
const afterScan = (scanned: Scanned, storeId: StoreId | undefined) => {
  const query = new URLSearchParams({ ...(storeId !== undefined && { store_id: storeId }), scanned })
  return seeOther(`${paths.health}?${query}${scanned === everyDimension ? "" : `#${scanned}`}`)
}

/** Data health of an account: the results of scans, and the form that starts a scan. */
export const health: Surface<DataHealth | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const dataHealth = yield* DataHealth
    const stores = yield* Stores
    const { asWatcher, withForm } = yield* makePageHandlers

    const snapshotsOf = (storeId: StoreId | undefined) =>
      Effect.flatMap(dataHealth.overview(storeId), ({ text }) =>
        Effect.map(Effect.orDie(decodeOverview(text)), ({ dimensions }) => dimensions)
      )

    return {
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const { store_id: storeId } = yield* decoded(HealthParams, ["store_id"], query)
          const snapshots = yield* snapshotsOf(storeId)
          const linked = yield* stores.list
          return html(
            visitor,
            <HealthPage
              visitor={visitor}
              stores={linked}
              storeId={storeId}
              snapshots={snapshots}
              scanned={scannedOf(query)}
              trend={yield* dataHealth.trend}
              lastScan={yield* dataHealth.lastScan}
              schedule={yield* dataHealth.schedule}
              unfinished={yield* dataHealth.unfinished}
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
      )
    }
  })
)
