import { Clock, Effect, Option, Schema } from "effect"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { SavedViews } from "../../catalog/SavedViews.ts"
import { type Parameters, parametersOf } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { NotFound } from "../../model/Errors.ts"
import { EntityId, inAnyCase } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused, type Visitor } from "../Browser.ts"
import { listPages } from "../entities/ListPages.ts"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { EntityListPage } from "./EntityListPage.tsx"
import { filtersOf, type ListQuery, listQueryOf } from "./ListFilters.tsx"
import { orderOf, placeIn } from "./ListOrder.ts"
import { type RefusedView, viewQueryOf } from "./ViewBar.tsx"

const routes = {
  products: ["GET", paths.products, refuseOnPage, "view"],
  variants: ["GET", paths.variants, refuseOnPage, "view"],
  collections: ["GET", paths.collections, refuseOnPage, "view"],
  media: ["GET", paths.media, refuseOnPage, "view"],
  saveView: ["POST", paths.saveView, refuseOnPage, "view"],
  deleteView: ["POST", paths.deleteView, refuseOnPage, "view"]
} as const

/** Maximum number of rows on a page. */
const pageSize = 50
/** Maximum number of variants that a row shows. */
const maxNested = 10
/** Maximum length of a filter's text, in characters. */
const maxText = 200

const notes = { "view-saved": "The view is saved.", "view-deleted": "The view is deleted." } as const

const decodeList = (list: string | undefined) =>
  Effect.mapError(Schema.decodeUnknown(EntityKind)(list), () => new NotFound())

const readId = Schema.decodeOption(inAnyCase(EntityId))

const tooLong = (kind: EntityKind) => {
  const { backTo, path } = listPages[kind]
  return new PageRefused({
    status: 400,
    title: "Not understood",
    message: "A search or filter has at most {count, number} characters.",
    values: { count: maxText },
    next: { path, name: backTo }
  })
}

/** The lists of products, variants, collections and media. */
export const entityLists: Surface<MerchantLists | Pictures | SavedViews | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const lists = yield* MerchantLists
    const pictures = yield* Pictures
    const stores = yield* Stores
    const views = yield* SavedViews
    const { asWatcher, withForm } = yield* makePageHandlers

    const viewsOf = ({ accountId, userId }: Visitor, kind: EntityKind) => ({ accountId, userId, list: kind })

    /** Reads a page of a list. Fails if a search or filter is too long or malformed. */
    const readPage = (kind: EntityKind, query: ListQuery) =>
      Effect.gen(function* () {
        const { from, walk, ...typed } = query
        if (Object.values(typed).some((text) => Array.from(text).length > maxText)) return yield* tooLong(kind)
        const order = orderOf(query.order)
        return yield* lists.page(kind, { ...filtersOf(query), from: placeIn(from, order), order, limit: pageSize })
      })

    const show = (
      visitor: Visitor,
      kind: EntityKind,
      query: ListQuery,
      result: { readonly note?: Saying | undefined; readonly refused?: RefusedView } = {}
    ) =>
      Effect.gen(function* () {
        const page = yield* readPage(kind, query)
        return html(
          visitor,
          <EntityListPage
            visitor={visitor}
            kind={kind}
            query={query}
            page={page}
            variants={kind === "product" ? yield* lists.variantsOf(page.rows, maxNested) : {}}
            stores={yield* stores.list}
            address={pictures.addressesFor(visitor.accountId)}
            now={yield* Clock.currentTimeMillis}
            views={yield* views.list(viewsOf(visitor, kind))}
            {...result}
          />,
          { status: result.refused === undefined ? 200 : 400 }
        )
      })

    const list = (kind: EntityKind) =>
      asWatcher((visitor, request) => {
        const parameters = queryOf(request)
        const query = listQueryOf(kind, parameters)
        const id = readId(query.search ?? "")
        return Option.isSome(id)
          ? Effect.succeed(seeOther(pageOf(paths.entity, id.value)))
          : show(visitor, kind, query, { note: noteOf(notes, parameters.get("note")) })
      })

    /** The list and the filters of a view's form. */
    const viewIn = (form: Parameters) =>
      Effect.map(decodeList(form.get("list")), (kind) => ({
        kind,
        name: form.get("name") ?? "",
        query: listQueryOf(kind, parametersOf(form.get("query") ?? ""))
      }))

    return {
      products: list("product"),
      variants: list("variant"),
      collections: list("collection"),
      media: list("media"),
      saveView: withForm((visitor, form) =>
        Effect.gen(function* () {
          const { kind, name, query } = yield* viewIn(form)
          const { path } = listPages[kind]
          // A view can be deleted on its page only, so its page must open.
          yield* readPage(kind, query)
          return yield* views.save(viewsOf(visitor, kind), { name, query: viewQueryOf(query) }).pipe(
            Effect.as(seeOther(`${path}?${viewQueryOf(query)}&note=view-saved`)),
            Effect.catchAll(({ issues: [issue] }) =>
              show(visitor, kind, query, {
                refused: {
                  name,
                  misfit: {
                    field: "name",
                    message: { sentence: "Name of the view: {problem}.", values: { problem: issue?.message ?? "" } }
                  }
                }
              })
            )
          )
        })
      ),
      deleteView: withForm((visitor, form) =>
        Effect.gen(function* () {
          const { kind, name } = yield* viewIn(form)
          yield* views.remove(viewsOf(visitor, kind), name)
          return seeOther(`${listPages[kind].path}?note=view-deleted`)
        })
      )
    }
  })
)
