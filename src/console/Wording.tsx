import { type ComponentChildren, Fragment } from "preact"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { fieldName } from "./entities/FieldNames.ts"
import { kindWords } from "./Naming.tsx"
import { pageOf, paths } from "./Paths.ts"
import { EmptyValue } from "./Values.tsx"
import { useWords } from "./Viewer.tsx"

export const shorten = (text: string, maxCharacters: number): string => {
  const characters = [...text]
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters).join("")}…` : text
}

/** Text that a person wrote. It keeps its own writing direction and is shortened to a line or two. */
export const Text = ({ children }: { readonly children: string }) => <bdi>{shorten(children, 160)}</bdi>

/** The key of an attribute. A line can break after a dot or an underscore. */
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

/** A field by its name. A metafield has its key too, because two metafields can have the same name. */
export const FieldName = ({ children }: { readonly children: string }) => {
  const t = useWords()
  const name = <bdi>{fieldName(t, children)}</bdi>
  return children.includes(".") ? (
    <>
      {name} <Key>{children}</Key>
    </>
  ) : (
    name
  )
}

/** The beginning of a value; an empty value is shown as "empty". */
export const ShortValue = ({ children }: { readonly children: string }) =>
  children === "" ? <EmptyValue /> : <Text>{children}</Text>

/** Words for screen readers only. */
export const spoken = (words: ComponentChildren) => <span class="spoken">{words}</span>

/** A store by its name. */
export const StoreName = ({ id, stores }: { readonly id: StoreId; readonly stores: ReadonlyArray<Store> }) => {
  const t = useWords()

  const store = stores.find((each) => each.id === id)
  return store === undefined ? <span>{t("an unlinked store")}</span> : <Text>{store.name}</Text>
}

/** An entity and its kind. The entity is named by its title, or by its id if the title is unknown. A deleted one has no page. */
export const EntityName = ({
  id,
  isDeleted = false,
  kind,
  title
}: {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly title: string | undefined
  readonly isDeleted?: boolean
}) => {
  const t = useWords()
  const name =
    title === undefined ? <code>{id}</code> : title.trim() === "" ? t("Without a title") : <Text>{title}</Text>
  return (
    <>
      {isDeleted ? name : <a href={pageOf(paths.entity, id)}>{name}</a>}
      <br />
      <span class="quiet">
        {t(kindWords[kind])}
        {isDeleted && ` (${t("Deleted")})`}
      </span>
    </>
  )
}
