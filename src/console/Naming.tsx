import { Fragment } from "preact"
import type { HistoryActor } from "../drafts/History.ts"
import type { ImportRun } from "../imports/Import.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import type { PublishStatus } from "../model/PublishState.ts"
import { pageOf, paths } from "./Paths.ts"

export const kindWords: Readonly<Record<EntityKind, string>> = {
  product: "Product",
  variant: "Variant",
  collection: "Collection",
  media: "Media file"
}

export const titleOr = (kind: EntityKind, title: string): string =>
  title.trim() === "" ? `${kindWords[kind]} without a title` : title

export const EntityLink = ({
  id,
  kind,
  title
}: {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly title: string
}) => (
  <a href={pageOf(paths.entity, id)}>
    <bdi>{titleOr(kind, title)}</bdi>
  </a>
)

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

export const importTitle = ({ fileName, storeDomain }: Pick<ImportRun, "fileName" | "storeDomain">): string =>
  fileName === null ? `Refresh of ${storeDomain}` : `Import of ${fileName} into ${storeDomain}`

/** The name of an actor at the time of the action. */
export const actorName = ({ kind, name }: HistoryActor): string => {
  switch (kind) {
    case "user":
      return name ?? "A user"
    case "key":
      return name === null ? "An API key" : `API key ${name}`
    case "connection":
      return name === null ? "An agent" : `Agent ${name}`
    case "cli":
      return "Command line"
  }
}

/** Merchants' words for the publish states: of an entity on one store, or the worst state on its stores. */
export const publishStates = {
  live: { name: "Live", tone: "good" },
  changed: { name: "Changed", tone: "wait" },
  publishing: { name: "Publishing", tone: "busy" },
  failed: { name: "Failed", tone: "bad" },
  unpublished: { name: "Not published", tone: "idle" }
} as const

export type PublishStateName = keyof typeof publishStates

/** `pendingPublish`: there is a draft that is not published. */
export const publishStateOf = (status: PublishStatus, pendingPublish: boolean): PublishStateName => {
  switch (status) {
    case "never_published":
      return "unpublished"
    case "pending":
      return "publishing"
    case "failed":
      return "failed"
    case "published":
      return pendingPublish ? "changed" : "live"
  }
}

/** A state: a dot and a word. */
export const State = ({ name, tone }: { readonly name: string; readonly tone: string }) => (
  <span class={`state ${tone}`}>{name}</span>
)

/** The publish state of an entity. `pendingPublish`: the entity has a draft that is not published. */
export const PublishStateOf = ({
  pendingPublish,
  status
}: {
  readonly status: PublishStatus
  readonly pendingPublish: boolean
}) => <State {...publishStates[publishStateOf(status, pendingPublish)]} />

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`
