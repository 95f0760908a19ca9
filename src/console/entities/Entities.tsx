import { Effect, Either, Schema } from "effect"
import { errorCodes } from "../../api/ErrorCodes.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { type EntityRecord, EntityRow } from "../../catalog/Entity.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { RevisionConflict, ValidationFailed } from "../../model/Errors.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { decoded, idOf, makeVisits, queryOf, type Visits } from "../Visits.ts"
import { againField, EntityPage, type PublishResult } from "./EntityPage.tsx"

const routes = {
  show: ["GET", paths.entity, refuseOnPage],
  publish: ["POST", paths.publishEntity, refuseOnPage]
} as const

/** Maximum number of related entities on an entity's page. */
const maxRelated = 100
/** Number of history entries at first, and after the link to a longer history. */
const firstEntries = 50
const maxEntries = 250

const rows = Schema.Array(EntityRow)
const next_cursor = Schema.NullOr(Schema.String)
const readRelated = Schema.decode(
  Schema.parseJson(Schema.Struct({ variants: rows, media: rows, collections: rows, products: rows, next_cursor }))
)

/** Results of a publish request, by the value of the query parameter `note`. `store_id` names the store. */
const notes: Readonly<Record<string, "Requested" | "Nothing">> = { requested: "Requested", nothing: "Nothing" }

const resultOf = (query: Parameters, stores: EntityRecord["stores"]): PublishResult | undefined => {
  const name = query.get("note") ?? ""
  const _tag = Object.hasOwn(notes, name) ? notes[name] : undefined
  const on = stores.find(({ store_id }) => store_id === query.get("store_id"))
  return _tag === undefined || on === undefined ? undefined : { _tag, domain: on.store_domain }
}

const PublishForm = Schema.Struct({ draft_revision: Schema.NumberFromString.pipe(Schema.int()) })

/** The page of one entity, with a form that publishes it. */
export const entities: Surface<Catalog | Drafts | Publishing | Stores | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const publishing = yield* Publishing
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makeVisits

    const showEntity = (
      visitor: Visitor,
      id: EntityId,
      {
        limit = firstEntries,
        resultOn,
        status = 200
      }: {
        readonly limit?: number
        readonly status?: number
        readonly resultOn: (stores: EntityRecord["stores"]) => PublishResult | undefined
      }
    ) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(id)
        const content = yield* Effect.all({
          record: catalog.get(kind, id),
          versions: catalog.versions(kind, id),
          history: drafts.history(id, limit),
          linked: stores.list,
          // ValidationFailed can only concern a cursor, and none is given.
          related: catalog.related(id, { limit: maxRelated }).pipe(
            Effect.catchTag("ValidationFailed", Effect.die),
            Effect.flatMap(({ text }) => Effect.orDie(readRelated(text)))
          )
        })
        return html(
          <EntityPage
            visitor={visitor}
            kind={kind}
            canShowMore={content.history.length === limit && limit < maxEntries}
            result={resultOn(content.record.stores)}
            {...content}
          />,
          { status }
        )
      })

    /** Shows the current page with the reason why the publish was refused. */
    const showRefusal = (
      visitor: Visitor,
      id: EntityId,
      storeId: StoreId,
      error: RevisionConflict | ValidationFailed
    ) =>
      showEntity(visitor, id, {
        status: errorCodes[error._tag].status,
        resultOn: (on) => {
          const domain = on.find(({ store_id }) => store_id === storeId)?.store_domain ?? "the store"
          const message =
            error._tag === "RevisionConflict"
              ? `Nothing was published to ${domain}: the draft has changed since you opened this page. Check the current draft, then publish again.`
              : `Nothing was published to ${domain}: ${error.issues.map(({ message }) => message).join("; ")}.`
          return { _tag: "Refused", message }
        }
      })

    return {
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const id = yield* idOf(EntityId, query)
          const limit = query.get("history") === "all" ? maxEntries : firstEntries
          return yield* showEntity(visitor, id, { limit, resultOn: (on) => resultOf(query, on) })
        })
      ),
      publish: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, form)
          const storeId = yield* idOf(StoreId, form, "store_id")
          const { draft_revision } = yield* decoded(PublishForm, ["draft_revision"], form)
          const asked = yield* Effect.either(
            publishing.request(id, storeId, draft_revision, form.get(againField) === "yes")
          )
          if (Either.isLeft(asked)) {
            const refusal = asked.left
            return refusal._tag === "RevisionConflict" || refusal._tag === "ValidationFailed"
              ? yield* showRefusal(visitor, id, storeId, refusal)
              : yield* refusal
          }
          const note = asked.right.outcome === "nothing_to_publish" ? "nothing" : "requested"
          return seeOther(`${pageOf(paths.entity, id)}&${new URLSearchParams({ note, store_id: storeId })}`)
        })
      )
    }
  })
)
