import { Effect, Option, Schema } from "effect"
import { timeZones } from "../../access/Profile.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { MerchantLists } from "../../catalog/MerchantLists.ts"
import { Drops } from "../../drops/Drops.ts"
import { DropId, EntityId, inAnyCase } from "../../model/Ids.ts"
import { isWritable } from "../../model/KeyRules.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import type { Misfit } from "../Field.tsx"
import { html, seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import { makePageHandlers, queryOf } from "../PageHandlers.ts"
import { dropPath } from "../Paths.ts"
import { Pictures } from "../pictures/Pictures.ts"
import { ChooseStorePage } from "./ChooseStorePage.tsx"
import { allStores, type DropForm, fieldIn, formOf, maxIds, nameOf } from "./DropForm.ts"
import { makeReview, maxThings } from "./DropReview.ts"
import { NewDropPage } from "./NewDropPage.tsx"
import { type DropReview, ReviewDropPage } from "./ReviewDropPage.tsx"

/** Maximum number of results of a search. */
const maxFound = 25
/** Number of products of a collection that are read at once. */
const membersPerPage = 250

const decodeDropId = Schema.decodeOption(DropId)
const decodeEntityId = Schema.decodeOption(inAnyCase(EntityId))
const Members = Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: EntityId })),
  next_cursor: Schema.NullOr(Schema.String)
})
const readMembers = Schema.decode(Schema.parseJson(Members))

/** The pages of the form: its stores, its fields, and its review. */
const makeFormPages = Effect.gen(function* () {
  const drops = yield* Drops
  const lists = yield* MerchantLists
  const pictures = yield* Pictures
  const stores = yield* Stores

  const publishable = Effect.map(stores.list, (all) => all.filter(({ platform }) => platform !== filesOnly))

  const showStores = (visitor: Visitor, things: ReadonlyArray<EntityId>, typed?: DropForm) =>
    Effect.gen(function* () {
      const zones = yield* stores.timeZones
      const chosen =
        things.length === 0 ? [] : yield* drops.things({ ids: things, withVariants: false, fields: [], limit: maxIds })
      const choices = (yield* publishable).map((store) => ({
        store,
        zone: zones.get(store.id),
        things: chosen.filter(({ versions }) => versions.some(({ storeId }) => storeId === store.id)).length
      }))
      return html(visitor, <ChooseStorePage visitor={visitor} stores={choices} things={things} typed={typed} />)
    })

  /** The chosen store; null: all of them. Undefined: the form names none that can be published to. */
  const storeOf = ({
    storeId
  }: DropForm): Effect.Effect<Store | null | undefined, never, Effect.Effect.Context<typeof publishable>> =>
    Effect.map(publishable, (all) =>
      storeId === allStores && all.length > 0 ? null : all.find(({ id }) => id === storeId.toLowerCase())
    )

  const showForm = (
    visitor: Visitor,
    form: DropForm,
    store: Store | null,
    {
      focus,
      misfits = [],
      ticksMembers = false
    }: { readonly misfits?: ReadonlyArray<Misfit>; readonly focus?: string; readonly ticksMembers?: boolean } = {}
  ) =>
    Effect.gen(function* () {
      const things = yield* drops.things({ ids: form.things, withVariants: false, fields: [], limit: maxIds })
      const collections = yield* lists.rows(things.filter(({ kind }) => kind === "collection").map(({ id }) => id))
      const page =
        form.searched === undefined
          ? undefined
          : yield* lists.page(form.kind, {
              search: form.searched,
              storeId: store?.id,
              order: "newest",
              // The chosen ones are left out of the results.
              limit: maxFound + form.things.length
            })
      const others = page?.rows.filter(({ id }) => !form.things.includes(id)) ?? []
      return html(
        visitor,
        <NewDropPage
          visitor={visitor}
          form={form}
          misfits={misfits}
          focus={focus}
          store={store}
          things={things}
          memberCounts={new Map(collections.map((row) => [row.id, row.kind === "collection" ? row.members : 0]))}
          ticksMembers={ticksMembers}
          results={
            page && {
              others: others.slice(0, maxFound),
              page,
              isPart: others.length > maxFound || page.next !== undefined
            }
          }
          hasOtherStores={(yield* publishable).length > 1}
          rules={yield* drops.rules}
          address={pictures.addressesFor(visitor.accountId)}
        />,
        { status: misfits.length > 0 ? 400 : 200 }
      )
    })

  const showReview = (visitor: Visitor, review: DropReview, isOutdated: boolean) =>
    Effect.gen(function* () {
      const nextId = yield* mintId(DropId)
      const status = isOutdated ? 409 : review.overlaps.length > 0 ? 400 : 200
      return html(
        visitor,
        <ReviewDropPage visitor={visitor} review={review} nextId={nextId} isOutdated={isOutdated} />,
        {
          status
        }
      )
    })

  return { publishable, showForm, showReview, showStores, storeOf }
})

