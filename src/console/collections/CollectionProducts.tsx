import { Effect, Either, Option } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { EntityId } from "../../model/Ids.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { PlatformRegistry } from "../../platform/PlatformRegistry.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { lockedMessage, sentencesOf } from "../entities/CellEdits.ts"
import { afterMove, type Moved, movedIn, readMove, targetOf } from "../entities/Moves.tsx"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { placeIn } from "../lists/ListOrder.ts"
import { idOf, idsOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { refuseOnPage } from "../Refusals.tsx"
import {
  addressOf,
  CollectionProductsPage,
  maxFound,
  maxMembers,
  memberFields,
  parametersOfTicked,
  type Shown,
  type Typed
} from "./CollectionProductsPage.tsx"

const routes = {
  show: ["GET", paths.collectionProducts, refuseOnPage, "edit"],
  change: ["POST", paths.collectionProducts, refuseOnPage, "edit"],
  move: ["POST", paths.moveProduct, refuseOnPage, "edit", "batch"]
} as const

const notes = {
  added: "The products were added to the draft of the collection. Publish the collection to change it on its stores.",
  addedOthers:
    "Some of the products were deleted meanwhile. The others were added to the draft of the collection. Publish the collection to change it on its stores.",
  removed:
    "The products were taken out of the draft of the collection. Publish the collection to change it on its stores."
} as const

interface Said {
  readonly note?: Saying | undefined
  readonly refusal?: Saying
  readonly status?: number
  readonly moved?: Moved | undefined
  readonly typed?: Typed | undefined
}

/** Maximum length of the words that are looked for, in characters. */
const maxSearch = 200

const shownIn = (parameters: Parameters): Shown => ({
  search: (parameters.get("search") ?? "").trim().slice(0, maxSearch),
  from: parameters.get("from") ?? "",
  cursor: parameters.get("cursor") ?? ""
})

/** The products whose checkboxes are ticked. */
const tickedIn = (parameters: Parameters) =>
  Effect.map(idsOf(EntityId, parameters, memberFields.product), (ids): ReadonlySet<EntityId> => new Set(ids))

/** Finds the names of the stores that sort a collection by themselves. */
const makeSortingOf = Effect.gen(function* () {
  const catalog = yield* Catalog
  const platforms = yield* PlatformRegistry
  const stores = yield* Stores

  /** Whether a store sorts a collection that has this order there. */
  const sortsItself = ({ platform }: Store, order: string) =>
    order === ""
      ? Option.exists(platforms.find(platform), ({ sortsByDefault }) => sortsByDefault)
      : platform !== filesOnly && order !== "manual"

  return (id: EntityId) =>
    Effect.gen(function* () {
      const versions = yield* catalog.versions("collection", id)
      const linked = yield* stores.list
      return versions.flatMap(({ attributes, store_id }) => {
        const order = attributes.find(({ key }) => key === "sort_order")?.value ?? ""
        const store = linked.find((each) => each.id === store_id)
        return store === undefined || !sortsItself(store, order) ? [] : [store.name]
      })
    })
})

/** Number of pages of a search that are read at once until one has a product that can be added. */
const maxPages = 5

/** Finds a page of products that are not in the collection. */
const makeFindOthers = Effect.gen(function* () {
  const catalog = yield* Catalog
  const lists = yield* MerchantLists

  return (id: EntityId, { from, search }: Shown) =>
    Effect.gen(function* () {
      let place = placeIn(from, "newest")
      for (let page = 1; ; page++) {
        const found = yield* lists.page("product", { search, from: place, order: "newest", limit: maxFound })
        const members = yield* catalog.membersAmong(
          id,
          found.rows.map((row) => row.id)
        )
        const rows = found.rows.filter((row) => !members.has(row.id))
        if (rows.length > 0 || found.next === undefined || page === maxPages) return { ...found, rows }
        place = found.next
      }
    })
})

/** Adds those of the products that exist to a collection, and returns their number. */
const makeAddExisting = (lists: MerchantLists["Type"], drafts: Drafts["Type"]) => {
  const productsAmong = (ids: ReadonlyArray<EntityId>) =>
    Effect.map(lists.rows(ids), (rows) => rows.filter(({ kind }) => kind === "product").map((row) => row.id))

  const add = (
    collectionId: EntityId,
    ids: ReadonlyArray<EntityId>
  ): Effect.Effect<number, Effect.Effect.Error<ReturnType<typeof drafts.changeMembers>>, CurrentActor> =>
    Effect.gen(function* () {
      const found = yield* productsAmong(ids)
      if (found.length === 0) return 0
      return yield* drafts.changeMembers(collectionId, found, []).pipe(
        Effect.as(found.length),
        // If no product was deleted since the look-up, it is the collection that is missing.
        Effect.catchTag("NotFound", (missing) =>
          Effect.flatMap(productsAmong(found), (left) =>
            left.length < found.length ? add(collectionId, left) : missing
          )
        )
      )
    })
  return add
}

/** The page that changes the products of a collection. */
export const collectionProducts: Surface<
  Catalog | Drafts | MerchantLists | Pictures | PlatformRegistry | Stores | PageServices
> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const lists = yield* MerchantLists
    const pictures = yield* Pictures
    const { asVisitor, withForm } = yield* makePageHandlers

    const findOthers = yield* makeFindOthers
    const sortingOf = yield* makeSortingOf

    const show = (visitor: Visitor, parameters: Parameters, { moved, note, refusal, status = 200, typed }: Said) =>
      Effect.gen(function* () {
        const id = yield* idOf(EntityId, parameters)
        const record = yield* catalog.get("collection", id)
        const ticked = yield* tickedIn(parameters)
        const shown = shownIn(parameters)
        const pageAt = (cursor: string) => catalog.members(id, { limit: maxMembers, cursor })
        const requestedPage = yield* pageAt(shown.cursor)
        // All products of the last page may have been taken out.
        const { members, next } = requestedPage.members.length === 0 ? yield* pageAt("") : requestedPage
        const positions = new Map(members.map((member) => [member.id, member.position]))
        const [movedRow] = moved === undefined ? [] : yield* lists.rows([moved.id])
        return html(
          visitor,
          <CollectionProductsPage
            visitor={visitor}
            record={record}
            members={(yield* lists.rows([...positions.keys()])).map((row) => ({
              row,
              position: positions.get(row.id) ?? 0
            }))}
            next={next}
            shown={shown}
            found={yield* findOthers(id, shown)}
            ticked={ticked}
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

    const addExisting = makeAddExisting(lists, drafts)

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
          // A deleted product has left the collection already, so only an addition can miss it.
          const change = isRemoval
            ? Effect.as(drafts.changeMembers(id, [], chosen), chosen.length)
            : addExisting(id, chosen)
          return yield* Effect.flatMap(change, (changed) => {
            if (changed === 0)
              return show(visitor, form, {
                refusal: "Everything that you selected was deleted meanwhile.",
                status: 404
              })
            const note = isRemoval ? "removed" : changed < chosen.length ? "addedOthers" : "added"
            return Effect.succeed(seeOther(addressOf(id, shownIn(form), [["note", note]])))
          }).pipe(Effect.catchTag("PimLocked", () => show(visitor, form, { refusal: lockedMessage, status: 423 })))
        })
      ),
      move: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, form)
          const move = yield* readMove(form)
          const ticked = parametersOfTicked(yield* tickedIn(form))
          const written = yield* Effect.either(drafts.moveMember(id, move.id, targetOf(move)))
          if (Either.isRight(written)) {
            const { control, note } = afterMove(move, written.right)
            const said = note === undefined ? [] : [["note", note] as const]
            return seeOther(`${addressOf(id, shownIn(form), [...ticked, ...said])}#${control}`)
          }
          const error = written.left
          if (error._tag === "NotFound")
            return yield* show(visitor, form, {
              refusal: "The product is not in the collection any more.",
              status: 404
            })
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
