import { Effect } from "effect"
import { NotFound } from "../domain/Errors.ts"
import { StoreId } from "../domain/Ids.ts"
import type { BaseUrl } from "../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../http/Surface.ts"
import { Imports } from "../services/Imports.ts"
import { Publishing } from "../services/Publishing.ts"
import type { Sessions } from "../services/Sessions.ts"
import { Stores } from "../services/Stores.ts"
import { PageRefused } from "./Browser.ts"
import { html, seeOther } from "./Html.ts"
import { pageOf, paths } from "./Paths.ts"
import { refuseOnPage } from "./Refusals.tsx"
import { StoresPage } from "./StoresPage.tsx"
import { idOf, makeVisits } from "./Visits.ts"

const routes = {
  show: ["GET", paths.stores, refuseOnPage],
  refresh: ["POST", paths.refreshStore, refuseOnPage]
} as const

/** Failures that the page lists. */
const mostFailures = 20

const known = (domain: string) =>
  new PageRefused({
    status: 400,
    title: "This store cannot be refreshed",
    message: `${domain} is known by its files alone: there is no platform to read it from. Import its product export instead.`,
    next: { path: paths.stores, name: "To the stores" }
  })

/** The stores of an account: where each stands, and refreshed from its platform. */
export const storeList: Surface<BaseUrl | Sessions | Imports | Publishing | Stores> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const imports = yield* Imports
    const publishing = yield* Publishing
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makeVisits
    return {
      show: asVisitor((visitor) =>
        Effect.map(
          Effect.all({
            stores: stores.list,
            counts: stores.publishCounts,
            failures: publishing.failures(mostFailures),
            runs: imports.list
          }),
          (content) => html(<StoresPage visitor={visitor} {...content} />)
        )
      ),
      refresh: withForm((_, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(StoreId, form)
          const store = (yield* stores.list).find((each) => each.id === id)
          if (store === undefined) return yield* new NotFound()
          if (store.platform === "none") return yield* known(store.domain)
          const run = yield* imports.startRefresh(store.domain)
          return seeOther(pageOf(paths.import, run.id))
        })
      )
    }
  })
)
