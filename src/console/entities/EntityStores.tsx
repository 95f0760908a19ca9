import type { EntityRecord } from "../../catalog/Entity.ts"
import type { Sheet } from "../../drafts/Drafts.ts"
import type { Holders } from "../../drafts/EntityUsesRepo.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { Hidden, HiddenFields, Time } from "../Frame.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"
import { isWaiting, publishStateOn, publishStates, State, storeNameOf } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { fields, hiddenFieldsOf, selectionOfOne } from "../selections/SelectionForm.ts"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"

type OnStore = EntityRecord["stores"][number]

/** A form with this field publishes even if the store has accepted the same values already. */
export const againField = "again"

/** A form with this field cancels the publish. */
export const cancelField = "cancel"

interface PublishWords {
  readonly button: Sentence
  readonly label: Sentence
}

const retryWords: PublishWords = { button: "Retry", label: "Retry to {store}" }
/** A publish that waits is tried at once if it is requested again. */
const nowWords: PublishWords = { button: "Try again now", label: "Try again now: {store}" }
const publishWords: PublishWords = { button: "Publish", label: "Publish to {store}" }
const againWords: PublishWords = { button: "Publish again", label: "Publish again to {store}" }

const wordsOf = (on: OnStore): PublishWords =>
  isWaiting(on)
    ? nowWords
    : on.last_publish_status === "failed"
      ? retryWords
      : on.pending_publish
        ? publishWords
        : againWords

/** Publishes the draft that the page shows. */
const Publish = ({
  csrf,
  draftRevision,
  id,
  linked,
  on
}: {
  readonly csrf: string
  readonly id: EntityId
  readonly draftRevision: number
  readonly linked: ReadonlyArray<Store>
  readonly on: OnStore
}) => {
  const t = useWords()

  const { pending_publish, store_domain, store_id } = on
  const store = linked.find((each) => each.id === store_id)
  const words = wordsOf(on)
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
        {isWaiting(on) && (
          <button
            type="submit"
            class="plain"
            name={cancelField}
            value="yes"
            aria-label={t("Cancel the publish to {store}", { store: store_domain })}
          >
            {t("Cancel the publish")}
          </button>
        )}
      </form>
    </Allowed>
  )
}

/** The first step of a form about the entity. With a store, which leaves nothing to choose, it is the review. */
const SelectionStep = ({
  action,
  button,
  csrf,
  id,
  kind,
  label,
  storeId
}: {
  readonly action: string
  readonly button: Sentence
  readonly csrf: string
  readonly kind: EntityKind
  readonly id: EntityId
  readonly label?: string
  readonly storeId?: StoreId
}) => {
  const t = useWords()
  return (
    <Allowed to="edit">
      <form method="post" action={action} class="buttons">
        <HiddenFields csrf={csrf} />
        <Hidden
          of={[
            ...hiddenFieldsOf(selectionOfOne(kind, id)),
            ...(storeId === undefined ? [] : [[fields.store, storeId] as const, [fields.does, "review"] as const])
          ]}
        />
        <button type="submit" class="plain" aria-label={label}>
          {t(button)}
        </button>
      </form>
    </Allowed>
  )
}

/** Whether the entity may leave the store, as far as the page knows. The job decides it from more. */
const mayLeave = (on: OnStore) => on.published_at === null && on.last_publish_status !== "pending"

/** Why the entity cannot be deleted, or taken off a store: in the place of the button. */
const WhyKept = ({ words }: { readonly words: Sentence }) => {
  const t = useWords()
  return (
    <Allowed to="edit">
      <p class="quiet">{t(words)}</p>
    </Allowed>
  )
}

