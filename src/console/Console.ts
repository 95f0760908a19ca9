import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import type { Sessions } from "../access/Sessions.ts"
import type { BaseUrl } from "../http/BaseUrl.ts"
import { beside, type Surface, surfaceOf } from "../http/Surface.ts"
import { connectionActivity } from "./connections/ConnectionActivity.tsx"
import { connectionList } from "./connections/ConnectionList.tsx"
import { drops } from "./drops/Drops.tsx"
import { entities } from "./entities/Entities.tsx"
import { exportDownloads } from "./exports/ExportDownloads.ts"
import { seeOther } from "./Html.ts"
import { health } from "./health/Health.tsx"
import { importReviews } from "./imports/ImportReviews.tsx"
import { jobList } from "./jobs/JobList.tsx"
import { keys } from "./keys/Keys.tsx"
import { paths } from "./Paths.ts"
import { refuseAddress, refuseOnPage } from "./Refusals.tsx"
import { stylesheet } from "./Style.ts"
import { signIn } from "./signin/SignIn.tsx"
import { storeList } from "./stores/StoreList.tsx"
import { makeVisits } from "./Visits.ts"

const style = HttpServerResponse.text(stylesheet, {
  contentType: "text/css; charset=utf-8",
  headers: { "cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff" }
})

/** The start page and the stylesheet. */
const common: Surface<BaseUrl | Sessions> = {
  refuseAddress,
  ...surfaceOf(
    { home: ["GET", paths.home, refuseOnPage], style: ["GET", paths.stylesheet, refuseOnPage] },
    Effect.map(makeVisits, ({ asVisitor }) => ({
      home: asVisitor(() => Effect.succeed(seeOther(paths.stores))),
      style: () => Effect.succeed(style)
    }))
  )
}

/**
 * All pages for merchants. A new section must be added here, and its paths in Paths.ts. `trustedProxies`: number of proxies in
 * front of the service whose statement of the client's IP address is trusted.
 */
export const pages = (settings: { readonly trustedProxies: number }) =>
  beside(
    beside(beside(common, signIn(settings)), beside(beside(keys, connectionList), connectionActivity)),
    beside(
      beside(beside(beside(storeList, exportDownloads), importReviews), entities),
      beside(beside(health, drops), jobList)
    )
  )
