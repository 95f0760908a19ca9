import { Clock, Effect, Either, Option, Schema } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import type { MerchantLists } from "../../catalog/MerchantLists.ts"
import { type Parameters, parametersOf } from "../../connections/AuthorizationRequest.ts"
import { parseMonth } from "../../drops/Calendar.ts"
import type { Drop, DropPlace } from "../../drops/Drop.ts"
import { Drops } from "../../drops/Drops.ts"
import { dayOf } from "../../drops/Zone.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { DropId } from "../../model/Ids.ts"
import { fromMillis, Timestamp } from "../../model/Timestamp.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import type { Saying } from "../languages/Words.tsx"
import { idInPath, idOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { dropPath, paths } from "../Paths.ts"
import type { Pictures } from "../pictures/Pictures.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { boundsOfMonth } from "./DropCalendar.tsx"
import { DropPage, shownChanges } from "./DropPage.tsx"
import { type DropsContent, DropsPage } from "./DropsPage.tsx"
import { makeNewDropForm } from "./NewDrop.tsx"

const routes = {
  list: ["GET", paths.drops, refuseOnPage, "view"],
  create: ["POST", paths.drops, refuseOnPage, "publish", "batch"],
  write: ["GET", paths.newDrop, refuseOnPage, "publish"],
  compose: ["POST", paths.newDrop, refuseOnPage, "publish", "batch"],
  show: ["GET", paths.drop, refuseOnPage, "view"],
  cancel: ["POST", paths.cancelDrop, refuseOnPage, "publish", "batch"]
} as const

const notes: Readonly<Record<string, string>> = {
  scheduled: "The drop is scheduled.",
  cancelled: "The drop is cancelled. Nothing was changed."
}

/** The drops of an account: the list, the page of one drop, and the form for a new drop. */
export const drops: Surface<Catalog | Drops | MerchantLists | Pictures | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const drops = yield* Drops
    const { readList, readMonth } = yield* makeReadDrops
    const showDrop = yield* makeShowDrop
    const { asWatcher, withForm } = yield* makePageHandlers

    return {
      list: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const view = query.get("view")
          const content =
            view === "open" || view === "ended"
              ? yield* readList(view, query.get("after") ?? "")
              : yield* readMonth(visitor, query.get("month") ?? "")
          return html(visitor, <DropsPage visitor={visitor} content={content} />)
        })
      ),
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const drop = yield* drops.get(yield* idInPath(DropId, request))
          const query = queryOf(request)
          return yield* showDrop(visitor, drop, query, { note: noteOf(notes, query.get("note")) })
        })
      ),
      cancel: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(DropId, form)
          const cancelled = yield* drops.cancel(id).pipe(
            Effect.map(Either.right),
            Effect.catchTag("ValidationFailed", (error) => Effect.succeed(Either.left(error)))
          )
          const drop = yield* drops.get(id)
          // If the form is sent twice, the second request succeeds too.
          if (Either.isRight(cancelled) || drop.status === "cancelled")
            return seeOther(`${dropPath(id)}?note=cancelled`)
          const problem = cancelled.left.reasons
          const refusal = { sentence: "Not cancelled: {problem}.", values: { problem } } as const
          return yield* showDrop(visitor, drop, parametersOf(""), { refusal })
        })
      ),
      ...(yield* makeNewDropForm)
    }
  })
)

/** Rows on a page of a list, and drops of a month. */
const pageSize = 50
const maxInMonth = 250

const decodePlace = Schema.decodeOption(Schema.Tuple(Timestamp, DropId))

/** The place that an address names: a start and an id. null: the beginning, also for a malformed one. */
const placeOf = (text: string): DropPlace | null =>
  Option.match(decodePlace([text.slice(0, -37), text.slice(-36)]), {
    onNone: () => null,
    onSome: ([starts_at, id]) => ({ starts_at, id })
  })

const makeReadDrops = Effect.gen(function* () {
  const drops = yield* Drops

  const readList = (view: "open" | "ended", after: string) =>
    Effect.map(
      drops.page({ isOpen: view === "open", after: placeOf(after), limit: pageSize }),
      ({ next, rows }): DropsContent => ({ view, drops: rows, isFirst: placeOf(after) === null, next })
    )

  const readMonth = (visitor: Visitor, text: string) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const today = dayOf(now, visitor.timeZone ?? "UTC")
      const month = parseMonth(text) ?? today.slice(0, 7)
      const { from, until } = boundsOfMonth(month)
      const found = yield* drops.between(fromMillis(from), fromMillis(until), maxInMonth + 1)
      const content: DropsContent = {
        view: "calendar",
        month,
        today,
        drops: found.slice(0, maxInMonth),
        isCut: found.length > maxInMonth
      }
      return content
    })

  return { readList, readMonth }
})

const makeShowDrop = Effect.gen(function* () {
  const drops = yield* Drops
  const stores = yield* Stores

  return (
    visitor: Visitor,
    drop: Drop,
    query: Parameters,
    message: { readonly note?: string | undefined; readonly refusal?: Saying }
  ) =>
    Effect.gen(function* () {
      const shown = shownChanges(drop, query)
      const ids = [...new Set(shown.changes.map(({ entity_id }) => entity_id))]
      const fields = [...new Set(shown.changes.map(({ field }) => field))]
      const things = yield* drops.things({ ids, withVariants: false, fields, limit: ids.length })
      const linked = yield* stores.list
      const earlier = yield* drops.earlierValues(drop.id)
      return html(
        visitor,
        <DropPage
          visitor={visitor}
          drop={drop}
          shown={shown}
          stores={linked}
          earlier={earlier}
          things={new Map(things.map((thing) => [thing.id, thing]))}
          {...message}
        />,
        {
          status: message.refusal === undefined ? 200 : 400
        }
      )
    })
})
