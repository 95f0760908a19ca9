import { Fragment } from "preact"
import type { EntityRecord } from "../catalog/Entity.ts"
import type { HistoryActor } from "../drafts/History.ts"
import type { ImportRun } from "../imports/Import.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { isDelayed, type PublishStatus, rollUp } from "../model/PublishState.ts"
import type { Store } from "../model/Store.ts"
import type { Sentence, Words } from "./languages/Words.tsx"
import { pageOf, paths } from "./Paths.ts"
import { useWords } from "./Viewer.tsx"

export const kindWords: Readonly<Record<EntityKind, Sentence>> = {
  product: "Product",
  variant: "Variant",
  collection: "Collection",
  media: "Media file"
}

const untitled: Readonly<Record<EntityKind, Sentence>> = {
  product: "Product without a title",
  variant: "Variant without a title",
  collection: "Collection without a title",
  media: "Media file without a title"
}

export const titleOr = (t: Words, kind: EntityKind, title: string): string =>
  title.trim() === "" ? t(untitled[kind]) : title

/** The name of an entity. That of a variant begins with its product's, because many variants have the same title. */
export const fullName = (
  t: Words,
  {
    kind,
    parentTitle,
    title
  }: { readonly kind: EntityKind; readonly parentTitle: string | null; readonly title: string }
): string =>
  parentTitle === null ? titleOr(t, kind, title) : `${titleOr(t, "product", parentTitle)}: ${titleOr(t, kind, title)}`

export const EntityLink = ({
  id,
  kind,
  title
}: {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly title: string
}) => {
  const t = useWords()
  return (
    <a href={pageOf(paths.entity, id)}>
      <bdi>{titleOr(t, kind, title)}</bdi>
    </a>
  )
}

/** The domain of a store. A line can break after each dot. */
export const Domain = ({ name }: { readonly name: string }) => (
  <>
    {name.split(/(?<=\.)/).map((label) => (
      <Fragment key={label}>
        {label}
        <wbr />
      </Fragment>
    ))}
  </>
)

/** The name of a store, or its domain if it is not linked any more. */
export const storeNameOf = <Name extends string | null>(
  linked: ReadonlyArray<Store>,
  { store_domain, store_id }: { readonly store_id: StoreId | null; readonly store_domain: Name }
): string | Name => linked.find(({ id }) => id === store_id)?.name ?? store_domain

export const importTitle = (t: Words, { fileName, storeName }: Pick<ImportRun, "fileName" | "storeName">): string =>
  fileName === null
    ? t("Refresh of {store}", { store: storeName })
    : t("Import of {file} into {store}", { file: fileName, store: storeName })

/** The name of an actor at the time of the action. */
export const actorName = (t: Words, { kind, name }: Pick<HistoryActor, "kind" | "name">): string => {
  switch (kind) {
    case "user":
      return name ?? t("A user")
    case "key":
      return name === null ? t("An API key") : t("API key {name}", { name })
    case "connection":
      return name === null ? t("An agent") : t("Agent {name}", { name })
    case "cli":
      return t("Command line")
  }
}

/** Merchants' words for the publish states: of an entity on one store, or the worst state on its stores. */
export const publishStates = {
  live: { name: "Live", tone: "good" },
  changed: { name: "Changed", tone: "wait" },
  publishing: { name: "Publishing", tone: "busy" },
  waiting: { name: "Waiting for the store", tone: "wait" },
  failed: { name: "Failed", tone: "bad" },
  unpublished: { name: "Not published", tone: "idle" }
} as const satisfies Readonly<Record<string, { readonly name: Sentence; readonly tone: string }>>

export type PublishStateName = keyof typeof publishStates

/** `pendingPublish`: there is a draft that is not published. `hasDelay`: a publish waits, because the store's platform does not answer. */
export const publishStateOf = (status: PublishStatus, pendingPublish: boolean, hasDelay = false): PublishStateName => {
  switch (status) {
    case "never_published":
      return "unpublished"
    case "pending":
      return hasDelay ? "waiting" : "publishing"
    case "failed":
      return "failed"
    case "published":
      return pendingPublish ? "changed" : "live"
  }
}

type OnStore = Pick<EntityRecord["stores"][number], "last_publish_error" | "last_publish_status" | "pending_publish">

/** Whether a publish waits, because the store's platform does not answer. */
export const isWaiting = ({ last_publish_error, last_publish_status }: OnStore): boolean =>
  last_publish_status === "pending" && isDelayed(last_publish_error)

/** The publish state of an entity on one store. */
export const publishStateOn = (on: OnStore): PublishStateName =>
  publishStateOf(on.last_publish_status, on.pending_publish, isWaiting(on))

/** A state: a dot and a word. */
export const State = ({ name, tone }: { readonly name: string; readonly tone: string }) => {
  const t = useWords()
  return <span class={`state ${tone}`}>{t.say(name)}</span>
}

/** The publish state of an entity: the worst state on its stores. */
export const PublishStateOf = ({ stores }: { readonly stores: ReadonlyArray<OnStore> }) => {
  const { lastPublishStatus, pendingPublish } = rollUp(
    stores.map((on) => ({ lastPublishStatus: on.last_publish_status, pendingPublish: on.pending_publish }))
  )
  return <State {...publishStates[publishStateOf(lastPublishStatus, pendingPublish, stores.some(isWaiting))]} />
}

const counts: Readonly<Record<EntityKind, Sentence>> = {
  product: "{count, plural, one {# product} other {# products}}",
  variant: "{count, plural, one {# variant} other {# variants}}",
  collection: "{count, plural, one {# collection} other {# collections}}",
  media: "{count, plural, one {# media file} other {# media files}}"
}

/** A number of entities of one kind. */
export const countOf = (t: Words, kind: EntityKind, count: number): string => t(counts[kind], { count })
