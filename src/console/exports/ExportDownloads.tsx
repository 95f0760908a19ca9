import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Exit, Fiber, Option, Runtime, Scope, Stream } from "effect"
import type { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { ExportJobs } from "../../exports/ExportJobs.ts"
import type { ExportSelection } from "../../exports/ExportSelection.ts"
import { Exports } from "../../exports/Exports.ts"
import type { ExportPart } from "../../exports/Spool.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { Tally } from "../../http/Tally.ts"
import { type CurrentActor, withAccountId } from "../../model/Actor.ts"
import type { NotFound, ValidationFailed } from "../../model/Errors.ts"
import { type AccountId, StoreId } from "../../model/Ids.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused, refusedStore } from "../Browser.ts"
import type { Misfit } from "../Field.tsx"
import { html, pageHeaders } from "../Html.ts"
import { filtersOf } from "../lists/ListFilters.tsx"
import { idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { fields, makeSelectionIn } from "../selections/SelectionForm.ts"
import { ExportPage, type LeftOut } from "../selections/SelectionPages.tsx"

const routes = {
  jsonl: ["GET", paths.exportJsonl, refuseOnPage, "view", "batch"],
  csv: ["GET", paths.exportCsv, refuseOnPage, "view", "batch"],
  csvAsPublish: ["POST", paths.exportCsv, refuseOnPage, "publish", "batch"],
  selected: ["POST", paths.exportSelected, refuseOnPage, "view", "batch"]
} as const

/**
 * Maximum downloads of an account that a process sends at the same time. The file of each is on the disk until it is sent. The words
 * of the refusal name this number.
 */
const maxDownloads = 2

const tooManyDownloads = new PageRefused({
  status: 429,
  title: "Two downloads are running",
  message:
    "An account has up to two downloads of its catalog at a time. Wait until one ends, or cancel it in your browser.",
  next: { path: paths.stores, name: "To the stores" }
})

/** The title of the page on which the format is chosen. It is translated there. */
const title = "Export the selected"

/** Maximum number of selected products whose stores the page counts. Counting more would take long. */
const maxCounted = 10_000

/** Counts the selected products that each store lacks. */
const countLeftOut = (exports: Exports["Type"], linked: ReadonlyArray<Store>, chosen: ExportSelection) =>
  Effect.gen(function* () {
    const total = chosen.kind === "product" ? yield* exports.count(chosen) : 0
    if (total === 0 || total > maxCounted) return { total, ofStores: [] } satisfies LeftOut
    const counts = yield* exports.countByStore(chosen)
    const left = linked.map((store) => ({ store, count: total - (counts.get(store.id) ?? 0) }))
    return { total, ofStores: left.filter(({ count }) => count > 0) } satisfies LeftOut
  })

/** Makes a function that refuses downloads beyond `maxDownloads`. A download counts until its connection has taken or lost it. */
const makeAdmit = () => {
  const running = new Tally<AccountId>()
  return (request: HttpServerRequest.HttpServerRequest) =>
    withAccountId((accountId) => {
      const response = toServerResponse(request)
      if (running.of(accountId) >= maxDownloads) return tooManyDownloads
      if (response.destroyed) return Effect.void
      running.add(accountId, 1)
      response.once("close", () => running.add(accountId, -1))
      return Effect.void
    })
}

type Parts = Stream.Stream<ExportPart, NotFound | ValidationFailed, CurrentActor>

/**
 * How long the answer waits for the first part: longer than statements wait for a connection and a lock, shorter than proxies wait for an
 * answer.
 */
const untilAnswer = "20 seconds"

/**
 * Begins an export and waits for its first part, so that an error at the begin is answered with its page. Returns the whole export, which
 * is closed when it or its connection ends.
 */
const beginExport = (request: HttpServerRequest.HttpServerRequest, parts: Parts) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const close = Scope.close(scope, Exit.void)
      const run = Runtime.runFork(yield* Effect.runtime<CurrentActor>())
      const response = toServerResponse(request)
      response.once("close", () => run(close))
      const pull = yield* Scope.extend(Stream.toPull(parts), scope)
      const first = yield* Effect.forkIn(Effect.interruptible(pull), scope)
      yield* restore(Effect.timeoutOption(Fiber.join(first), untilAnswer)).pipe(
        Effect.catchAll(Option.match({ onNone: () => Effect.void, onSome: Effect.fail })),
        Effect.onError(() => close)
      )
      if (response.destroyed) yield* close
      return Stream.fromEffectOption(Fiber.join(first)).pipe(
        Stream.flattenChunks,
        Stream.concat(Stream.repeatEffectChunkOption(pull)),
        Stream.ensuring(close)
      )
    })
  )

