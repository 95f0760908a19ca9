import { Effect } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityId } from "../../model/Ids.ts"
import type { Visitor } from "../Browser.ts"
import { lockedMessage } from "../entities/CellEdits.ts"
import { readRelated } from "../entities/EntityView.tsx"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { idOf, idsOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { collectionProductsOf, paths } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { placeIn } from "../products/ListOrder.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { CollectionProductsPage, maxFound, maxMembers, memberFields } from "./CollectionProductsPage.tsx"

const routes = {
  show: ["GET", paths.collectionProducts, refuseOnPage, "edit"],
  change: ["POST", paths.collectionProducts, refuseOnPage, "edit"]
} as const

const notes = {
  added: "The products are in the collection now, as a draft.",
  removed: "The products are not in the collection any more, as a draft."
} as const

/** Maximum length of the words that are looked for, in characters. */
const maxSearch = 200

/** The page that changes the products of a collection. */
export const collectionProducts: Surface<Catalog | Drafts | MerchantLists | Pictures | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const lists = yield* MerchantLists
    const pictures = yield* Pictures
    const { asVisitor, withForm } = yield* makePageHandlers

    const show = (
      visitor: Visitor,
      given: Parameters,
      { note, refusal, status = 200 }: { readonly note?: Saying; readonly refusal?: Saying; readonly status?: number }
    ) =>
      Effect.gen(function* () {
        const id = yield* idOf(EntityId, given)
        const record = yield* catalog.get("collection", id)
        const related = (cursor?: string) =>
          catalog.related(id, { limit: maxMembers, ...(cursor !== undefined && { cursor }) })
        const { next_cursor, products } = yield* related(given.get(memberFields.cursor)).pipe(
          // The cursor is not one of this list.
          Effect.catchTag("ValidationFailed", () => Effect.catchTag(related(), "ValidationFailed", Effect.die)),
          Effect.flatMap(({ text }) => Effect.orDie(readRelated(text)))
        )
        const search = (given.get(memberFields.search) ?? "").trim().slice(0, maxSearch)
        const found = yield* lists.page("product", {
          search,
          from: placeIn(given.get(memberFields.from) ?? "", "newest"),
          order: "newest",
          limit: maxFound
        })
        return html(
          visitor,
          <CollectionProductsPage
            visitor={visitor}
            record={record}
            members={yield* lists.rows(products.map((product) => product.id))}
            next={next_cursor ?? undefined}
            search={search}
            found={found}
            address={pictures.addressesFor(visitor.accountId)}
            note={note}
            refusal={refusal}
          />,
          { status }
        )
      })

    return {
      show: asVisitor((visitor, request) => {
        const query = queryOf(request)
        const note = noteOf(notes, query.get("note"))
        return show(visitor, query, note === undefined ? {} : { note })
      }),
      change: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, form)
          const chosen = yield* idsOf(EntityId, form, memberFields.product)
          if (chosen.length === 0)
            return yield* show(visitor, form, { refusal: "Select at least one product first.", status: 400 })
          const isRemoval = form.get(memberFields.does) === "remove"
          const search = form.get(memberFields.search) ?? ""
          const query = new URLSearchParams({
            ...(search !== "" && { [memberFields.search]: search }),
            note: isRemoval ? "removed" : "added"
          })
          return yield* drafts.changeMembers(id, isRemoval ? [] : chosen, isRemoval ? chosen : []).pipe(
            Effect.as(seeOther(`${collectionProductsOf(id)}&${query}`)),
            Effect.catchTag("PimLocked", () => show(visitor, form, { refusal: lockedMessage, status: 423 }))
          )
        })
      )
    }
  })
)
