import { Effect, Either, Schema } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import type { EntityRecord } from "../../catalog/Entity.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { Drafts } from "../../drafts/Drafts.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityId, StoreId } from "../../model/Ids.ts"
import { includesRole } from "../../model/Role.ts"
import { Publishing } from "../../publishing/Publishing.ts"
import type { Stores } from "../../stores/Stores.ts"
import { seeOther } from "../Html.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { decoded, idOf, makeVisits, queryOf, type Visits } from "../Visits.ts"
import { makeEditCell } from "./CellEdits.ts"
import { againField, type PublishResult } from "./EntityPage.tsx"
import { firstEntries, makeShowEntity, maxEntries } from "./EntityView.tsx"
import { cellPath, editPath, storeIdIn, viewOf } from "./GridAddress.ts"
import { nextCell, savedPath } from "./ValueGrid.tsx"

const routes = {
  show: ["GET", paths.entity, refuseOnPage, "view"],
  edit: ["POST", paths.editEntity, refuseOnPage, "edit"],
  publish: ["POST", paths.publishEntity, refuseOnPage, "publish"]
} as const

/** Results of a publish request, by the value of the query parameter `note`. `store_id` names the store. */
const notes: Readonly<Record<string, "Requested" | "Nothing">> = { requested: "Requested", nothing: "Nothing" }

/** Results of a cell's form, by the first word of `note`. The second is the store, the rest the key. */
const cellNotes: Readonly<Record<string, string>> = {
  saved: "saved as a draft.",
  cleared: "has the catalog's value again.",
  copied: "saved as a draft, and copied to the chosen stores."
}

const resultOf = (query: Parameters, stores: EntityRecord["stores"]): PublishResult | undefined => {
  const name = query.get("note") ?? ""
  const [, does = "", at = "", key = ""] = /^(\w+) (\S+) (.+)$/s.exec(name) ?? []
  if (Object.hasOwn(cellNotes, does)) {
    const storeId = stores.find(({ store_id }) => store_id === at)?.store_id ?? null
    return { _tag: "Saved", does: cellNotes[does] ?? "", place: { key, storeId } }
  }
  const [, count] = /^chosen (\d{1,3})$/.exec(name) ?? []
  if (count !== undefined) return { _tag: "Chosen", count: Number(count) }
  const _tag = Object.hasOwn(notes, name) ? notes[name] : undefined
  const on = stores.find(({ store_id }) => store_id === query.get("store_id"))
  return _tag === undefined || on === undefined ? undefined : { _tag, domain: on.store_domain }
}

const PublishForm = Schema.Struct({ draft_revision: Schema.NumberFromString.pipe(Schema.int()) })

/** The page of one entity, with a form that publishes it. */
export const entities: Surface<Catalog | Drafts | Publishing | Stores | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const publishing = yield* Publishing
    const { showEntity, showRefusal } = yield* makeShowEntity
    const editCell = yield* makeEditCell
    const { asWatcher, withForm, withKeptForm } = yield* makeVisits

    return {
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const id = yield* idOf(EntityId, query)
          const limit = query.get("history") === "all" ? maxEntries : firstEntries
          const key = query.get("edit")
          return yield* showEntity(visitor, id, {
            limit,
            view: viewOf(id, query),
            editing:
              key === undefined || !includesRole(visitor.role, "edit")
                ? undefined
                : { key, storeId: storeIdIn(query, "store") ?? null },
            field: query.get("field"),
            resultOn: (on) => resultOf(query, on)
          })
        })
      ),
      edit: withKeptForm((visitor, form) =>
        Effect.gen(function* () {
          const outcome = yield* editCell(form)
          const { place, view } = outcome.edit
          if (outcome._tag === "Refused") {
            const { editing, status } = outcome
            return yield* showEntity(visitor, view.id, { view, editing, status })
          }
          const next = outcome.edit.action === "next" ? nextCell(outcome.sheet, view, place) : undefined
          if (next !== undefined) return seeOther(editPath(view, next))
          return seeOther(
            outcome._tag === "Same" ? cellPath(view, place) : savedPath(view, place, outcome._tag.toLowerCase())
          )
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