/** Deletes the entity, unless a store has it. Names the reason if a gallery has it, or a store a variant of it. */
export const DeleteEntity = ({
  csrf,
  holders,
  kind,
  record: { id, stores, usedBy }
}: {
  readonly csrf: string
  readonly kind: EntityKind
  readonly record: EntityRecord
  readonly holders: Holders
}) => {
  const t = useWords()
  if (!stores.every(mayLeave)) return null
  if (usedBy.length > 0)
    return <WhyKept words="A gallery has this picture, so it cannot be deleted: take it out of that gallery first." />
  return holders.ofVariants.size > 0 ? (
    <WhyKept words="A store has a variant of this product, or may have it, so the product cannot be deleted." />
  ) : (
    <>
      <SelectionStep {...{ csrf, kind, id }} action={paths.deleteSelected} button="Delete" />
      {holders.unlinked.length > 0 && (
        <Allowed to="edit">
          <p class="quiet">
            {t(
              "Unlinked stores that have it: {stores}. Deleting it also removes what the catalog knows of it there. If such a store is linked again and still has it, its next refresh offers it as new.",
              { stores: holders.unlinked.join(", ") }
            )}
          </p>
        </Allowed>
      )}
    </>
  )
}

/** Takes the entity off the store, if it may leave it. Names the reason if the store has a variant of it. */
const TakeOff = ({
  csrf,
  holders,
  id,
  kind,
  on
}: {
  readonly csrf: string
  readonly holders: Holders
  readonly id: EntityId
  readonly kind: EntityKind
  readonly on: OnStore
}) => {
  const t = useWords()
  if (!mayLeave(on)) return null
  return holders.ofVariants.has(on.store_id) ? (
    <WhyKept words="The store has a variant of this product, or may have it, so the product cannot be taken off." />
  ) : (
    <SelectionStep
      {...{ csrf, kind, id }}
      action={paths.removeSelected}
      button="Take off"
      storeId={on.store_id}
      label={t("Take off {store}", { store: on.store_domain })}
    />
  )
}

export const OnStores = ({
  csrf,
  holders,
  kind,
  record: { draftRevision, id, stores, usedBy },
  linked
}: {
  readonly kind: EntityKind
  readonly record: EntityRecord
  readonly holders: Holders
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
                <State {...publishStates[publishStateOn(on)]} />
                {on.last_publish_error !== null && (
                  <div class="wrong">
                    {t.say(on.last_publish_error.message)} (<code>{on.last_publish_error.code}</code>)
                  </div>
                )}
              </>,
              on.published_at === null ? t("never") : <Time at={on.published_at} />,
              <div class="buttons">
                <Publish {...{ csrf, draftRevision, id, linked, on }} />
                <TakeOff {...{ csrf, holders, id, kind, on }} />
              </div>
            ]
          }))}
        />
      )}
      {usedBy.length > 0 && stores.some(mayLeave) && (
        <WhyKept words="A picture cannot be taken off a store where a gallery shows it: take it out of that gallery first." />
      )}
      {kind !== "variant" && stores.length < linked.length && (
        <SelectionStep action={paths.addSelected} button="Add to a store" csrf={csrf} kind={kind} id={id} />
      )}
    </section>
  )
}

/** The states of the stores. A publish that failed or waits shows its cause and a button to try it again. */
export const StoreStates = ({
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
          const { name, tone } = publishStates[publishStateOn(on)]
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
      {[...states.filter((on) => on.last_publish_status === "failed"), ...states.filter(isWaiting)].map((on) => (
        <div key={on.store_id} class="failure">
          <p>
            <strong>
              {isWaiting(on)
                ? t.rich("The publish to {store} waits.", { store: nameOf(on) })
                : t.rich("{store} did not accept the last publish.", { store: nameOf(on) })}
            </strong>{" "}
            {t.say(on.last_publish_error?.message ?? "")}
          </p>
          <Publish {...{ csrf, draftRevision, id, linked, on }} />
        </div>
      ))}
    </>
  )
}

/** The states of the stores in a sentence, for screen readers, with the causes of publishes that failed or wait. */
export const statesIn = (t: Words, sheet: Sheet, linked: ReadonlyArray<Store>): string =>
  sheet.stores
    .map(({ projection }) => {
      const { last_publish_error, last_publish_status } = projection
      const hasCause = last_publish_status === "failed" || isWaiting(projection)
      const { name } = publishStates[publishStateOn(projection)]
      return `${storeNameOf(linked, projection)}: ${t(name)}. ${hasCause ? t.say(last_publish_error?.message ?? "") : ""}`.trim()
    })
    .join(" ")
