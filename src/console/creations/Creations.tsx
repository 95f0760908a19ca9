import { Effect } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { optionsOf } from "../../drafts/Creation.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { type Handler, type Surface, surfaceOf } from "../../http/Surface.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import { NotFound } from "../../model/Errors.ts"
import { EntityId, type StoreId } from "../../model/Ids.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Stores } from "../../stores/Stores.ts"
import { lockedMessage } from "../entities/CellEdits.ts"
import { savedPicturePath } from "../entities/GalleryChange.ts"
import { viewOf } from "../entities/GridAddress.ts"
import type { Misfit } from "../Field.tsx"
import { html, seeOther } from "../Html.ts"
import { type Sentence, wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import {
  formNames,
  formOf,
  isAsTyped,
  isOnChosen,
  isTaken,
  misfitsOf,
  type NewEntityForm,
  namesOf,
  newEntityOf,
  sentBefore
} from "./NewEntityForm.ts"
import { NewEntityPage, type Owner } from "./NewEntityPage.tsx"

const routes = {
  newProduct: ["GET", paths.newProduct, refuseOnPage, "edit"],
  createProduct: ["POST", paths.newProduct, refuseOnPage, "edit"],
  newVariant: ["GET", paths.newVariant, refuseOnPage, "edit"],
  createVariant: ["POST", paths.newVariant, refuseOnPage, "edit"],
  newCollection: ["GET", paths.newCollection, refuseOnPage, "edit"],
  createCollection: ["POST", paths.newCollection, refuseOnPage, "edit"],
  newMedia: ["GET", paths.newMedia, refuseOnPage, "edit"],
  createMedia: ["POST", paths.newMedia, refuseOnPage, "edit"]
} as const

/** Variants whose option values the form suggests. */
const maxSuggested = 100

/** The refusal if something has changed since the form was opened. `linked`: the number of chosen stores that are still linked. */
const outdatedIn = (
  parameters: Parameters,
  { storeIds }: NewEntityForm,
  owner: Owner | null,
  linked: number
): Sentence | undefined => {
  if (storeIds.length > linked)
    return "A store that you chose is not linked any more. Check the stores, then send the form again."
  const madeFor = parameters.get(formNames.madeFor)
  return owner !== null && madeFor !== undefined && madeFor !== namesOf(owner.options)
    ? "The options of the product have changed since you opened this form. Check the values, then send it again."
    : undefined
}

/** The pages that create products, variants, collections and pictures. */
export const creations: Surface<Catalog | Drafts | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makePageHandlers

    const ownerIn = (kind: EntityKind, parameters: Parameters) =>
      Effect.gen(function* () {
        if ((kind !== "variant" && kind !== "media") || !parameters.names.includes(formNames.owner)) return null
        const id = yield* idOf(EntityId, parameters, formNames.owner)
        const ofOwner = yield* catalog.kindOf(id)
        if (ofOwner === "media") return yield* new NotFound()
        const record = yield* catalog.get(ofOwner, id)
        if (kind !== "variant") return { kind: ofOwner, record, options: [] }
        if (ofOwner !== "product") return yield* new NotFound()
        const variants = yield* drafts.sheets("variant", record.variantIds.slice(0, maxSuggested))
        return { kind: ofOwner, record, options: optionsOf(record, variants) }
      })

    /** What the form has created: with these values and stores, or with others, if somebody went back to it. */
    const createdBy = (kind: EntityKind, id: EntityId, form: NewEntityForm, chosen: ReadonlyArray<StoreId>) =>
      Effect.gen(function* () {
        const [created] = yield* drafts.sheets(kind, [id])
        if (created === undefined) return "nothing"
        const variantIds = kind === "product" ? (yield* catalog.get(kind, id)).variantIds : []
        const [variant] = yield* drafts.sheets("variant", variantIds.slice(0, 1))
        const values = { own: created.attributes, variant: variant?.attributes ?? {} }
        // The form of a variant or picture has no stores.
        const isThere = kind === "variant" || kind === "media" || isOnChosen(created, chosen)
        return isThere && isAsTyped(kind, form, values) ? "this" : "another"
      })

    const begin = (kind: EntityKind): Handler =>
      asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const owner = yield* ownerIn(kind, query)
          if (kind === "variant" && owner === null) return yield* new NotFound()
          const id = yield* mintId(EntityId)
          const all = yield* stores.list
          const form = { ...formOf(kind, query), storeIds: all.map((store) => store.id) }
          return html(
            visitor,
            <NewEntityPage visitor={visitor} stores={all} kind={kind} id={id} owner={owner} form={form} misfits={[]} />
          )
        })
      )

    /** Where the visitor goes on: on the page of the new entity, or of the one that it belongs to. */
    const after = (kind: EntityKind, id: EntityId, owner: Owner | null, parameters: Parameters) => {
      if (owner === null) return seeOther(`${pageOf(paths.entity, id)}&note=created`)
      const { id: ownerId, stores: ofOwner } = owner.record
      // A new picture of a variant is a new entry of its product, on the stores of the variant.
      const joined =
        owner.kind === "variant" ? { isNew: true, storeIds: ofOwner.map(({ store_id }) => store_id) } : undefined
      return kind === "variant"
        ? seeOther(`${pageOf(paths.entity, ownerId)}&note=variant-created#variants`)
        : seeOther(savedPicturePath(viewOf(ownerId, parameters), { _tag: "Remove", mediaId: id, joined }, ""))
    }

    const create = (kind: EntityKind): Handler =>
      withForm((visitor, parameters) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const id = yield* idOf(EntityId, parameters)
          const owner = yield* ownerIn(kind, parameters)
          const form = formOf(kind, parameters)
          const all = yield* stores.list
          const chosen = all.map((store) => store.id).filter((storeId) => form.storeIds.includes(storeId))
          const entity = newEntityOf(
            kind,
            { id, variantId: yield* mintId(EntityId), owner: owner?.record.id ?? null },
            form,
            chosen,
            { options: owner?.options ?? [], hasVariants: (owner?.record.variantIds.length ?? 0) > 0 }
          )
          if (entity === undefined) return yield* new NotFound()
          const done = after(kind, id, owner, parameters)
          const content = { visitor, stores: all, kind, owner, form }
          const refuse = (misfits: ReadonlyArray<Misfit>, status: number, formId = id) =>
            html(visitor, <NewEntityPage {...content} id={formId} misfits={misfits} />, { status })
          /** The answer to a form that was sent before. Undefined: it has created nothing. */
          const answerAgain = Effect.gen(function* () {
            const created = yield* createdBy(kind, id, form, chosen)
            if (created === "another") return refuse([{ field: "", message: sentBefore }], 409, yield* mintId(EntityId))
            return created === "this" ? done : undefined
          })
          // Before anything else is checked, because what the form has created may have changed the options of the product.
          const again = yield* answerAgain
          if (again !== undefined) return again
          const outdated = outdatedIn(parameters, form, owner, chosen.length)
          if (outdated !== undefined) return refuse([{ field: "", message: outdated }], 409)
          return yield* drafts.create(entity).pipe(
            Effect.as(done),
            Effect.catchTags({
              ValidationFailed: (error) =>
                isTaken(error)
                  ? Effect.map(answerAgain, (answer) => answer ?? done)
                  : Effect.succeed(refuse(misfitsOf(t, kind, error, owner?.options ?? []), 400)),
              PimLocked: () => Effect.succeed(refuse([{ field: "", message: lockedMessage }], 423))
            })
          )
        })
      )

    return {
      newProduct: begin("product"),
      createProduct: create("product"),
      newVariant: begin("variant"),
      createVariant: create("variant"),
      newCollection: begin("collection"),
      createCollection: create("collection"),
      newMedia: begin("media"),
      createMedia: create("media")
    }
  })
)
