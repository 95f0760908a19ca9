import { Effect, Either, Option, Schema } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { NewDrop } from "../../drops/Drop.ts"
import { Drops } from "../../drops/Drops.ts"
import type { ValidationFailed } from "../../model/Errors.ts"
import { DropId, EntityId, inAnyCase } from "../../model/Ids.ts"
import { fromRfc3339 } from "../../model/Timestamp.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { dropPath } from "../Paths.ts"
import { makeVisits, queryOf } from "../Visits.ts"
import { type DropField, type DropForm, type DropMisfit, NewDropPage } from "./NewDropPage.tsx"

const formOfDrop = (given: Parameters): DropForm => ({
  name: given.get("name") ?? "",
  starts: given.get("starts") ?? "",
  ends: given.get("ends") ?? "",
  entity: given.get("entity") ?? "",
  store_id: given.get("store_id") ?? "",
  field: given.get("field") ?? "",
  // Browsers send a line break as CR LF.
  value: (given.get("value") ?? "").replaceAll("\r\n", "\n")
})

/** The RFC 3339 time of a `datetime-local` field. It is read as UTC. */
const instantOf = (text: string) => (/T\d{2}:\d{2}$/.test(text) ? `${text}:00Z` : `${text}Z`)

const isDayAndTime = (text: string) => Either.isRight(fromRfc3339(instantOf(text)))

const fieldAt: Readonly<Record<string, DropField>> = {
  name: "name",
  starts_at: "starts",
  ends_at: "ends",
  "changes[0].entity_id": "entity",
  "changes[0].store_id": "store_id",
  "changes[0].field": "field",
  "changes[0].value": "value",
  // Another drop has the field at the same time.
  "changes[0]": "field"
}

const decodeDropId = Schema.decodeOption(DropId)
const decodeEntityId = Schema.decodeOption(inAnyCase(EntityId))

/** An entity whose id or handle was entered in the form. */
interface Match {
  readonly id: string
  readonly kind: string
}

const toNewDrop = (form: DropForm, matches: ReadonlyArray<Match>): NewDrop => {
  const [only, ...others] = matches
  return {
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
  }
}

/** The problems by field of the form, worded for the form. */
const misfitsOf = ({ issues }: ValidationFailed, { ends, starts }: DropForm, matches: ReadonlyArray<Match>) => {
  const time = "must be a date and a time, such as 2027-01-31T09:30"
  const own: Readonly<Record<string, string | undefined>> = {
    starts_at: isDayAndTime(starts) ? undefined : time,
    ends_at: isDayAndTime(ends) ? undefined : time,
    "changes[0].entity_id":
      matches.length > 1
        ? `is the handle of ${matches.map(({ id, kind }) => `${kind} ${id}`).join(" and ")}: give the id of one`
        : undefined
  }
  return issues.map(
    ({ message, path }): DropMisfit => ({ field: fieldAt[path] ?? "field", message: own[path] ?? message })
  )
}

/** The form for a new drop. */
export const makeNewDropForm = Effect.gen(function* () {
  const catalog = yield* Catalog
  const drops = yield* Drops
  const stores = yield* Stores
  const { asVisitor, withForm } = yield* makeVisits

  const showForm = (visitor: Visitor, form: DropForm, misfits: ReadonlyArray<DropMisfit> = []) =>
    Effect.gen(function* () {
      const publishable = (yield* stores.list).filter(({ platform }) => platform !== "none")
      const nextId = yield* mintId(DropId)
      return html(
        <NewDropPage visitor={visitor} stores={publishable} form={form} misfits={misfits} nextId={nextId} />,
        { status: misfits.length > 0 ? 400 : 200 }
      )
    })

  /** The entity with the entered id, or all entities with the entered handle. */
  const findMatches = (typed: string) =>
    Option.match(decodeEntityId(typed), {
      onNone: () => catalog.withHandle(typed),
      onSome: (id) => Effect.succeed([{ id, kind: "entity" }])
    })

  return {
    write: asVisitor((visitor, request) => showForm(visitor, formOfDrop(queryOf(request)))),
    create: withForm((visitor, given) =>
      Effect.gen(function* () {
        const form = formOfDrop(given)
        // The form of our own page has the id of the new drop, so a double click schedules only one drop.
        const id = Option.getOrUndefined(decodeDropId(given.get("id") ?? ""))
        const matches = yield* findMatches(form.entity.trim())
        return yield* Effect.matchEffect(drops.create(toNewDrop(form, matches), id), {
          onFailure: (error) => showForm(visitor, form, misfitsOf(error, form, matches)),
          onSuccess: ({ id }) => Effect.succeed(seeOther(`${dropPath(id)}?note=scheduled`))
        })
      })
    )
  }
})
