import { Effect, Either, Option, Schema } from "effect"
import type { Sessions } from "../../access/Sessions.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { Drop } from "../../drops/Drop.ts"
import { Drops } from "../../drops/Drops.ts"
import type { BaseUrl } from "../../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { ValidationFailed } from "../../model/Errors.ts"
import { DropId, EntityId, inAnyCase } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { fromRfc3339 } from "../../model/Timestamp.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { dropPath, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { idInPath, idOf, makeVisits, queryOf } from "../Visits.ts"
import { DropPage } from "./DropPage.tsx"
import { DropsPage } from "./DropsPage.tsx"
import { type DropField, type DropForm, type DropMisfit, NewDropPage } from "./NewDropPage.tsx"

const routes = {
  list: ["GET", paths.drops, refuseOnPage],
  create: ["POST", paths.drops, refuseOnPage, "batch"],
  write: ["GET", paths.newDrop, refuseOnPage],
  show: ["GET", paths.drop, refuseOnPage],
  cancel: ["POST", paths.cancelDrop, refuseOnPage, "batch"]
} as const

/** Said after a form of our own, whatever the address asks for. */
const notes: Readonly<Record<string, string>> = {
  scheduled: "The drop is scheduled.",
  cancelled: "The drop is cancelled: nothing was changed."
}

const noteOf = (name: string | undefined) =>
  name !== undefined && Object.hasOwn(notes, name) ? notes[name] : undefined

const formOfDrop = (given: Parameters): DropForm => ({
  name: given.get("name") ?? "",
  starts: given.get("starts") ?? "",
  ends: given.get("ends") ?? "",
  entity: given.get("entity") ?? "",
  store_id: given.get("store_id") ?? "",
  field: given.get("field") ?? "",
  // Browsers send every line break as two characters.
  value: (given.get("value") ?? "").replaceAll("\r\n", "\n")
})

/** What a field for a day and time holds, at UTC. */
const instantOf = (text: string) => (/T\d{2}:\d{2}$/.test(text) ? `${text}:00Z` : `${text}Z`)

const fieldAt: Readonly<Record<string, DropField>> = {
  name: "name",
  starts_at: "starts",
  ends_at: "ends",
  "changes[0].entity_id": "entity",
  "changes[0].store_id": "store_id",
  "changes[0].field": "field",
  "changes[0].value": "value",
  // Another drop has it at the same time.
  "changes[0]": "field"
}

const isDayAndTime = (text: string) => Either.isRight(fromRfc3339(instantOf(text)))

const canPublish = ({ platform }: Store) => platform !== "none"

const decodeDropId = Schema.decodeOption(DropId)

const decodeEntityId = Schema.decodeOption(inAnyCase(EntityId))

/** Scheduled field changes of an account: listed, looked at one by one, made and cancelled. */
export const drops: Surface<BaseUrl | Catalog | Drops | Sessions | Stores> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drops = yield* Drops
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makeVisits

    const showForm = (visitor: Visitor, form: DropForm, misfits: ReadonlyArray<DropMisfit> = []) =>
      Effect.gen(function* () {
        const linked = yield* stores.list
        const nextId = yield* mintId(DropId)
        return html(
          <NewDropPage
            visitor={visitor}
            stores={linked.filter(canPublish)}
            form={form}
            misfits={misfits}
            nextId={nextId}
          />,
          { status: misfits.length > 0 ? 400 : 200 }
        )
      })

    /** A variant is told by its product too: every second one is called like others. */
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

    const showDrop = (
      visitor: Visitor,
      drop: Drop,
      said: { readonly note?: string | undefined; readonly refusal?: string }
    ) =>
      Effect.gen(function* () {
        const titles = yield* titlesOf(drop)
        const linked = yield* stores.list
        return html(<DropPage visitor={visitor} drop={drop} stores={linked} titles={titles} {...said} />, {
          status: said.refusal === undefined ? 200 : 400
        })
      })

    /** The entities that a form means: by its id, or all that have the handle. */
    const entitiesOf = (typed: string) =>
      Option.match(decodeEntityId(typed), {
        onNone: () => catalog.withHandle(typed),
        onSome: (id) => Effect.succeed([{ id, kind: "entity" }])
      })

    /** What does not fit, at the fields of the form and in their words. */
    const misfitsOf = (
      { issues }: ValidationFailed,
      { ends, starts }: DropForm,
      meant: Effect.Effect.Success<ReturnType<typeof entitiesOf>>
    ) => {
      const time = "must be a day of the calendar and a time, such as 2027-01-31T09:30"
      const own: Readonly<Record<string, string | undefined>> = {
        starts_at: isDayAndTime(starts) ? undefined : time,
        ends_at: isDayAndTime(ends) ? undefined : time,
        "changes[0].entity_id":
          meant.length > 1
            ? `is the handle of ${meant.map(({ id, kind }) => `${kind} ${id}`).join(" and ")}: give the id of one`
            : undefined
      }
      return issues.map(
        ({ message, path }): DropMisfit => ({ field: fieldAt[path] ?? "field", message: own[path] ?? message })
      )
    }

    return {
      list: asVisitor((visitor) =>
        Effect.gen(function* () {
          const list = yield* drops.list
          const linked = yield* stores.list
          return html(<DropsPage visitor={visitor} drops={list} stores={linked} />)
        })
      ),
      write: asVisitor((visitor, request) => showForm(visitor, formOfDrop(queryOf(request)))),
      create: withForm((visitor, given) =>
        Effect.gen(function* () {
          const form = formOfDrop(given)
          // Without one it is no double click of a page of ours, but a drop of its own.
          const id = Option.getOrUndefined(decodeDropId(given.get("id") ?? ""))
          const meant = yield* entitiesOf(form.entity.trim())
          const [only, ...others] = meant
          const made = yield* drops
            .create(
              {
                name: form.name,
                starts_at: instantOf(form.starts),
                ends_at: form.ends === "" ? null : instantOf(form.ends),
                timezone: "UTC",
                changes: [
                  {
                    entity_id: only !== undefined && others.length === 0 ? only.id : "",
                    store_id: form.store_id === "" ? null : form.store_id,
                    field: form.field.trim(),
                    value: form.value
                  }
                ]
              },
              id
            )
            .pipe(Effect.either)
          return yield* Either.match(made, {
            onLeft: (error) => showForm(visitor, form, misfitsOf(error, form, meant)),
            onRight: ({ id }) => Effect.succeed(seeOther(`${dropPath(id)}?note=scheduled`))
          })
        })
      ),
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const drop = yield* drops.get(yield* idInPath(DropId, request))
          return yield* showDrop(visitor, drop, { note: noteOf(queryOf(request).get("note")) })
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
          // Asked for twice, it is done.
          if (Either.isRight(cancelled) || drop.status === "cancelled")
            return seeOther(`${dropPath(id)}?note=cancelled`)
          const refusal = `Not cancelled: ${cancelled.left.issues.map(({ message }) => message).join("; ")}.`
          return yield* showDrop(visitor, drop, { refusal })
        })
      )
    }
  })
)
