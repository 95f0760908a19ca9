import { Effect } from "effect"
import type { Sessions } from "../../access/Sessions.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { BaseUrl } from "../../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { Imports } from "../../imports/Imports.ts"
import { NotFound } from "../../model/Errors.ts"
import { StoreId } from "../../model/Ids.ts"
import { firstPlace, PendingPlace, Publishing } from "../../publishing/Publishing.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { decoded, idOf, makeVisits, queryOf } from "../Visits.ts"
import { PublishStorePage } from "./PublishStorePage.tsx"
import { StoresPage } from "./StoresPage.tsx"

const routes = {
  show: ["GET", paths.stores, refuseOnPage],
  refresh: ["POST", paths.refreshStore, refuseOnPage],
  pending: ["GET", paths.publishStore, refuseOnPage],
  publish: ["POST", paths.publishStore, refuseOnPage, "batch"]
} as const

/** Maximum number of failed publishes that the page lists. */
const maxFailures = 20

const cannotRefresh = (domain: string) =>
  new PageRefused({
    status: 400,
    title: "This store cannot be refreshed",
    message: `${domain} has no platform to read from. Import its product export instead.`,
    next: { path: paths.stores, name: "To the stores" }
  })

const cannotPublish = (domain: string) =>
  new PageRefused({
    status: 400,
    title: "Nothing can be published to this store",
    message: `${domain} has no platform to publish to.`,
    next: { path: paths.stores, name: "To the stores" }
  })

/** The stores of an account: their states, and the forms that refresh them and publish to them. */
export const storeList: Surface<BaseUrl | Sessions | Imports | Publishing | Stores> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const imports = yield* Imports
    const publishing = yield* Publishing
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makeVisits

    const storeOf = (given: Parameters) =>
      Effect.gen(function* () {
        const id = yield* idOf(StoreId, given)
        const store = (yield* stores.list).find((each) => each.id === id)
        return store === undefined ? yield* new NotFound() : store
      })

    /** The store that a form or query names. PageRefused: the store has no platform. */
    const openStoreOf = (given: Parameters) =>
      Effect.filterOrFail(
        storeOf(given),
        ({ platform }) => platform !== "none",
        ({ domain }) => cannotPublish(domain)
      )

    return {
      show: asVisitor((visitor) =>
        Effect.map(
          Effect.all({
            stores: stores.list,
            counts: stores.publishCounts,
            failures: publishing.failures(maxFailures),
            runs: imports.list
          }),
          (content) => html(<StoresPage visitor={visitor} {...content} />)
        )
      ),
      refresh: withForm((_, form) =>
        Effect.gen(function* () {
          const store = yield* storeOf(form)
          if (store.platform === "none") return yield* cannotRefresh(store.domain)
          const run = yield* imports.startRefresh(store.domain)
          return seeOther(pageOf(paths.import, run.id))
        })
      ),
      pending: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const store = yield* openStoreOf(queryOf(request))
          const counts = yield* publishing.pending(store.id)
          return html(
            <PublishStorePage visitor={visitor} store={store} counts={counts} answer={undefined} place={firstPlace} />
          )
        })
      ),
      publish: withForm((visitor, form) =>
        Effect.gen(function* () {
          const store = yield* openStoreOf(form)
          const from = yield* decoded(PendingPlace, ["part", "after"], form)
          const answer = yield* Effect.catchTag(publishing.askPending(store.id, from), "ValidationFailed", () =>
            cannotPublish(store.domain)
          )
          const counts = yield* publishing.pending(store.id)
          return html(
            <PublishStorePage visitor={visitor} store={store} counts={counts} answer={answer} place={answer.next} />
          )
        })
      )
    }
  })
)
