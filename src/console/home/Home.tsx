import { Clock, Effect, Schema } from "effect"
import { ApiKeys } from "../../access/ApiKeys.ts"
import { Users } from "../../access/Users.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { StoreCounts } from "../../catalog/StoreCounts.sql.ts"
import { Connections } from "../../connections/Connections.ts"
import { Drops } from "../../drops/Drops.ts"
import { dayOf } from "../../drops/Zone.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import { HealthOverview } from "../../health/Health.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { ImportRun } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import { includesRole } from "../../model/Role.ts"
import { fromMillis } from "../../model/Timestamp.ts"
import { Stores } from "../../stores/Stores.ts"
import { hideFirstSteps, hidesFirstSteps, sentFrom, type Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { makePageHandlers, type PageServices } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { needsAttention } from "./DayDrops.tsx"
import type { StepsDone } from "./FirstSteps.tsx"
import { HomePage } from "./HomePage.tsx"

/** Maximum number of drops that the page reads. */
const maxDrops = 250
/** The longest day of a time zone, which has 25 hours. */
const dayMillis = 25 * 3_600_000

const decodeOverview = Schema.decode(Schema.parseJson(HealthOverview))

/** The start page: the work that waits for the merchant, and the state of the stores. */
export const home: Surface<ApiKeys | Connections | DataHealth | Drops | MerchantLists | Stores | Users | PageServices> =
  surfaceOf(
    {
      show: ["GET", paths.home, refuseOnPage, "view"],
      hide: ["POST", paths.hideFirstSteps, refuseOnPage, "view"]
    } as const,
    Effect.gen(function* () {
      const dataHealth = yield* DataHealth
      const drops = yield* Drops
      const lists = yield* MerchantLists
      const imports = yield* Imports
      const apiKeys = yield* ApiKeys
      const connections = yield* Connections
      const users = yield* Users
      const stores = yield* Stores
      const { asWatcher, baseUrl, withForm } = yield* makePageHandlers

      /** The number of conflicts that are not decided. Another process may end the import meanwhile. */
      const undecidedOf = (lock: ImportRun | undefined) =>
        lock?.phase !== "reviewing" || lock.summary.conflicts === 0
          ? Effect.succeed(0)
          : imports.tally(lock.id).pipe(
              Effect.map(({ undecided }) => undecided),
              Effect.catchTag("NotFound", () => Effect.succeed(0))
            )

      /** The steps that the visitor's role includes, and whether each is done. Undefined: all are. */
      const stepsOf = (visitor: Visitor, counts: ReadonlyArray<StoreCounts>, hasProducts: boolean) =>
        Effect.gen(function* () {
          const { accountId, role } = visitor
          const isAdmin = includesRole(role, "admin")
          const isConnected =
            (yield* connections.list(accountId)).length > 0 || (yield* apiKeys.list(accountId)).length > 0
          const others = {
            link: counts.length > 0,
            import: hasProducts,
            ...(isAdmin && { invite: (yield* users.list(accountId)).length > 1, connect: isConnected })
          }
          const areDone = Object.values(others).every(Boolean)
          const nothingWaits = counts.every((each) => each.counts.length === 0)
          const isPublished = counts.some(({ hasPublications }) => hasPublications) || (areDone && nothingWaits)
          const steps: StepsDone = { ...others, ...(includesRole(role, "publish") && { publish: isPublished }) }
          return Object.values(steps).every(Boolean) ? undefined : steps
        })

      return {
        hide: withForm((visitor, _, request) =>
          Effect.sync(() => hideFirstSteps(seeOther(sentFrom(request, baseUrl)), baseUrl, visitor.accountId))
        ),
        show: asWatcher((visitor, request) =>
          Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const { text } = yield* dataHealth.overview(undefined)
            const { dimensions } = yield* Effect.orDie(decodeOverview(text))
            const completeness = dimensions.find(({ dimension }) => dimension === "completeness")
            const zone = visitor.timeZone ?? "UTC"
            const isOfToday = (at: string | null) => at !== null && dayOf(Date.parse(at), zone) === dayOf(now, zone)
            const near = yield* drops.dueBetween(fromMillis(now - dayMillis), fromMillis(now + dayMillis), maxDrops)
            const counts = yield* lists.storeCounts
            const products = yield* lists.page("product", { order: "newest", limit: 1 })
            const hasProducts = products.rows.length > 0
            return html(
              visitor,
              <HomePage
                visitor={visitor}
                stores={yield* stores.list}
                counts={counts}
                undecided={yield* undecidedOf(visitor.lock)}
                drops={near.filter(
                  (drop) =>
                    isOfToday(drop.starts_at) || isOfToday(drop.ends_at) || needsAttention(drop, now, visitor.lock)
                )}
                incomplete={completeness?.scanned === true ? completeness.result.affected : undefined}
                hasProducts={hasProducts}
                steps={
                  hidesFirstSteps(request, visitor.accountId) ? undefined : yield* stepsOf(visitor, counts, hasProducts)
                }
                now={now}
              />
            )
          })
        )
      }
    })
  )