/** Makes a function that adds the products of the chosen collections. Misfits: collections with too many. */
const makeWithMembers = Effect.map(
  Catalog,
  (catalog) => (form: DropForm, store: Store | null) =>
    Effect.gen(function* () {
      const misfits: Array<Misfit> = []
      const added: Array<EntityId> = []
      for (const collection_id of form.members) {
        const query = { collection_id, limit: membersPerPage, ...(store !== null && { store_id: store.id }) }
        const members: Array<EntityId> = []
        let cursor: string | null | undefined
        while (cursor !== null && members.length <= maxThings) {
          const page: typeof Members.Type = yield* catalog
            .list("product", { ...query, ...(cursor !== undefined && { cursor }) })
            .pipe(
              Effect.flatMap(({ text }) => readMembers(text)),
              Effect.orDie
            )
          members.push(...page.data.map(({ id }) => id))
          cursor = page.next_cursor
        }
        if (members.length > maxThings)
          misfits.push({
            field: "search",
            message: {
              sentence: "The collection has more than {count, number} products. Choose some of them.",
              values: { count: maxThings }
            }
          })
        else added.push(...members)
      }
      const things = [...new Set([...form.things, ...added])]
      if (things.length > maxThings)
        misfits.push({
          field: "search",
          message: {
            sentence: "These would be {count, number} items. A drop has at most {max, number} changes.",
            values: { count: things.length, max: maxThings }
          }
        })
      return { form: { ...form, members: [], things: misfits.length > 0 ? form.things : things }, misfits }
    })
)

/** The steps of the form: its buttons search, add and remove fields, and lead to the review. */
const makeFormSteps = Effect.gen(function* () {
  const drops = yield* Drops
  const review = yield* makeReview
  const { showForm, showReview } = yield* makeFormPages

  /** Adds the field that the list of fields has chosen. */
  const addField = (visitor: Visitor, form: DropForm, store: Store | null) =>
    Effect.gen(function* () {
      const field = fieldIn(form.add)
      const rules = yield* drops.rules
      if (field === undefined || rules.find(field.kind, field.key) === undefined || !isWritable(field.kind, field.key))
        return yield* showForm(visitor, form, store, { misfits: [{ field: "add", message: "Choose a field first." }] })
      const isNew = !form.values.some((value) => nameOf(value) === nameOf(field))
      const values = isNew ? [...form.values, { ...field, typed: "" }] : form.values
      return yield* showForm(visitor, { ...form, add: "", values }, store, { focus: nameOf(field) })
    })

  const carryOut = (visitor: Visitor, form: DropForm, store: Store | null, does: string) => {
    const isSearch = does === "search" || (does === "enter" && form.search !== (form.searched ?? ""))
    if (isSearch) return showForm(visitor, { ...form, searched: form.search }, store, { focus: "search" })
    if (does === "add") return addField(visitor, form, store)
    if (does.startsWith("remove ")) {
      const values = form.values.filter((value) => nameOf(value) !== does.slice("remove ".length))
      return showForm(visitor, { ...form, values }, store, { focus: "add" })
    }
    if (does !== "review" && does !== "enter" && does !== "leave") return showForm(visitor, form, store)
    return Effect.matchEffect(
      review(wordsIn(visitor.pageLanguage), { ...form, leavesOverlaps: does === "leave" }, store),
      {
        onFailure: ({ misfits }) => showForm(visitor, form, store, { misfits }),
        onSuccess: (review) => showReview(visitor, review, false)
      }
    )
  }

  return carryOut
})

