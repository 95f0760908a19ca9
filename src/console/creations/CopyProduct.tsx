import { Effect } from "effect"
import { Catalog } from "../../catalog/Catalog.ts"
import type { EntityRecord } from "../../catalog/Entity.ts"
import { NewEntity } from "../../drafts/Creation.ts"
import { Drafts } from "../../drafts/Drafts.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { mintId } from "../../runtime/Identifiers.ts"
import { Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { lockedMessage } from "../entities/CellEdits.ts"
import { sectionOf } from "../entities/ListPages.ts"
import { Labelled, type Misfit } from "../Field.tsx"
import { Frame, Hidden, HiddenFields, Refusal } from "../Frame.tsx"
import { html, seeOther } from "../Html.ts"
import { type Sentence, wordsIn } from "../languages/Words.tsx"
import { EntityLink } from "../Naming.tsx"
import { idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { useWords } from "../Viewer.tsx"
import {
  formNames,
  formOf,
  isOnChosen,
  isTaken,
  maxTitle,
  misfitsOf,
  type NewEntityForm,
  sentBefore
} from "./NewEntityForm.ts"
import { StorePicks } from "./NewEntityPage.tsx"

interface CopyProductProps {
  readonly visitor: Visitor
  /** The id of the copy. It makes the form repeatable: sending it twice creates one product. */
  readonly id: EntityId
  readonly original: Pick<EntityRecord, "id" | "title">
  /** The stores that the product is on. */
  readonly stores: ReadonlyArray<Store>
  readonly form: NewEntityForm
  readonly misfits: ReadonlyArray<Misfit>
}

const CopyProductPage = ({ form, id, misfits, original, stores, visitor }: CopyProductProps) => {
  const t = useWords()
  const ofForm = misfits.filter(({ field }) => field === "").map(({ message }) => t.say(message))
  return (
    <Frame title={t("Duplicate a product")} visitor={visitor} current={sectionOf("product")}>
      <Refusal text={ofForm.length === 0 ? undefined : ofForm.join(" ")} />
      <p>
        {t.rich(
          "The copy of {title} has its variants, its pictures and its values, also those for the chosen stores. SKUs, barcodes, the handle, the search title, metafields of the type id and values of drops that have not ended are not copied. The copy is in no collection.",
          { title: <EntityLink id={original.id} kind="product" title={original.title} /> }
        )}
      </p>
      <form method="post" action={paths.copyProduct} class="sheet fields">
        <HiddenFields csrf={visitor.csrf} id={id} />
        <Hidden of={[[formNames.owner, original.id]]} />
        <Labelled form={{ misfits, focus: "title" }} field="title" label={t("Title of the copy")}>
          {(attributes) => (
            <input
              type="text"
              value={form.values.title}
              required
              maxLength={maxTitle}
              autocomplete="off"
              {...attributes}
            />
          )}
        </Labelled>
        <StorePicks form={form} stores={stores} />
        <div class="buttons">
          <button type="submit">{t("Duplicate")}</button>
        </div>
      </form>
    </Frame>
  )
}

const hasLeft: Sentence = "The product has left a store that you chose. Check the stores, then send the form again."

/** The page that copies a product. */
export const copyProduct: Surface<Catalog | Drafts | Stores | PageServices> = surfaceOf(
  {
    begin: ["GET", paths.copyProduct, refuseOnPage, "edit"],
    copy: ["POST", paths.copyProduct, refuseOnPage, "edit"]
  },
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const drafts = yield* Drafts
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makePageHandlers

    /** The product to copy, and the stores that it is on. */
    const find = (productId: EntityId, linked: ReadonlyArray<Store>) =>
      Effect.map(catalog.get("product", productId), (original) => ({
        original,
        stores: linked.filter(({ id }) => original.stores.some(({ store_id }) => store_id === id))
      }))

    return {
      begin: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const found = yield* find(yield* idOf(EntityId, queryOf(request), formNames.owner), yield* stores.list)
          const title = t("Copy of {title}", { title: found.original.title }).slice(0, maxTitle)
          const form = {
            ...formOf("product", queryOf(request)),
            // The end may be half of a character.
            values: { title: title.replace(/\p{Cs}$/u, "") },
            storeIds: found.stores.map(({ id }) => id)
          }
          const id = yield* mintId(EntityId)
          return html(visitor, <CopyProductPage visitor={visitor} id={id} form={form} misfits={[]} {...found} />)
        })
      ),
      copy: withForm((visitor, parameters) =>
        Effect.gen(function* () {
          const id = yield* idOf(EntityId, parameters)
          const productId = yield* idOf(EntityId, parameters, formNames.owner)
          const form = formOf("product", parameters)
          const title = form.values.title ?? ""
          const linked = yield* stores.list
          const chosen = linked.map((store) => store.id).filter((storeId) => form.storeIds.includes(storeId))
          const done = seeOther(`${pageOf(paths.entity, id)}&note=created`)
          /** Whether the form was sent before: with this title and these stores, or with others. */
          const sent = Effect.map(drafts.sheets("product", [id]), ([copy]) =>
            copy === undefined
              ? "never"
              : copy.title === title && isOnChosen(copy, chosen)
                ? ("alike" as const)
                : "otherwise"
          )
          const before = yield* sent
          // First, because the original may have been deleted since.
          if (before === "alike") return done
          const found = yield* find(productId, linked)
          const refuse = (misfits: ReadonlyArray<Misfit>, status: number, formId = id) =>
            html(visitor, <CopyProductPage visitor={visitor} id={formId} form={form} misfits={misfits} {...found} />, {
              status
            })
          const refuseOther = Effect.map(mintId(EntityId), (formId) =>
            refuse([{ field: "", message: sentBefore }], 409, formId)
          )
          if (before === "otherwise") return yield* refuseOther
          const storeIds = found.stores.map((store) => store.id).filter((storeId) => chosen.includes(storeId))
          if (storeIds.length < form.storeIds.length) return refuse([{ field: "", message: hasLeft }], 409)
          const attributes = [{ key: "title", value: title }]
          return yield* drafts.create(NewEntity.Copy({ id, productId: found.original.id, attributes, storeIds })).pipe(
            Effect.as(done),
            Effect.catchTags({
              ValidationFailed: (error) =>
                isTaken(error)
                  ? Effect.flatMap(sent, (now) => (now === "alike" ? Effect.succeed(done) : refuseOther))
                  : Effect.succeed(refuse(misfitsOf(wordsIn(visitor.pageLanguage), "product", error), 400)),
              PimLocked: () => Effect.succeed(refuse([{ field: "", message: lockedMessage }], 423))
            })
          )
        })
      )
    }
  })
)
