import { Effect, Option } from "effect"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { Imports } from "../../imports/Imports.ts"
import { isPublishing, type Job, type JobKindName } from "../../jobs/Job.ts"
import { Jobs } from "../../jobs/Jobs.ts"
import { EntityKind } from "../../model/Attribute.ts"
import type { NotFound, PimLocked, ValidationFailed } from "../../model/Errors.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import type { PublishCounts } from "../../model/PublishState.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { PlatformRegistry } from "../../platform/PlatformRegistry.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import { PublishJobs } from "../../publishing/PublishJobs.ts"
import { hasChannelChoice } from "../../storedata/SalesChannels.ts"
import { permissionsNamed } from "../../stores/LinkRules.ts"
import { Stores } from "../../stores/Stores.ts"
import type { CredentialTest } from "../../stores/StoresRepo.ts"
import { refusedStore, type Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { otherJobNote } from "../jobs/JobList.tsx"
import { type Words, wordsIn } from "../languages/Words.tsx"
import { idOf, idsOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { jobPath, pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { everyFailed, PublishStorePage, selectedPrefix } from "./PublishStorePage.tsx"
import { StoresPage } from "./StoresPage.tsx"

const routes = {
  show: ["GET", paths.stores, refuseOnPage, "view"],
  refresh: ["POST", paths.refreshStore, refuseOnPage, "edit"],
  pending: ["GET", paths.publishStore, refuseOnPage, "publish"],
  publish: ["POST", paths.publishStore, refuseOnPage, "publish"],
  publishSelected: ["POST", paths.publishSelected, refuseOnPage, "publish", "batch"],
  cancel: ["POST", paths.cancelPublishes, refuseOnPage, "publish"]
} as const

const notes = {
  linked: "The store is linked. Refresh it, or import its product export.",
  unlinked: "The store is unlinked.",
  accepted: "The store accepts its token.",
  refused: "The store refuses its token. Replace the token, then retry the failed publishes.",
  unreachable: "The store could not be reached, so its token was not tested. Try again later."
} as const

/** Maximum number of failed publishes that the page lists. */
const maxFailures = 20

/** Maximum number of drafts that can be selected. */
const maxListed = 100

/** The entities whose checkboxes are ticked. A malformed id is NotFound. */
const selectedOf = (form: Parameters) => idsOf(EntityId, form, selectedPrefix)

const chosenOf = (ids: ReadonlyArray<EntityId>) => ({ chosen: { ids }, count: ids.length })

const platformNameIn =
  ({ find }: PlatformRegistry["Type"], t: Words) =>
  (platform: string) =>
    platform === filesOnly
      ? t("None: imported from files")
      : Option.match(find(platform), {
          onNone: () => t("{platform} (not available here)", { platform }),
          onSome: ({ label }) => label
        })

const hasTokenIn =
  ({ find }: PlatformRegistry["Type"]) =>
  (platform: string) =>
    Option.exists(find(platform), ({ fields }) => fields.length > 0)

const permissionsIn =
  ({ find }: PlatformRegistry["Type"]) =>
  (platform: string, { missingPermissions = [] }: Partial<CredentialTest> = {}) =>
    permissionsNamed(find(platform), missingPermissions)

/** Why publishes to stores wait for their platforms. */
const delaysIn = (
  { delay }: Publishing["Type"],
  {
    counts,
    stores
  }: {
    readonly stores: ReadonlyArray<Store>
    readonly counts: ReadonlyMap<StoreId, PublishCounts>
  }
) =>
  Effect.map(
    Effect.forEach(
      stores.filter(({ id }) => (counts.get(id)?.pending ?? 0) > 0),
      ({ id }) => Effect.map(delay(id), (why) => [id, why] as const)
    ),
    (delays) => new Map(delays)
  )

const cannotRefresh = refusedStore({
  title: "This store cannot be refreshed",
  message: "{store} has no platform to read from. Import its product export instead."
})

const cannotPublish = refusedStore({
  title: "Nothing can be published to this store",
  message: "{store} has no platform to publish to."
})

/** The page of the job that works on the store already. It says so unless `isSame`: the job does what the form asks for. */
const toOpenJob = (open: Job, isSame: boolean) =>
  seeOther(`${jobPath(open.id)}${isSame ? "" : `?note=${otherJobNote}`}`)

/** Makes the page of the drafts of a store that are not published. */
const makeShowPending = Effect.gen(function* () {
  const jobs = yield* Jobs
  const publishing = yield* Publishing

  return (visitor: Visitor, store: Store, refusal?: string) =>
    Effect.gen(function* () {
      const counts = yield* publishing.pending(store.id)
      const delay = yield* publishing.delay(store.id)
      const entities = yield* publishing.waiting(store.id, maxListed)
      const job = Option.getOrUndefined(yield* jobs.openOn(store.id))
      const note = refusal === undefined ? {} : { refusal }
      return html(visitor, <PublishStorePage {...{ visitor, store, counts, delay, entities, job }} {...note} />, {
        status: refusal === undefined ? 200 : 400
      })
    })
})

/** The stores of an account: their states, and forms that refresh them and publish to them. */
export const storeList: Surface<
  Jobs | MerchantLists | PlatformRegistry | PublishJobs | Publishing | Stores | PageServices
> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const publishJobs = yield* PublishJobs
    const imports = yield* Imports
    const jobs = yield* Jobs
    const lists = yield* MerchantLists
    const publishing = yield* Publishing
    const platforms = yield* PlatformRegistry
    const stores = yield* Stores
    const showPending = yield* makeShowPending
    const { asVisitor, asWatcher, withForm } = yield* makePageHandlers

    const storeOf = (parameters: Parameters) => Effect.flatMap(idOf(StoreId, parameters), stores.find)

    /** The store that a form or query names. PageRefused: the store has no platform. */
    const openStoreOf = (parameters: Parameters) =>
      Effect.filterOrFail(storeOf(parameters), ({ platform }) => platform !== filesOnly, cannotPublish)

    /**
     * The page of the job that begins, or of the one that works on the store already: a form may be sent twice. `same`: the kind of a job
     * that is known to do the same as the form.
     */
    const toJob = <R,>(
      visitor: Visitor,
      store: Store,
      same: JobKindName | null,
      begun: Effect.Effect<Job, NotFound | PimLocked | ValidationFailed, R>
    ) =>
      begun.pipe(
        Effect.map(({ id }) => seeOther(jobPath(id))),
        Effect.catchTag("ValidationFailed", ({ message: problem }) =>
          Effect.flatMap(jobs.openOn(store.id), (open) => {
            if (Option.isSome(open) && (isPublishing(open.value) || open.value.kind === same))
              return Effect.succeed(toOpenJob(open.value, open.value.kind === same))
            const t = wordsIn(visitor.pageLanguage)
            return showPending(
              visitor,
              store,
              same === "publish_cancel"
                ? t("The publishes are not cancelled: {problem}.", { problem })
                : t("Not published: {problem}.", { problem })
            )
          })
        )
      )

    return {
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const content = yield* Effect.all({
            stores: stores.list,
            counts: stores.publishCounts,
            credentialTests: stores.credentialTests,
            failures: publishing.failures(maxFailures),
            fetching: imports.fetching,
            holder: imports.holder
          })
          const delays = yield* delaysIn(publishing, content)
          return html(
            visitor,
            <StoresPage
              visitor={visitor}
              platformName={platformNameIn(platforms, wordsIn(visitor.pageLanguage))}
              hasChannels={(platform) => hasChannelChoice(platforms.find(platform))}
              hasToken={hasTokenIn(platforms)}
              permissionsOf={permissionsIn(platforms)}
              note={noteOf(notes, queryOf(request).get("note"))}
              delays={delays}
              {...content}
            />
          )
        })
      ),
      refresh: withForm((_, form) =>
        Effect.gen(function* () {
          const store = yield* storeOf(form)
          if (store.platform === filesOnly) return yield* cannotRefresh(store)
          const run = yield* imports.startRefresh(store.domain)
          return seeOther(pageOf(paths.import, run.id))
        })
      ),
      pending: asVisitor((visitor, request) =>
        Effect.flatMap(openStoreOf(queryOf(request)), (store) => showPending(visitor, store))
      ),
      publish: withForm((visitor, form) =>
        Effect.flatMap(openStoreOf(form), (store) =>
          toJob(visitor, store, "publish_waiting", publishJobs.all(store.id))
        )
      ),
      cancel: withForm((visitor, form) =>
        Effect.flatMap(openStoreOf(form), (store) =>
          toJob(visitor, store, "publish_cancel", publishJobs.cancelAll(store.id))
        )
      ),
      publishSelected: withForm((visitor, form) =>
        Effect.gen(function* () {
          const store = yield* openStoreOf(form)
          const isForFailed = form.get(everyFailed) === "yes"
          const kinds = EntityKind.literals
          const { chosen, count } = isForFailed
            ? yield* lists.found(kinds, { storeId: store.id, state: "failed" })
            : chosenOf(yield* selectedOf(form))
          if (count > 0) return yield* toJob(visitor, store, null, publishJobs.chosen(store.id, kinds, chosen))
          if (!isForFailed) return yield* showPending(visitor, store, "Nothing is selected: select some drafts first.")
          const open = Option.filter(yield* jobs.openOn(store.id), isPublishing)
          return Option.isSome(open)
            ? toOpenJob(open.value, false)
            : yield* showPending(visitor, store, "Nothing that failed is left on this store.")
        })
      )
    }
  })
)
