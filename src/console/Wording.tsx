import { Fragment } from "preact"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { kindWords } from "./Naming.tsx"
import { pageOf, paths } from "./Paths.ts"

/** Text that others wrote, in the direction in which it reads, cut where it is longer than a line or two. */
export const Text = ({ children, most = 160 }: { readonly children: string; readonly most?: number }) => {
  const characters = [...children]
  return <bdi>{characters.length > most ? `${characters.slice(0, most).join("")}…` : children}</bdi>
}

/** The key of an attribute, which may break between its words. */
export const Key = ({ children }: { readonly children: string }) => (
  <code>
    {children.split(/(?<=[._])/).map((part, index) => (
      <Fragment key={`${index} ${part}`}>
        {index > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </code>
)

/** The beginning of a value that somebody wrote, or that there is none. */
export const ShortValue = ({ children }: { readonly children: string }) =>
  children === "" ? <span class="quiet">empty</span> : <Text>{children}</Text>

/** A store by its name. */
export const StoreName = ({ id, stores }: { readonly id: StoreId; readonly stores: ReadonlyArray<Store> }) => {
  const store = stores.find((each) => each.id === id)
  return store === undefined ? <span>a store that was unlinked</span> : <Text>{store.name}</Text>
}

/** An entity by its title, with its kind; by its id where the title is not known. */
export const EntityName = ({
  id,
  kind,
  title
}: {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly title: string | undefined
}) => (
  <>
    <a href={pageOf(paths.entity, id)}>
      {title === undefined ? <code>{id}</code> : title.trim() === "" ? "Without a title" : <Text>{title}</Text>}
    </a>
    <br />
    <span class="quiet">{kindWords[kind]}</span>
  </>
)