/** The form for a new drop, its steps and its review. */
export const makeNewDropForm = Effect.gen(function* () {
  const drops = yield* Drops
  const review = yield* makeReview
  const stores = yield* Stores
  const withMembers = yield* makeWithMembers
  const carryOut = yield* makeFormSteps
  const { publishable, showForm, showReview, showStores, storeOf } = yield* makeFormPages
  const { asVisitor, withForm } = yield* makePageHandlers

  return {
    write: asVisitor((visitor, request) =>
      Effect.gen(function* () {
        const query = queryOf(request)
        const formOfQuery = formOf(query)
        const all = yield* publishable
        const [only, ...others] = all
        const form =
          formOfQuery.storeId === "" && only !== undefined && others.length === 0
            ? { ...formOfQuery, storeId: only.id }
            : formOfQuery
        const things = [...form.things, ...Option.toArray(decodeEntityId(query.get("entity") ?? ""))]
        const store = yield* storeOf(form)
        if (store === undefined) return yield* showStores(visitor, things)
        const storeZone = store === null ? undefined : (yield* stores.timeZones).get(store.id)
        const zone = [form.zone, storeZone, visitor.timeZone].find((each) => each && timeZones.includes(each)) ?? "UTC"
        return yield* showForm(visitor, { ...form, zone, things }, store, { ticksMembers: true })
      })
    ),
    compose: withForm((visitor, parameters) =>
      Effect.gen(function* () {
        const typed = formOf(parameters)
        const store = yield* storeOf(typed)
        if (store === undefined || parameters.get("do") === "store")
          return yield* showStores(visitor, typed.things, typed)
        const { form, misfits } = yield* withMembers(typed, store)
        return misfits.length > 0
          ? yield* showForm(visitor, form, store, { misfits })
          : yield* carryOut(visitor, form, store, parameters.get("do") ?? "enter")
      })
    ),
    create: withForm((visitor, parameters) =>
      Effect.gen(function* () {
        const t = wordsIn(visitor.pageLanguage)
        // The review has the id of the new drop, so a double click schedules only one drop.
        const id =
          Option.getOrElse(decodeDropId(parameters.get("id") ?? ""), () => undefined) ?? (yield* mintId(DropId))
        const scheduled = seeOther(`${dropPath(id)}?note=scheduled`)
        if (Option.isSome(yield* Effect.option(drops.get(id)))) return scheduled
        const form = formOf(parameters)
        const store = yield* storeOf(form)
        if (store === undefined) return yield* showStores(visitor, form.things, form)
        return yield* Effect.matchEffect(review(t, form, store, id), {
          onFailure: ({ misfits }) => showForm(visitor, form, store, { misfits }),
          onSuccess: (reviewed) => {
            if (reviewed.seen !== parameters.get("seen")) return showReview(visitor, reviewed, true)
            if (reviewed.overlaps.length > 0) return showReview(visitor, reviewed, false)
            return Effect.matchEffect(drops.create(reviewed.drop, id), {
              // Another drop was scheduled between the check and here: the review shows it.
              onFailure: () =>
                Effect.matchEffect(review(t, form, store), {
                  onFailure: ({ misfits }) => showForm(visitor, form, store, { misfits }),
                  onSuccess: (now) => showReview(visitor, now, false)
                }),
              onSuccess: () =>
                Effect.as(store === null ? Effect.void : stores.keepTimeZone(store.id, form.zone), scheduled)
            })
          }
        })
      })
    )
  }
})
