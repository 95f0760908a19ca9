import type { EntityRecord, EntityRow } from "../../catalog/Entity.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { IdentifiedSheet, Sheet } from "../../drafts/Drafts.ts"
import type { HistoryEntry } from "../../drafts/History.ts"
import type { DropRow } from "../../drops/Drop.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { DropBanner } from "../drops/DropBanner.tsx"
import { statusSentence } from "../drops/DropWords.tsx"
import { Facts } from "../Field.tsx"
import { Frame, Hidden, HiddenFields, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"
import {
  EntityLink,
  kindWords,
  PublishStateOf,
  publishStateOf,
  publishStates,
  storeNameOf,
  titleOr
} from "../Naming.tsx"
import { collectionProductsOf, newDropOf, pageOf, paths, reviewPath } from "../Paths.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { fields, hiddenFieldsOf, selectionOfOne } from "../selections/SelectionForm.ts"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import type { Editing } from "./CellForm.tsx"
import { EntityHistory } from "./EntityHistory.tsx"
import { type FormResult, ResultNote } from "./EntityNotes.tsx"
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
          [
            t("Last publish"),
            <PublishStateOf status={record.lastPublishStatus} pendingPublish={record.pendingPublish} />
          ],
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

type OnStore = EntityRecord["stores"][number]

/** A form with this field publishes even if the store has accepted the same values already. */
export const againField = "again"

interface PublishWords {
  readonly button: Sentence
  readonly label: Sentence
}

const retryWords: PublishWords = { button: "Retry", label: "Retry to {store}" }
const publishWords: PublishWords = { button: "Publish", label: "Publish to {store}" }
const againWords: PublishWords = { button: "Publish again", label: "Publish again to {store}" }

/** Publishes the draft that the page shows. */
const Publish = ({
  csrf,
  draftRevision,
  id,
  on: { last_publish_status, pending_publish, store_domain, store_id },
  store
}: {
  readonly csrf: string
  readonly id: EntityId
  readonly draftRevision: number
  readonly on: OnStore
  readonly store: Store | undefined
}) => {
  const t = useWords()

  const words = last_publish_status === "failed" ? retryWords : pending_publish ? publishWords : againWords
  if (store === undefined || store.platform === filesOnly)
    return (
      <span class="quiet">
        {pending_publish ? t("Unpublished: the store has no platform") : t("Nothing to publish")}
      </span>
    )
  return (
    <Allowed to="publish">
      <form method="post" action={paths.publishEntity} class="buttons" data-in-place>
        {!pending_publish && (
          <>
            <span class="quiet">{t("Nothing to publish")}</span>
            <input type="hidden" name={againField} value="yes" />
          </>
        )}
        <HiddenFields csrf={csrf} id={id} />
        <input type="hidden" name="store_id" value={store_id} />
        <input type="hidden" name="draft_revision" value={String(draftRevision)} />
        <button type="submit" class="plain" aria-label={t(words.label, { store: store_domain })}>
          {t(words.button)}
        </button>
      </form>
    </Allowed>
  )
}

/** The first step of a form that adds the entity to a store, or, with `storeId`, takes it off one. */
const MoveButton = ({
  csrf,
  id,
  kind,
  label,
  storeId
}: {
  readonly csrf: string
  readonly kind: EntityKind
  readonly id: EntityId
  readonly label?: string
  readonly storeId?: StoreId
}) => {
  const t = useWords()
  return (
    <Allowed to="edit">
      <form method="post" action={storeId === undefined ? paths.addSelected : paths.removeSelected} class="buttons">
        <HiddenFields csrf={csrf} />
        <Hidden
          of={[
            ...hiddenFieldsOf(selectionOfOne(kind, id)),
            ...(storeId === undefined ? [] : [[fields.store, storeId] as const, [fields.does, "review"] as const])
          ]}
        />
        <button type="submit" class="plain" aria-label={label}>
          {t(storeId === undefined ? "Add to a store" : "Take off")}
        </button>
      </form>
    </Allowed>
  )
}

const OnStores = ({
  csrf,
  kind,
  record: { draftRevision, id, stores },
  linked
}: {
  readonly kind: EntityKind
  readonly record: EntityRecord
  readonly linked: ReadonlyArray<Store>
  readonly csrf: string
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="stores">
      <h2 id="stores">{t("Stores")}</h2>
      {stores.length === 0 ? (
        <p class="quiet">{t("It is on no store.")}</p>
      ) : (
        <Table
          labelledBy="stores"
          columns={[t("Store"), t("Last publish"), t("Published"), t("Draft")]}
          rows={stores.map((on) => ({
            key: on.store_id,
            cells: [
              <bdi>{storeNameOf(linked, on)}</bdi>,
              <>
                <PublishStateOf status={on.last_publish_status} pendingPublish={on.pending_publish} />
                {on.last_publish_error !== null && (
                  <div class="wrong">
                    {t.say(on.last_publish_error.message)} (<code>{on.last_publish_error.code}</code>)
                  </div>
                )}
              </>,
              on.published_at === null ? t("never") : <Time at={on.published_at} />,
              <div class="buttons">
                <Publish
                  csrf={csrf}
                  id={id}
                  draftRevision={draftRevision}
                  on={on}
                  store={linked.find((each) => each.id === on.store_id)}
                />
                {on.published_at === null && on.last_publish_status !== "pending" && (
                  <MoveButton
                    csrf={csrf}
                    kind={kind}
                    id={id}
                    storeId={on.store_id}
                    label={t("Take off {store}", { store: on.store_domain })}
                  />
                )}
              </div>
            ]
          }))}
        />
      )}
      {kind !== "variant" && stores.length < linked.length && <MoveButton csrf={csrf} kind={kind} id={id} />}
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

/** The states of the stores. A failed publish shows its cause and a button to retry it. */
const StoreStates = ({
  csrf,
  linked,
  record: { draftRevision, id },
  sheet
}: {
  readonly sheet: Sheet
  readonly linked: ReadonlyArray<Store>
  readonly record: EntityRecord
  readonly csrf: string
}) => {
  const t = useWords()

  const nameOf = (on: OnStore) => <bdi>{storeNameOf(linked, on)}</bdi>
  const states = sheet.stores.map(({ projection }) => projection)
  return (
    <>
      <ul class="storechips" aria-label={t("States")}>
        {states.map((on) => {
          const { name, tone } = publishStates[publishStateOf(on.last_publish_status, on.pending_publish)]
          return (
            <li key={on.store_id} class="chip">
              <span class={`dot ${tone}`} />
              <span>
                {nameOf(on)}: {t(name)}
              </span>
            </li>
          )
        })}
      </ul>
      {states
        .filter((on) => on.last_publish_status === "failed")
        .map((on) => (
          <div key={on.store_id} class="failure">
            <p>
              <strong>{t.rich("{store} did not accept the last publish.", { store: nameOf(on) })}</strong>{" "}
              {t.say(on.last_publish_error?.message ?? "")}
            </p>
            <Publish
              csrf={csrf}
              id={id}
              draftRevision={draftRevision}
              on={on}
              store={linked.find((store) => store.id === on.store_id)}
            />
          </div>
        ))}
    </>
  )
}

/** The states of the stores in a sentence, for screen readers, with the causes of failed publishes. */
const statesIn = (t: Words, sheet: Sheet, linked: ReadonlyArray<Store>): string =>
  sheet.stores
    .map(({ projection }) => {
      const { last_publish_error, last_publish_status, pending_publish } = projection
      const { name } = publishStates[publishStateOf(last_publish_status, pending_publish)]
      return `${storeNameOf(linked, projection)}: ${t(name)}. ${last_publish_status === "failed" ? t.say(last_publish_error?.message ?? "") : ""}`.trim()
    })
    .join(" ")

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
  )
}

/** The cell that was saved last, or whose undo was refused. */
const savedIn = (result: FormResult | undefined) =>
  result?._tag === "Saved" || result?._tag === "NotUndone" ? result.saved : undefined

/**
 * `canShowMore`: whether a longer history can be shown. `drops`: the upcoming and live drops of the entity. `linked`: the stores of the
 * account. `field`: limits the history to this field.
 */
export const EntityPage = ({
  address,
  canShowMore,
  drops,
  editing,
  field,
  found,
  galleryEditing,
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
}: {
  readonly visitor: Visitor
  readonly result: FormResult | undefined
  readonly drops: ReadonlyArray<DropRow>
  readonly linked: ReadonlyArray<Store>
  readonly kind: EntityKind
  readonly record: EntityRecord
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
}) => {
  const t = useWords()
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
      {...(canSchedule(sheet, linked) && {
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
        <OnStores kind={kind} record={record} linked={linked} csrf={visitor.csrf} />
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
      </Live>
    </Frame>
  )
}
