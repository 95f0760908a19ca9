import { Effect, Either, Option } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Drop } from "../../drops/Drop.ts"
import { Drops } from "../../drops/Drops.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { DropId, type EntityId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { dropPath, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { idInPath, idOf, makeVisits, noteOf, queryOf, type Visits } from "../Visits.ts"
import { DropPage } from "./DropPage.tsx"
import { DropsPage } from "./DropsPage.tsx"
import { makeNewDropForm } from "./NewDrop.tsx"

const routes = {
  list: ["GET", paths.drops, refuseOnPage, "view"],
  create: ["POST", paths.drops, refuseOnPage, "publish", "batch"],
  write: ["GET", paths.newDrop, refuseOnPage, "publish"],
  show: ["GET", paths.drop, refuseOnPage, "view"],
  cancel: ["POST", paths.cancelDrop, refuseOnPage, "publish", "batch"]
} as const

const notes: Readonly<Record<string, string>> = {
  scheduled: "The drop is scheduled.",
  cancelled: "The drop is cancelled. Nothing was changed."
}

/** The drops of an account: the list, the page of one drop, and the form for a new drop. */
export const drops: Surface<Catalog | Drops | Stores | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const drops = yield* Drops
    const stores = yield* Stores
    const showDrop = yield* makeShowDrop
    const { asWatcher, withForm } = yield* makeVisits

    return {
      list: asWatcher((visitor) =>
        Effect.gen(function* () {
          const list = yield* drops.list
          const linked = yield* stores.list
          return html(<DropsPage visitor={visitor} drops={list} stores={linked} />)
        })
      ),
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const drop = yield* drops.get(yield* idInPath(DropId, request))
          return yield* showDrop(visitor, drop, { note: noteOf(notes, queryOf(request).get("note")) })
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
          const refusal = `Not cancelled: ${cancelled.left.issues.map(({ message }) => message).join("; ")}.`
          return yield* showDrop(visitor, drop, { refusal })
        })
      ),
      ...(yield* makeNewDropForm)
    }
  })
)

const makeShowDrop = Effect.gen(function* () {
  const catalog = yield* Catalog
  const stores = yield* Stores

  /** The title of an entity. For a variant it starts with the product's title, because many variants have the same title. */
  const titleOf = (kind: EntityKind, id: EntityId) =>
    Effect.gen(function* () {
      const { parentId, title } = yield* catalog.get(kind, id)
      if (parentId === null) return title
      const product = yield* Effect.option(catalog.get("product", parentId))
      return Option.isNone(product) ? title : `${product.value.title}: ${title}`
    })

  const titlesOf = ({ changes }: Drop) =>
    Effect.forEach(
      new Map(changes.map(({ entity_id, entity_type }) => [entity_id, entity_type])),
      ([id, kind]) =>
        Effect.map(
          Effect.option(titleOf(kind, id)),
          Option.map((title) => [id, title] as const)
        ),
      { concurrency: 4 }
    ).pipe(Effect.map((found) => new Map(found.flatMap(Option.toArray))))

  return (visitor: Visitor, drop: Drop, said: { readonly note?: string | undefined; readonly refusal?: string }) =>
    Effect.gen(function* () {
      const titles = yield* titlesOf(drop)
      const linked = yield* stores.list
      return html(<DropPage visitor={visitor} drop={drop} stores={linked} titles={titles} {...said} />, {
        status: said.refusal === undefined ? 200 : 400
      })
    })
})
