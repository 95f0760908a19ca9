import { Effect, Either, Schema } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { NotFound, type RevisionConflict, type ValidationFailed } from "../../model/Errors.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { filesOnly } from "../../model/Store.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { type Words, wordsIn } from "../languages/Words.tsx"
import { decoded, idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { pictureName } from "./Gallery.tsx"
import { chosenPrefix, picturesIn, ReviewPage, type StorePreview } from "./ReviewPage.tsx"

const routes = {
  show: ["GET", paths.reviewEntity, refuseOnPage, "publish"],
  publish: ["POST", paths.reviewEntity, refuseOnPage, "publish"]
} as const

const RevisionForm = Schema.Struct({ draft_revision: Schema.NumberFromString.pipe(Schema.int()) })

const readId = Schema.decode(StoreId)

/** The stores whose checkboxes are ticked. A malformed id is NotFound. */
const chosenIn = (form: Parameters) =>
  Effect.forEach(
    form.names.filter((name) => name.startsWith(chosenPrefix)),
    (name) => Effect.mapError(readId(name.slice(chosenPrefix.length)), () => new NotFound())
  )

const wordsOf = (t: Words, error: RevisionConflict | ValidationFailed) =>
  error._tag === "RevisionConflict"
    ? t("the draft has changed since you opened this page. Check the changes below, then publish again")
    : error.reasons

/** The page that shows what publishing one entity changes, and the form that publishes it. */
export const publishReview: Surface<Catalog | MerchantLists | Publishing | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const lists = yield* MerchantLists
    const publishing = yield* Publishing
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makePageHandlers

    /** The names of the pictures that the previews name. */
    const namesOf = (t: Words, rows: ReadonlyArray<StorePreview>) => {
      const ids = rows.flatMap((row) => (row._tag === "Preview" ? picturesIn(row.preview) : []))
      return Effect.map(
        lists.rows([...new Set(ids)]),
        (found) => new Map(found.map((row) => [row.id, pictureName(t, row)]))
      )
    }

    const showReview = (
      visitor: Visitor,
      id: EntityId,
      refused?: { readonly status: 400 | 409; readonly message: string; readonly chosen: ReadonlyArray<StoreId> }
    ) =>
      Effect.gen(function* () {
        const t = wordsIn(visitor.pageLanguage)
        const kind = yield* catalog.kindOf(id)
        const record = yield* catalog.get(kind, id)
        const linked = yield* stores.list
        const on = linked.filter(
          (store) => store.platform !== filesOnly && record.stores.some(({ store_id }) => store_id === store.id)
        )
        const rows = yield* Effect.forEach(on, (store) =>
          publishing.preview(id, store.id).pipe(
            Effect.map((preview): StorePreview => ({ _tag: "Preview", store, preview })),
            Effect.catchTags({
              ValidationFailed: (error) =>
                Effect.succeed<StorePreview>({ _tag: "Refused", store, message: wordsOf(t, error) }),
              // A preview that is based on no revision has no conflict.
              RevisionConflict: Effect.die
            })
          )
        )
        const pictures = yield* namesOf(t, rows)
        return html(
          visitor,
          <ReviewPage
            visitor={visitor}
            id={id}
            kind={kind}
            title={record.title}
            draftRevision={record.draftRevision}
            rows={rows}
            pictures={pictures}
            refusal={refused?.message}
            chosen={refused?.chosen}
          />,
          { status: refused?.status ?? 200 }
        )
      })

    return {
      show: asVisitor((visitor, request) =>
        Effect.flatMap(idOf(EntityId, queryOf(request)), (id) => showReview(visitor, id))
      ),
      publish: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, form)
          const { draft_revision } = yield* decoded(RevisionForm, ["draft_revision"], form)
          const chosen = yield* chosenIn(form)
          if (chosen.length === 0) {
            const message = "Nothing was published: choose at least one store."
            return yield* showReview(visitor, id, { status: 400, message, chosen })
          }
          const t = wordsIn(visitor.pageLanguage)
          const linked = yield* stores.list
          const refusals: Array<{ readonly at: StoreId; readonly error: RevisionConflict | ValidationFailed }> = []
          for (const at of chosen) {
            const asked = yield* Effect.either(publishing.request(id, at, draft_revision))
            if (Either.isRight(asked)) continue
            const error = asked.left
            if (error._tag !== "RevisionConflict" && error._tag !== "ValidationFailed") return yield* error
            refusals.push({ at, error })
          }
          const [first] = refusals
          if (first === undefined)
            return seeOther(`${pageOf(paths.entity, id)}&${new URLSearchParams({ note: `chosen ${chosen.length}` })}`)
          return yield* showReview(visitor, id, {
            status: first.error._tag === "RevisionConflict" ? 409 : 400,
            chosen: refusals.map(({ at }) => at),
            message: refusals
              .map(({ at, error }) => {
                const name = linked.find((store) => store.id === at)?.name ?? t("the store")
                return t("Nothing was published to {store}: {problem}.", { store: name, problem: wordsOf(t, error) })
              })
              .join(" ")
          })
        })
      )
    }
  })
)
