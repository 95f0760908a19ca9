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

const statusWords: Readonly<Record<PublishStatus, { readonly name: string; readonly tone: string }>> = {
  never_published: { name: "Never published", tone: "idle" },
  pending: { name: "Being published", tone: "wait" },
  published: { name: "Published", tone: "good" },
  failed: { name: "Failed to publish", tone: "bad" }
}

/** A state, as a coloured word. */
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
}) => (
  <>
    <State {...statusWords[status]} />
    {pendingPublish && status !== "never_published" && <span class="quiet"> Waiting to be published</span>}
  </>
)

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`
