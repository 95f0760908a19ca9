import { Clock, Effect, Schema } from "effect"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { Drops } from "../../drops/Drops.ts"
import { dayOf } from "../../drops/Zone.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import { HealthOverview } from "../../health/Health.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { ImportRun } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import { fromMillis } from "../../model/Timestamp.ts"
import { Stores } from "../../stores/Stores.ts"
import { html } from "../Html.ts"
import { makePageHandlers, type PageServices } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { needsAttention } from "./DayDrops.tsx"
import { HomePage } from "./HomePage.tsx"

/** Maximum number of drops that the page reads. */
const maxDrops = 250
/** The longest day of a time zone, which has 25 hours. */
const dayMillis = 25 * 3_600_000

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))

/** The start page: what needs the merchant, and the state of the stores. */
export const home: Surface<DataHealth | Drops | MerchantLists | Stores | PageServices> = surfaceOf(
  { show: ["GET", paths.home, refuseOnPage, "view"] } as const,
  Effect.gen(function* () {
    const dataHealth = yield* DataHealth
    const drops = yield* Drops
    const lists = yield* MerchantLists
    const imports = yield* Imports
    const stores = yield* Stores
    const { asWatcher } = yield* makePageHandlers

    /** The number of conflicts that are not decided. Another process may end the import meanwhile. */
    const undecidedOf = (lock: ImportRun | undefined) =>
      lock?.phase !== "reviewing" || lock.summary.conflicts === 0
        ? Effect.succeed(0)
        : imports.tally(lock.id).pipe(
            Effect.map(({ undecided }) => undecided),
            Effect.catchTag("NotFound", () => Effect.succeed(0))
          )

    return {
      show: asWatcher((visitor) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const { text } = yield* dataHealth.overview(undefined)
          const { dimensions } = yield* Effect.orDie(decodeOverview(text))
          const completeness = dimensions.find(({ dimension }) => dimension === "completeness")
          const zone = visitor.timeZone ?? "UTC"
          const isOfToday = (at: string | null) => at !== null && dayOf(Date.parse(at), zone) === dayOf(now, zone)
          const near = yield* drops.dueBetween(fromMillis(now - dayMillis), fromMillis(now + dayMillis), maxDrops)
          const products = yield* lists.page("product", { order: "newest", limit: 1 })
          return html(
            visitor,
            <HomePage
              visitor={visitor}
              stores={yield* stores.list}
              counts={yield* lists.storeCounts}
              undecided={yield* undecidedOf(visitor.lock)}
              drops={near.filter(
                (drop) =>
                  isOfToday(drop.starts_at) || isOfToday(drop.ends_at) || needsAttention(drop, now, visitor.lock)
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
