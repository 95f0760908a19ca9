import { Effect, Option, Schema } from "effect"
import { EntityRow } from "../domain/Entity.ts"
import { EntityId, inAnyCase } from "../domain/Ids.ts"
import type { BaseUrl } from "../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../http/Surface.ts"
import { Catalog } from "../services/Catalog.ts"
import { Drafts } from "../services/Drafts.ts"
import type { Sessions } from "../services/Sessions.ts"
import { PageRefused } from "./Browser.ts"
import { EntitiesPage } from "./EntitiesPage.tsx"
import { EntityPage } from "./EntityPage.tsx"
import { html, seeOther } from "./Html.ts"
import { pageOf, paths } from "./Paths.ts"
import { refuseOnPage } from "./Refusals.tsx"
import { idOf, makeVisits, queryOf } from "./Visits.ts"

const routes = {
  list: ["GET", paths.entities, refuseOnPage],
  show: ["GET", paths.entity, refuseOnPage]
} as const

/** Rows of a page of the list, and of what an entity is related to. */
const rowsAtOnce = 50
const relatedAtOnce = 100
/** Entries of a history: at first, and at most. */
const someEntries = 50
const mostEntries = 250
/** Characters of a search. */
const longestSearch = 200

const rows = Schema.Array(EntityRow)
const next_cursor = Schema.NullOr(Schema.String)
const readPage = Schema.decode(Schema.parseJson(Schema.Struct({ data: rows, next_cursor })))
const readRelated = Schema.decode(
  Schema.parseJson(Schema.Struct({ variants: rows, media: rows, collections: rows, products: rows, next_cursor }))
)
const readId = Schema.decodeOption(inAnyCase(EntityId))

const foreignCursor = new PageRefused({
  status: 400,
  title: "Not there",
  message: "This page of the list was not found by this search. Begin again at its first page.",
  next: { path: paths.entities, name: "To the entities" }
})

const tooLong = new PageRefused({
  status: 400,
  title: "Not understood",
  message: `A search has at most ${longestSearch} characters.`,
  next: { path: paths.entities, name: "To the entities" }
})

/** The entities of an account: found by id or words, and one of them with its values, stores and history. */
export const entities: Surface<BaseUrl | Sessions | Catalog | Drafts> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const { asVisitor } = yield* makeVisits

    return {
      list: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const search = query.get("search")?.trim() ?? ""
          const id = readId(search)
          if (Option.isSome(id)) return seeOther(pageOf(paths.entity, id.value))
          if (search.length > longestSearch) return yield* tooLong
          const { text } = yield* Effect.catchTag(
            catalog.list(null, { limit: rowsAtOnce, search, cursor: query.get("cursor") }),
            "ValidationFailed",
            () => foreignCursor
          )
          const { data, next_cursor } = yield* Effect.orDie(readPage(text))
          return html(<EntitiesPage visitor={visitor} rows={data} search={search} nextCursor={next_cursor} />)
        })
      ),
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const id = yield* idOf(EntityId, query)
          const limit = query.get("history") === "all" ? mostEntries : someEntries
          const kind = yield* catalog.kindOf(id)
          const content = yield* Effect.all({
            record: catalog.get(kind, id),
            versions: catalog.versions(kind, id),
            history: drafts.history(id, limit),
            // Only a cursor is refused, and there is none.
            related: catalog.related(id, { limit: relatedAtOnce }).pipe(
              Effect.catchTag("ValidationFailed", Effect.die),
              Effect.flatMap(({ text }) => Effect.orDie(readRelated(text)))
            )
          })
          return html(
            <EntityPage
              visitor={visitor}
              kind={kind}
              canShowMore={content.history.length === limit && limit < mostEntries}
              {...content}
            />
          )
        })
      )
    }
  })
)
