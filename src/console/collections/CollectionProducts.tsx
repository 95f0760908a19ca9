import { Effect, Either } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityId } from "../../model/Ids.ts"
import { filesOnly } from "../../model/Store.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { lockedMessage, sentencesOf } from "../entities/CellEdits.ts"
import { afterMove, type Moved, movedIn, readMove, targetOf } from "../entities/Moves.tsx"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { idOf, idsOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { collectionProductsOf, paths } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { placeIn } from "../products/ListOrder.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { CollectionProductsPage, maxFound, maxMembers, memberFields, type Typed } from "./CollectionProductsPage.tsx"

const routes = {
  show: ["GET", paths.collectionProducts, refuseOnPage, "edit"],
  change: ["POST", paths.collectionProducts, refuseOnPage, "edit"],
  move: ["POST", paths.moveProduct, refuseOnPage, "edit", "batch"]
} as const

const notes = {
  added: "The products were added to the draft of the collection. Publish the collection to change it on its stores.",
  removed:
    "The products were taken out of the draft of the collection. Publish the collection to change it on its stores."
} as const

interface Shown {
  readonly note?: Saying | undefined
  readonly refusal?: Saying
  readonly status?: number
  readonly moved?: Moved | undefined
  readonly typed?: Typed | undefined
}

/** A field of a form for the address that the form leads to. */
const kept = (form: Parameters, name: string): Readonly<Record<string, string>> => {
  const value = form.get(name) ?? ""
  return value === "" ? {} : { [name]: value }
}

/** Maximum length of the words that are looked for, in characters. */
const maxSearch = 200

/** The page that changes the products of a collection. */
export const collectionProducts: Surface<Catalog | Drafts | MerchantLists | Pictures | Stores | PageServices> =
  surfaceOf(
    routes,
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const drafts = yield* Drafts
      const lists = yield* MerchantLists
      const pictures = yield* Pictures
      const stores = yield* Stores
      const { asVisitor, withForm } = yield* makePageHandlers

      /** The names of the stores that sort a collection by themselves. Stores with a platform do so unless its order is manual. */
      const sortingOf = (id: EntityId) =>
        Effect.gen(function* () {
          const versions = yield* catalog.versions("collection", id)
          const linked = (yield* stores.list).filter(({ platform }) => platform !== filesOnly)
          return versions
            .filter(
              ({ attributes }) => !attributes.some(({ key, value }) => key === "sort_order" && value === "manual")
            )
            .flatMap((on) => linked.find((store) => store.id === on.store_id)?.name ?? [])
        })

      const show = (visitor: Visitor, given: Parameters, { moved, note, refusal, status = 200, typed }: Shown) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, given)
          const record = yield* catalog.get("collection", id)
          const cursor = given.get(memberFields.cursor)
          const { members, next } = yield* catalog.members(id, {
            limit: maxMembers,
            ...(cursor !== undefined && { cursor })
          })
          const positions = new Map(members.map((member) => [member.id, member.position]))
          const [movedRow] = moved === undefined ? [] : yield* lists.rows([moved.id])
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
              members={(yield* lists.rows([...positions.keys()])).map((row) => ({
                row,
                position: positions.get(row.id) ?? 0
              }))}
              cursor={cursor}
              next={next}
              search={search}
              found={found}
              sorting={yield* sortingOf(id)}
              address={pictures.addressesFor(visitor.accountId)}
              note={note}
              refusal={refusal}
              moved={moved === undefined || movedRow === undefined ? undefined : { of: moved, title: movedRow.title }}
              typed={typed}
            />,
            { status }
          )
        })

      return {
        show: asVisitor((visitor, request) => {
          const query = queryOf(request)
          const name = query.get("note")
          return show(visitor, query, { note: noteOf(notes, name), moved: movedIn(name) })
        }),
        change: withForm((visitor, form) =>
          Effect.gen(function* () {
            const id = yield* idOf(EntityId, form)
            const chosen = yield* idsOf(EntityId, form, memberFields.product)
            if (chosen.length === 0)
              return yield* show(visitor, form, { refusal: "Select at least one product first.", status: 400 })
            const isRemoval = form.get(memberFields.does) === "remove"
            const query = new URLSearchParams({
              ...kept(form, memberFields.search),
              note: isRemoval ? "removed" : "added"
            })
            return yield* drafts.changeMembers(id, isRemoval ? [] : chosen, isRemoval ? chosen : []).pipe(
              Effect.as(seeOther(`${collectionProductsOf(id)}&${query}`)),
              Effect.catchTag("PimLocked", () => show(visitor, form, { refusal: lockedMessage, status: 423 }))
            )
          })
        ),
        move: withForm((visitor, form) =>
          Effect.gen(function* () {
            const id = yield* idOf(EntityId, form)
            const move = yield* readMove(form)
            const written = yield* Effect.either(drafts.moveMember(id, move.id, targetOf(move)))
            if (Either.isRight(written)) {
              const { control, note } = afterMove(move, written.right)
              const query = new URLSearchParams({
                id,
                ...kept(form, memberFields.search),
                ...kept(form, memberFields.cursor),
                ...(note !== undefined && { note })
              })
              return seeOther(`${paths.collectionProducts}?${query}#${control}`)
            }
            const error = written.left
            if (error._tag === "NotFound") return yield* error
            const typed = { id: move.id, position: move.typed }
            if (error._tag === "PimLocked")
              return yield* show(visitor, form, {
                refusal: lockedMessage,
                status: 423,
                typed: move.by === "to" ? { ...typed, misfit: undefined } : undefined
              })
            const misfit = sentencesOf("the position", error)
            return yield* show(
              visitor,
              form,
              move.by === "to" ? { status: 400, typed: { ...typed, misfit } } : { status: 400, refusal: misfit }
            )
          })
        )
      }
    })
  )