/** Sends an export as a file while it is read. If reading fails later, the connection is cut, so the browser reports a failed download. */
const download = (request: HttpServerRequest.HttpServerRequest, parts: Parts, name: string, contentType: string) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<CurrentActor>()
    return HttpServerResponse.stream(
      (yield* beginExport(request, parts)).pipe(
        Stream.map(({ bytes }) => bytes),
        // The library ends the response of a failed stream as if it were complete.
        Stream.onError(() => Effect.sync(() => toServerResponse(request).destroy())),
        Stream.provideContext(context)
      ),
      { contentType, headers: { ...pageHeaders, "content-disposition": `attachment; filename="${name}"` } }
    )
  })

const cannotPublish = refusedStore({
  title: "An export does not publish to this store",
  message: "{store} has a platform. Publish the changes to it instead."
})

const cannotCount = ({ reasons }: ValidationFailed) =>
  new PageRefused({
    status: 400,
    title: "Not accepted",
    message: "Not published: {problem}.",
    values: { problem: reasons },
    next: { path: paths.stores, name: "To the stores" }
  })

/** Downloads of the catalog as files. */
export const exportDownloads: Surface<ExportJobs | Exports | MerchantLists | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const exportJobs = yield* ExportJobs
    const exports = yield* Exports
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makePageHandlers
    const selectionIn = yield* makeSelectionIn

    const admit = makeAdmit()

    const storeOf = (parameters: Parameters, name = "id") =>
      Effect.flatMap(idOf(StoreId, parameters, name), stores.find)

    const downloadCsv = (request: HttpServerRequest.HttpServerRequest, { domain }: Store, parts: Parts) =>
      download(request, parts, `${domain}-products.csv`, "text/csv; charset=utf-8")

    const downloadJsonl = (request: HttpServerRequest.HttpServerRequest, parts: Parts, name: string) =>
      download(request, parts, name, "application/jsonl; charset=utf-8")

    return {
      selected: withForm((visitor, form, request) =>
        Effect.gen(function* () {
          const selection = yield* selectionIn(form)
          const { existing, isAll, kind, query } = selection
          const storeId = form.get(fields.store) ?? ""
          const chosen: ExportSelection = isAll ? { kind, filters: filtersOf(query) } : { kind, ids: existing }
          const show = (misfit?: Misfit) =>
            Effect.gen(function* () {
              const linked = yield* stores.list
              return html(
                visitor,
                <ExportPage
                  visitor={visitor}
                  action={paths.exportSelected}
                  title={title}
                  selection={selection}
                  change={{ key: "", storeId, typed: "", clears: false }}
                  stores={linked}
                  leftOut={yield* countLeftOut(exports, linked, chosen)}
                  misfit={misfit}
                />,
                { status: misfit === undefined ? 200 : 400 }
              )
            })
          if (form.get(fields.does) !== "download") return yield* show()
          const store = kind === "product" && storeId !== "" ? yield* storeOf(form, fields.store) : undefined
          // The export counts them again at its own moment. An error there would cut the download off.
          const count = yield* exports.count(chosen)
          if (count === 0) return yield* show({ field: fields.of, message: "The filters of the list find nothing." })
          if (store !== undefined && !(yield* exports.isAnyOn(store.id, chosen)))
            return yield* show({ field: fields.store, message: "None of these products is on this store." })
          yield* admit(request)
          return store === undefined
            ? yield* downloadJsonl(request, exports.selectedJsonl(chosen), `${kind}-selection.jsonl`)
            : yield* downloadCsv(request, store, exports.csv(store.id, false, chosen))
        })
      ),
      jsonl: asVisitor((_, request) =>
        Effect.zipRight(admit(request), downloadJsonl(request, exports.jsonl, "catalog.jsonl"))
      ),
      csv: asVisitor((_, request) =>
        Effect.flatMap(storeOf(queryOf(request)), (store) =>
          Effect.zipRight(admit(request), downloadCsv(request, store, exports.csv(store.id, false)))
        )
      ),
      csvAsPublish: withForm((_, form, request) =>
        Effect.gen(function* () {
          const store = yield* storeOf(form)
          if (store.platform !== filesOnly) return yield* cannotPublish(store)
          // An error of the export would cut the download off.
          yield* Effect.catchTag(exportJobs.check(store.id), "ValidationFailed", cannotCount)
          yield* admit(request)
          return yield* downloadCsv(
            request,
            store,
            // The last part is requested only after the connection has accepted all others.
            Stream.tap(exports.csv(store.id, true), ({ end }) =>
              end === null || end.exportId === null ? Effect.void : exportJobs.publish(store.id, end.exportId)
            )
          )
        })
      )
    }
  })
)
