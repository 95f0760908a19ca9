import { Effect, Either, Option, Schema } from "effect"
import type { BulkChange } from "../../bulk/BulkChange.ts"
import { BulkJobs } from "../../bulk/BulkJobs.ts"
import { type ChosenEntities, type FoundList, MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { combine, type Surface, surfaceOf } from "../../http/Surface.ts"
import type { Job } from "../../jobs/Job.ts"
import { Jobs } from "../../jobs/Jobs.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { NotFound, type PimLocked, type ValidationFailed } from "../../model/Errors.ts"
import { JobId, StoreId } from "../../model/Ids.ts"
import { isWritable } from "../../model/KeyRules.ts"
import { filesOnly } from "../../model/Store.ts"
import { PublishJobs } from "../../publishing/PublishJobs.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Stores } from "../../stores/Stores.ts"
import { newDropWith } from "../drops/DropForm.ts"
import { fromTyped } from "../entities/CellInput.ts"
import type { Misfit } from "../Field.tsx"
import { html, seeOther } from "../Html.ts"
import { filtersOf } from "../lists/ListFilters.tsx"
import { makePageHandlers, type PageServices } from "../PageHandlers.ts"
import { jobPath, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { allGone, fields, isGone, makeSelectionIn, maxSelected, type Selection, tooMany } from "./SelectionForm.ts"
import {
  ChoosePage,
  type MediaOffer,
  maxNamed,
  type ReviewWords,
  reviewWords,
  type SelectionContent,
  SelectionReviewPage,
  SetFieldPage,
  type TypedChange
} from "./SelectionPages.tsx"

const routes = {
  set: ["POST", paths.setSelected, refuseOnPage, "edit", "batch"],
  add: ["POST", paths.addSelected, refuseOnPage, "edit", "batch"],
  remove: ["POST", paths.removeSelected, refuseOnPage, "edit", "batch"],
  delete: ["POST", paths.deleteSelected, refuseOnPage, "edit", "batch"],
  publish: ["POST", paths.publishListed, refuseOnPage, "publish", "batch"],
  cancel: ["POST", paths.cancelListed, refuseOnPage, "publish", "batch"],
  schedule: ["POST", paths.scheduleSelected, refuseOnPage, "publish"]
} as const

const readJobId = Schema.decodeOption(JobId)
const readStoreId = Schema.decode(StoreId)

/** Browsers send a line break as CR LF. */
const changeIn = (form: Parameters): TypedChange => ({
  key: form.get(fields.key) ?? "",
  storeId: form.get(fields.store) ?? "",
  typed: (form.get(fields.value) ?? "").replaceAll("\r\n", "\n"),
  clears: form.get(fields.clears) === "yes"
})

const capitalize = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const places: Readonly<Record<string, string>> = { field: fields.key, value: fields.value }

/** The first problem, at its field. */
const misfitOf = ({ issues: [issue] }: ValidationFailed): Misfit => {
  const field = places[issue?.path ?? ""] ?? ""
  const message = issue?.message ?? "the change is not possible"
  // The message begins with the address of the store.
  if (issue?.path === "store_id") return { field: fields.store, message: `${message}.` }
  return { field, message: capitalize(field === "" ? message : `this ${issue?.path} ${message}`) }
}

type Refused = NotFound | PimLocked | ValidationFailed

/**
 * The data of a review page: the new value (null: none), the step before (null: none), the pictures that it offers to delete, and the job
 * that the review begins.
 */
interface Reviewed<R> {
  readonly value: string | null
  readonly back: string | null
  readonly media?: MediaOffer | undefined
  readonly words: ReviewWords
  readonly check: Effect.Effect<void, Refused, R>
  readonly begin: (chosen: ChosenEntities, id: JobId | undefined) => Effect.Effect<Job, Refused, R>
}

/** The entities that a review shows, and all that were ticked for the job, which reports those that are gone. */
const toFoundList = ({ existing, ids }: Selection): FoundList => ({
  count: existing.length,
  first: existing,
  chosen: { ids }
})

/** Makes the function that shows the review, and begins the job. */
const makeFinish = Effect.gen(function* () {
  const jobs = yield* Jobs
  const lists = yield* MerchantLists

  /** The page of the job that this form has begun already, if it is sent twice. */
  const begunBy = (id: Option.Option<JobId>) =>
    Effect.option(Effect.flatMap(id, jobs.get)).pipe(
      Effect.map(Option.map((begun) => Either.right(seeOther(jobPath(begun.id)))))
    )

  /** The page of the review or of the job, or the problem of the form. */
  const carryOut = <R,>(
    form: Parameters,
    content: SelectionContent,
    { back, begin, check, media, value, words }: Reviewed<R>
  ) =>
    Effect.gen(function* () {
      const { selection, visitor } = content
      const { isAll, kind, query } = selection
      const isBegin = form.get(fields.does) === "begin"
      const id = readJobId(form.get("id") ?? "")
      const begun = isBegin ? begunBy(id) : Effect.succeedNone
      const earlier = yield* begun
      if (Option.isSome(earlier)) return earlier.value
      if (isGone(selection)) return yield* allGone(selection)
      const checked = yield* Effect.either(check)
      if (Either.isLeft(checked))
        return checked.left._tag === "ValidationFailed" ? Either.left(misfitOf(checked.left)) : yield* checked.left
      const { chosen, count, first } = isAll ? yield* lists.found([kind], filtersOf(query)) : toFoundList(selection)
      // What is deleted after the review does not stop the others: the job reports it.
      const isSeen = !isAll || form.get(fields.seen) === String(count)
      // While this request counted, the same form may have begun the job and changed what the filters find.
      const meanwhile = isSeen ? Option.none() : yield* begun
      if (Option.isSome(meanwhile)) return meanwhile.value
      if (count === 0) return Either.left({ field: fields.of, message: "The filters of the list find nothing." })
      if (isBegin && isSeen) {
        const job = yield* Effect.either(begin(chosen, Option.getOrUndefined(id)))
        if (Either.isRight(job)) return Either.right(seeOther(jobPath(job.right.id)))
        return job.left._tag === "ValidationFailed" ? Either.left(misfitOf(job.left)) : yield* job.left
      }
      const page = (
        <SelectionReviewPage
          {...content}
          count={count}
          rows={yield* lists.rows(first.slice(0, maxNamed))}
          value={value}
          // The id stays, because the same form may still wait to begin the job: then the new review leads to that job.
          jobId={yield* isBegin && Option.isSome(id) ? Effect.succeed(id.value) : mintId(JobId)}
          back={back}
          media={media}
          words={words}
          isOutdated={isBegin}
        />
      )
      return Either.right(html(visitor, page, { status: isBegin ? 409 : 200 }))
    })

  return carryOut
})

/** Shows the first step of a form, with its problem if it has one. */
const showChoice = (content: SelectionContent, asksStore: boolean) => (misfit?: Misfit) =>
  html(content.visitor, <ChoosePage {...content} asksStore={asksStore} misfit={misfit} />, {
    status: misfit === undefined ? 200 : 400
  })

const storeIn = (id: string) => Effect.mapError(readStoreId(id), () => new NotFound())

/** Makes a change of drafts, as a job. */
const makeBulkOf = Effect.map(BulkJobs, (bulk) => ({ kind }: Selection, change: BulkChange) => ({
  check: bulk.check(kind, change),
  begin: (chosen: ChosenEntities, id: JobId | undefined) => bulk.begin({ kind, ...chosen }, change, id)
}))

/** Makes the forms that add the selected entities to a store, or take them off it: the store, then the review. */
const makeMove = Effect.gen(function* () {
  const finish = yield* makeFinish
  const { withForm } = yield* makePageHandlers
  const bulkOf = yield* makeBulkOf
  const selectionIn = yield* makeSelectionIn
  const stores = yield* Stores

  return (
    _tag: "AddToStore" | "RemoveFromStore",
    { action, title, words }: Pick<SelectionContent, "action" | "title"> & { readonly words: ReviewWords }
  ) =>
    withForm((visitor, form) =>
      Effect.gen(function* () {
        const selection = yield* selectionIn(form)
        const change = { ...changeIn(form), key: "" }
        const content: SelectionContent = { visitor, action, title, selection, change, stores: yield* stores.list }
        const does = form.get(fields.does)
        const show = showChoice(content, true)
        if (does === undefined || does === "choose") return show()
        if (change.storeId === "") return show({ field: fields.store, message: "Choose a store first." })
        const storeId = yield* storeIn(change.storeId)
        const done = yield* finish(form, content, {
          ...bulkOf(selection, { _tag, storeId }),
          value: null,
          back: "choose",
          words
        })
        return Either.getOrElse(done, show)
      })
    )
})

/** Makes the forms that publish the selected entities to a store, or cancel their publishes: the store, then the review. */
const makeOnStore = Effect.gen(function* () {
  const finish = yield* makeFinish
  const { withForm } = yield* makePageHandlers
  const publishJobs = yield* PublishJobs
  const selectionIn = yield* makeSelectionIn
  const stores = yield* Stores

  return ({
    action,
    begin,
    title,
    words
  }: Pick<SelectionContent, "action" | "title"> & {
    readonly words: ReviewWords
    readonly begin: (
      selection: Selection,
      store: StoreId,
      chosen: ChosenEntities,
      id: JobId | undefined
    ) => Effect.Effect<Job, Refused, CurrentActor>
  }) =>
    withForm((visitor, form) =>
      Effect.gen(function* () {
        const selection = yield* selectionIn(form)
        const storeId = form.get(fields.store) ?? form.get(fields.publishTo) ?? ""
        const content: SelectionContent = {
          visitor,
          action,
          title,
          selection,
          change: { ...changeIn(form), key: "", storeId },
          stores: (yield* stores.list).filter(({ platform }) => platform !== filesOnly)
        }
        const show = showChoice(content, true)
        if (form.get(fields.does) === "choose") return show()
        if (storeId === "") return show({ field: fields.store, message: "Choose a store first." })
        const store = yield* storeIn(storeId)
        const done = yield* finish(form, content, {
          check: publishJobs.check(store),
          begin: (chosen, id) => begin(selection, store, chosen, id),
          value: null,
          back: "choose",
          words
        })
        return Either.getOrElse(done, show)
      })
    )
})

const addresses = [...Object.values(routes).map(([, path]) => path), paths.exportSelected]

/** Forms send the actions on a selection by POST. A GET of such an address redirects to the list of products: sign-in leads back to it. */
const opened: Surface<PageServices> = surfaceOf(
  Object.fromEntries(addresses.map((path) => [path, ["GET", path, refuseOnPage, "view"] as const])),
  Effect.map(makePageHandlers, ({ asVisitor }) =>
    Object.fromEntries(addresses.map((path) => [path, asVisitor(() => Effect.succeed(seeOther(paths.products)))]))
  )
)

const actions: Surface<BulkJobs | Drafts | Jobs | MerchantLists | PublishJobs | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const bulk = yield* BulkJobs
    const drafts = yield* Drafts
    const lists = yield* MerchantLists
    const publishJobs = yield* PublishJobs
    const stores = yield* Stores
    const finish = yield* makeFinish
    const onStore = yield* makeOnStore
    const { withForm } = yield* makePageHandlers

    const bulkOf = yield* makeBulkOf
    const selectionIn = yield* makeSelectionIn
    const move = yield* makeMove

    return {
      set: withForm((visitor, form) =>
        Effect.gen(function* () {
          const selection = yield* selectionIn(form)
          const change = changeIn(form)
          const rules = yield* bulk.rules
          const content: SelectionContent = {
            visitor,
            action: paths.setSelected,
            title: "Set a field",
            selection,
            change,
            stores: yield* stores.list
          }
          const found = isWritable(selection.kind, change.key) ? rules.find(selection.kind, change.key) : undefined
          const does = form.get(fields.does)
          const show = (rule: typeof found, misfit?: Misfit) =>
            html(visitor, <SetFieldPage {...content} rules={rules} rule={rule} misfit={misfit} />, {
              status: misfit === undefined ? 200 : 400
            })
          if (does === undefined || does === "choose") return show(undefined)
          if (found === undefined) return show(undefined, { field: fields.key, message: "Choose a field first." })
          if (does === "value") {
            const isThere = change.storeId === "" || content.stores.some(({ id }) => id === change.storeId)
            return isThere ? show(found) : yield* new NotFound()
          }
          const storeId = change.storeId === "" ? null : yield* storeIn(change.storeId)
          const { key } = change
          const value = fromTyped({ key, type: found.type }, change.typed)
          const clears = change.clears && storeId !== null
          const done = yield* finish(form, content, {
            ...bulkOf(selection, { _tag: "SetField", storeId, key, value: clears ? null : value }),
            value,
            back: "value",
            words: reviewWords.set
          })
          return Either.getOrElse(done, (misfit) => show(misfit.field === fields.key ? undefined : found, misfit))
        })
      ),
      add: move("AddToStore", { action: paths.addSelected, title: "Add to a store", words: reviewWords.add }),
      remove: move("RemoveFromStore", {
        action: paths.removeSelected,
        title: "Take off a store",
        words: reviewWords.remove
      }),
      delete: withForm((visitor, form) =>
        Effect.gen(function* () {
          const selection = yield* selectionIn(form)
          const content: SelectionContent = {
            visitor,
            action: paths.deleteSelected,
            title: "Delete",
            selection,
            change: { key: "", storeId: "", typed: "", clears: false },
            stores: []
          }
          const does = form.get(fields.does)
          const show = showChoice(content, false)
          if (!selection.isOne && (does === undefined || does === "choose")) return show()
          const withMedia = form.get(fields.withMedia) === "yes"
          const count = selection.isAll ? null : yield* drafts.countOwnMedia(selection.existing)
          const done = yield* finish(form, content, {
            ...bulkOf(selection, { _tag: "Delete", withMedia }),
            media: selection.kind === "media" || count === 0 ? undefined : { count, isChosen: withMedia },
            value: null,
            back: selection.isOne ? null : "choose",
            words: reviewWords.delete
          })
          return Either.getOrElse(done, show)
        })
      ),
      publish: onStore({
        action: paths.publishListed,
        title: "Publish",
        words: reviewWords.publish,
        begin: ({ kind }, store, chosen, id) => publishJobs.chosen(store, [kind], chosen, id)
      }),
      cancel: onStore({
        action: paths.cancelListed,
        title: "Cancel publishes",
        words: reviewWords.cancel,
        begin: ({ kind }, store, chosen, id) => publishJobs.cancelChosen(store, [kind], chosen, id)
      }),
      schedule: withForm((_, form) =>
        Effect.gen(function* () {
          const selection = yield* selectionIn(form)
          const { isAll, kind, query } = selection
          const ids = isAll ? yield* lists.ids(kind, filtersOf(query), maxSelected) : selection.ids
          return ids.length > maxSelected ? yield* tooMany(selection) : seeOther(newDropWith(ids))
        })
      )
    }
  })
)

/** Actions on the selected entities of a list. */
export const selections = combine(actions, opened)
