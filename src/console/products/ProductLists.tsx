import { Clock, Effect, Option, Schema } from "effect"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { EntityId, inAnyCase } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused } from "../Browser.ts"
import { listPages } from "../entities/ListPages.ts"
import { html, seeOther } from "../Html.ts"
import { pageOf, paths } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { makeVisits, queryOf, type Visits } from "../Visits.ts"
import { filtersOf, listQueryOf } from "./ProductFilters.tsx"
import { ProductsPage } from "./ProductsPage.tsx"

const routes = {
  products: ["GET", paths.products, refuseOnPage, "view"],
  variants: ["GET", paths.variants, refuseOnPage, "view"],
  collections: ["GET", paths.collections, refuseOnPage, "view"],
  media: ["GET", paths.media, refuseOnPage, "view"]
} as const

/** Maximum number of rows on a page. */
const pageSize = 50
/** Maximum length of a filter's text, in characters. */
const maxText = 200

const readId = Schema.decodeOption(inAnyCase(EntityId))

const tooLong = (kind: EntityKind) => {
  const { name, path } = listPages[kind]
  return new PageRefused({
    status: 400,
    title: "Not understood",
    message: `A search or filter has at most ${maxText} characters.`,
    next: { path, name: `To ${name.toLowerCase()}` }
  })
}

/** The lists of products, variants, collections and media. */
export const productLists: Surface<MerchantLists | Pictures | Stores | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const lists = yield* MerchantLists
    const pictures = yield* Pictures
    const stores = yield* Stores
    const { asVisitor } = yield* makeVisits

    const list = (kind: EntityKind) =>
      asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = listQueryOf(queryOf(request))
          const id = readId(query.search ?? "")
          if (Option.isSome(id)) return seeOther(pageOf(paths.entity, id.value))
          if (Object.values(query).some((text) => text.length > maxText)) return yield* tooLong(kind)
          const page = yield* lists.page(kind, {
            ...filtersOf(query),
            from: query.from === undefined ? undefined : Number(query.from),
            order: query.order === "oldest" ? "oldest" : "newest",
            limit: pageSize
          })
          return html(
            <ProductsPage
              visitor={visitor}
              kind={kind}
              query={query}
              page={page}
              stores={yield* stores.list}
              address={pictures.addressOf}
              now={yield* Clock.currentTimeMillis}
            />
          )
        })
      )

    return {
      products: list("product"),
      variants: list("variant"),
      collections: list("collection"),
      media: list("media")
    }
  })
)
