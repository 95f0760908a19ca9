import { Effect } from "effect"
import { combine, type Surface, surfaceOf } from "../http/Surface.ts"
import { assetPaths, icon, islandScript, richText, script, stylesheet, ticks } from "./Assets.ts"
import { consoleApi } from "./api/ConsoleApiSurface.ts"
import { keepTheme, sentFrom } from "./Browser.ts"
import { collectionProducts } from "./collections/CollectionProducts.tsx"
import { connectionActivity } from "./connections/ConnectionActivity.tsx"
import { connectionList } from "./connections/ConnectionList.tsx"
import { copyProduct } from "./creations/CopyProduct.tsx"
import { creations } from "./creations/Creations.tsx"
import { drops } from "./drops/Drops.tsx"
import { entities } from "./entities/Entities.tsx"
import { publishReview } from "./entities/PublishReview.tsx"
import { eventStreams } from "./events/EventStreams.ts"
import { exportDownloads } from "./exports/ExportDownloads.tsx"
import { seeOther } from "./Html.ts"
import { health } from "./health/Health.tsx"
import { issueList } from "./health/IssueList.tsx"
import { home } from "./home/Home.tsx"
import { importReviews } from "./imports/ImportReviews.tsx"
import { jobList } from "./jobs/JobList.tsx"
import { keys } from "./keys/Keys.tsx"
import { entityLists } from "./lists/EntityLists.tsx"
import { makePageHandlers, type PageServices } from "./PageHandlers.ts"
import { paths } from "./Paths.ts"
import { pictureRoutes } from "./pictures/PictureRoutes.ts"
import { profile } from "./profile/Profile.tsx"
import { refuseAddress, refuseOnPage } from "./Refusals.tsx"
import { selections } from "./selections/Selections.tsx"
import { signIn } from "./signin/SignIn.tsx"
import { storeChannels } from "./stores/StoreChannels.tsx"
import { storeLinks } from "./stores/StoreLinks.tsx"
import { storeList } from "./stores/StoreList.tsx"
import { themeOf } from "./Theme.ts"
import { team } from "./team/Team.tsx"
import { webhookList } from "./webhooks/WebhookList.tsx"

/** The files that browsers load, and the form that sets the colours. */
const common: Surface<PageServices> = {
  refuseAddress,
  ...surfaceOf(
    {
      stylesheet: ["GET", assetPaths.stylesheet, refuseOnPage, "open"],
      script: ["GET", assetPaths.script, refuseOnPage, "open"],
      islands: ["GET", assetPaths.islands, refuseOnPage, "open"],
      richText: ["GET", assetPaths.richText, refuseOnPage, "open"],
      ticks: ["GET", assetPaths.ticks, refuseOnPage, "open"],
      icon: ["GET", assetPaths.icon, refuseOnPage, "open"],
      theme: ["POST", paths.theme, refuseOnPage, "view"]
    },
    Effect.map(makePageHandlers, ({ baseUrl, withForm }) => ({
      stylesheet: () => Effect.succeed(stylesheet),
      script: () => Effect.succeed(script),
      islands: () => Effect.succeed(islandScript),
      richText: () => Effect.succeed(richText),
      ticks: () => Effect.succeed(ticks),
      icon: () => Effect.succeed(icon),
      theme: withForm((_, form, request) =>
        Effect.sync(() => keepTheme(seeOther(sentFrom(request, baseUrl)), baseUrl, themeOf(form.get("theme"))))
      )
    }))
  )
}

/**
 * All pages for merchants. A new section must be added here, and its paths in Paths.ts. `trustedProxies`: number of proxies in
 * front of the service whose statement of the client's IP address is trusted.
 */
export const pages = (settings: { readonly trustedProxies: number }) =>
  combine(
    combine(
      combine(combine(combine(common, consoleApi), pictureRoutes), combine(signIn(settings), combine(profile, team))),
      combine(combine(keys, connectionList), connectionActivity)
    ),
    combine(
      combine(
        combine(combine(combine(storeList, combine(storeLinks, storeChannels)), exportDownloads), importReviews),
        combine(
          combine(home, combine(entities, publishReview)),
          combine(combine(entityLists, combine(combine(creations, copyProduct), collectionProducts)), selections)
        )
      ),
      combine(combine(combine(combine(health, issueList), drops), eventStreams), combine(jobList, webhookList))
    )
  )
