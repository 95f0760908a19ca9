import type { EntityRecord, EntityRow } from "../../catalog/Entity.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { IdentifiedSheet, Sheet } from "../../drafts/Drafts.ts"
import type { Holders } from "../../drafts/EntityUsesRepo.ts"
import type { HistoryEntry } from "../../drafts/History.ts"
import type { DropRow } from "../../drops/Drop.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { formNames } from "../creations/NewEntityForm.ts"
import { DropBanner } from "../drops/DropBanner.tsx"
import { statusSentence } from "../drops/DropWords.tsx"
import { Facts } from "../Field.tsx"
import { Frame, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { EntityLink, kindWords, PublishStateOf, titleOr } from "../Naming.tsx"
import { collectionProductsOf, newDropOf, pageOf, paths, reviewPath } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { Allowed, useWords } from "../Viewer.tsx"
import type { Editing } from "./CellForm.tsx"
import { EntityHistory } from "./EntityHistory.tsx"
import { type FormResult, ResultNote } from "./EntityNotes.tsx"
import { DeleteEntity, OnStores, StoreStates, statesIn } from "./EntityStores.tsx"
import { fieldName } from "./FieldNames.ts"
import { Gallery, type GalleryEditing } from "./Gallery.tsx"
import type { GridView } from "./GridAddress.ts"
import { sectionOf } from "./ListPages.ts"
import { PicturePicker } from "./PicturePicker.tsx"
import type { SharedSku } from "./SharedSkus.tsx"
import { ValueGrid } from "./ValueGrid.tsx"
import { VariantTable } from "./VariantTable.tsx"

type Related = Readonly<Record<"variants" | "media" | "collections" | "products", ReadonlyArray<EntityRow>>> & {
  readonly next_cursor: string | null
}

const Details = ({ kind, record }: { readonly kind: EntityKind; readonly record: EntityRecord }) => {
  const t = useWords()
  return (
    <section class="sheet" aria-labelledby="facts">
      <h2 id="facts">{t("Details")}</h2>
      <Facts
        of={[
          [t("Kind"), t(kindWords[kind])],
          [t("Id"), <code>{record.id}</code>],
          [t("Draft"), t("Revision {number, number}", { number: record.draftRevision })],
          [t("Last publish"), <PublishStateOf stores={record.stores} />],
          [t("Created"), <Time at={record.createdAt} />],
          [
            t("Changed"),
            <>
              <Time at={record.updatedAt} /> <span class="quiet">{t("in the catalog, without store overrides")}</span>
            </>
          ]
        ]}
      />
    </section>
  )
}

const relations = [
  { list: "products", name: "Products" },
  { list: "variants", name: "Variants" },
  { list: "collections", name: "Collections" }
] as const

/** The variants of a product have a table of their own. */
const RelatedTo = ({ kind, related }: { readonly kind: EntityKind; readonly related: Related }) => {
  const t = useWords()

  const filled = relations.filter(({ list }) => related[list].length > 0 && (list !== "variants" || kind !== "product"))
  return filled.length === 0 ? null : (
    <section aria-labelledby="related">
      <h2 id="related">{t("Related")}</h2>
      <div class="sheet">
        <dl>
          {filled.flatMap(({ list, name }) => [
            <dt key={list}>{t(name)}</dt>,
            ...related[list].map(({ id, title, type }) => (
              <dd key={id}>
                <EntityLink id={id} kind={type} title={title} />
              </dd>
            ))
          ])}
        </dl>
        {related.next_cursor !== null && <p class="quiet">{t("Only the first are listed.")}</p>}
      </div>
    </section>
  )
}

const ChangeProducts = ({ id, kind }: { readonly kind: EntityKind; readonly id: EntityId }) => {
  const t = useWords()
  return kind !== "collection" ? null : (
    <Allowed to="edit">
      <p>
        <a class="button plain" href={collectionProductsOf(id)}>
          {t("Change its products")}
        </a>
      </p>
    </Allowed>
  )
}

/** A drop needs a store with a platform. */
const canSchedule = (sheet: Sheet, linked: ReadonlyArray<Store>) =>
  sheet.stores.some(({ projection: { store_id } }) =>
    linked.some(({ id, platform }) => id === store_id && platform !== filesOnly)
  )

/** The number of stores that a publish would change. */
const countPending = (sheet: Sheet, linked: ReadonlyArray<Store>) =>
  sheet.stores.filter(
    ({ projection: { pending_publish, store_id } }) =>
      pending_publish && linked.some(({ id, platform }) => id === store_id && platform !== filesOnly)
  ).length

const Actions = ({
  id,
  linked,
  sheet
}: {
  readonly id: EntityId
  readonly sheet: Sheet
  readonly linked: ReadonlyArray<Store>
}) => {
  const t = useWords()

  const pending = countPending(sheet, linked)
  return (
    <>
      {sheet.kind === "product" && (
        <Allowed to="edit">
          <a class="button plain" href={`${paths.copyProduct}?${new URLSearchParams({ [formNames.owner]: id })}`}>
            {t("Duplicate")}
          </a>
        </Allowed>
      )}
      {canSchedule(sheet, linked) && (
        <Allowed to="publish">
          <a class="button plain" href={newDropOf(id)}>
            {t("Schedule a drop")}
          </a>
          {pending > 0 && (
            <a class="button" href={reviewPath(id)} data-drawer>
              {t("Review and publish to {count, plural, one {# store} other {# stores}}", { count: pending })}
            </a>
          )}
        </Allowed>
      )}
    </>
  )
}

/** Elements that the script of the cells adds to the page (`assets/inplace.ts`). */
const InPlace = () => {
  const t = useWords()
  return (
    <template id="in-place">
      <div class="alert failure" role="alert">
        <p>{t("The connection to the service failed. What you typed stays here.")}</p>
        <button type="button">{t("Try again")}</button>
      </div>
    </template>
  )
}

/** The cell that was saved last, or whose undo was refused. */
const savedIn = (result: FormResult | undefined) =>
  result?._tag === "Saved" || result?._tag === "NotUndone" ? result.saved : undefined

/**
 * `canShowMore`: whether a longer history can be shown. `drops`: the upcoming and live drops of the entity. `linked`: the stores of the
 * account. `field`: limits the history to this field.
 */
interface EntityPageProps {
  readonly visitor: Visitor
  readonly result: FormResult | undefined
  readonly drops: ReadonlyArray<DropRow>
  readonly linked: ReadonlyArray<Store>
  readonly kind: EntityKind
  readonly record: EntityRecord
  /** The stores that a product cannot leave because of its variants. */
  readonly holders: Holders
  readonly sheet: Sheet
  readonly view: GridView
  readonly editing: Editing | undefined
  readonly galleryEditing: GalleryEditing | undefined
  /** The media of the gallery, in order, and of its last change. */
  readonly pictures: ReadonlyArray<ListedEntity>
  /** The media that can be added to the gallery. */
  readonly found: MerchantPage | undefined
  readonly address: PictureAddress
  readonly field: string | undefined
  readonly related: Related
  readonly variants: ReadonlyArray<IdentifiedSheet>
  readonly sharedSkus: ReadonlyArray<SharedSku>
  readonly history: ReadonlyArray<HistoryEntry>
  readonly canShowMore: boolean
}

export const EntityPage = ({
  address,
  canShowMore,
  drops,
  editing,
  field,
  found,
  galleryEditing,
  holders,
  history,
  kind,
  linked,
  pictures,
  record,
  related,
  result,
  sharedSkus,
  sheet,
  variants,
  view,
  visitor
}: EntityPageProps) => {
  const t = useWords()
  const leaving = { csrf: visitor.csrf, kind, record, holders }
  const galleryProps = {
    csrf: visitor.csrf,
    draftRevision: record.draftRevision,
    sheet,
    linked,
    view,
    pictures,
    found,
    address,
    editing: galleryEditing,
    saved: result?._tag === "Picture" ? result.saved : undefined
  }
  return (
    <Frame
      title={titleOr(t, kind, record.title)}
      visitor={visitor}
      current={sectionOf(kind)}
      {...((kind === "product" || canSchedule(sheet, linked)) && {
        actions: (
          <Live id="actions" on={[`publish:${record.id}`]}>
            <Actions id={record.id} sheet={sheet} linked={linked} />
          </Live>
        )
      })}
    >
      {result !== undefined && <ResultNote id={record.id} {...{ result, sheet, linked, pictures, variants }} />}
      <Live id="drops" on={["drop"]} says={drops.map((drop) => statusSentence(t, drop)).join(" ")}>
        <DropBanner drops={drops} />
      </Live>
      <Live id="published" on={[`publish:${record.id}`]} says={statesIn(t, sheet, linked)}>
        <StoreStates sheet={sheet} linked={linked} record={record} csrf={visitor.csrf} />
        <ValueGrid
          csrf={visitor.csrf}
          draftRevision={record.draftRevision}
          sheet={sheet}
          linked={linked}
          view={view}
          editing={editing}
          saved={savedIn(result)}
        />
      </Live>
      <Gallery {...galleryProps}>
        <PicturePicker {...galleryProps} />
      </Gallery>
      <Live id="onstores" on={[`publish:${record.id}`]}>
        <VariantTable
          csrf={visitor.csrf}
          product={sheet}
          linked={linked}
          view={view}
          variants={variants}
          sharedSkus={sharedSkus}
          total={record.variantIds.length}
          editing={editing}
          saved={savedIn(result)}
          moved={result?._tag === "Moved" ? result.moved : undefined}
        />
        <OnStores {...leaving} linked={linked} />
      </Live>
      <RelatedTo kind={kind} related={related} />
      <ChangeProducts kind={kind} id={record.id} />
      <EntityHistory
        history={history}
        linked={linked}
        {...(field === undefined
          ? {}
          : { field: { name: fieldName(t, field), all: `${pageOf(paths.entity, record.id)}#history` } })}
        more={canShowMore ? `${pageOf(paths.entity, record.id)}&history=all#history` : undefined}
      />
      <Live id="details" on={[`publish:${record.id}`]}>
        <Details kind={kind} record={record} />
        <DeleteEntity {...leaving} />
      </Live>
      <InPlace />
    </Frame>
  )
}
