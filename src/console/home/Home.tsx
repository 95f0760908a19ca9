import { Clock, Effect, Schema } from "effect"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { Drops } from "../../drops/Drops.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import { HealthOverview } from "../../health/Health.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { fromMillis } from "../../model/Timestamp.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import { Stores } from "../../stores/Stores.ts"
import { html } from "../Html.ts"
import { makePageHandlers, type PageServices } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { HomePage } from "./HomePage.tsx"

/** Maximum number of failed publishes that the page reads, of all stores. */
const maxFailures = 100
/** Maximum number of drops of yesterday, today and tomorrow that the page reads. */
const maxDrops = 250
const dayMillis = 86_400_000

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))

/** The start page: what needs the merchant, and the state of the stores. */
export const home: Surface<DataHealth | Drops | MerchantLists | Publishing | Stores | PageServices> = surfaceOf(
  { show: ["GET", paths.home, refuseOnPage, "view"] } as const,
  Effect.gen(function* () {
    const dataHealth = yield* DataHealth
    const drops = yield* Drops
    const lists = yield* MerchantLists
    const publishing = yield* Publishing
    const stores = yield* Stores
    const { asWatcher } = yield* makePageHandlers

    return {
      show: asWatcher((visitor) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const { text } = yield* dataHealth.overview(undefined)
          const { dimensions } = yield* Effect.orDie(decodeOverview(text))
          const completeness = dimensions.find(({ dimension }) => dimension === "completeness")
          const isOfToday = (at: string | null) => at !== null && Math.abs(Date.parse(at) - now) < dayMillis
          const products = yield* lists.page("product", { order: "newest", limit: 1 })
          return html(
            visitor,
            <HomePage
              visitor={visitor}
              stores={yield* stores.list}
              counts={yield* lists.storeCounts}
              failures={yield* publishing.failures(maxFailures)}
              drops={(yield* drops.between(fromMillis(now - dayMillis), fromMillis(now + dayMillis), maxDrops)).filter(
                ({ ends_at, starts_at, status }) =>
                  status !== "cancelled" && status !== "reverted" && (isOfToday(starts_at) || isOfToday(ends_at))
              )}
              incomplete={completeness?.scanned === true ? completeness.result.affected : undefined}
              hasProducts={products.rows.length > 0}
              now={now}
            />
          )
        })
      )
    }
  })
)
