import { Either, Schema } from "effect"
import type { EntityKind } from "../../model/Attribute.ts"
import { relationships } from "../../model/FieldOrder.ts"
import { EntityId, type StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { PublishPreview } from "../../publishing/Publishing.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Refusal } from "../Frame.tsx"
import type { Saying, Words } from "../languages/Words.tsx"
import { EntityLink, titleOr } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { ComparedValue, EmptyValue } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"
import { fieldName } from "./FieldNames.ts"
import { sectionOf } from "./ListPages.ts"

/** The preview of a publish to one store, or the reason why it cannot be published. */
export type StorePreview = { readonly store: Store } & (
  | { readonly _tag: "Preview"; readonly preview: PublishPreview }
  | { readonly _tag: "Refused"; readonly message: string }
)

/** The name of the checkbox of a store, before its id. */
export const chosenPrefix = "to-"

const readIds = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(EntityId)))

const pictureKey = "media_ids"

/** The number of entities in a list of ids. `live`: the list that a new one replaces. Both may have the same entities in another order. */
const sizeOf = (t: Words, list: string, live?: string) => {
  const ids = readIds(list)
  if (Either.isLeft(ids)) return list
  const count = ids.right.length
  const before = live === undefined ? [] : Either.getOrElse(readIds(live), () => [])
  return count > 0 && before.length === count && new Set([...before, ...ids.right]).size === count
    ? t("{count, plural, one {# entry} other {# entries}} in another order", { count })
    : t("{count, plural, one {# entry} other {# entries}}", { count })
}

interface SideProps {
  readonly field: string
  readonly value: string
  readonly other: string
  readonly isNew?: boolean
}

const Side = ({ field, isNew = false, other, value }: SideProps) => {
  const t = useWords()
  return relationships.includes(field) ? (
    <span>{sizeOf(t, value, isNew ? other : undefined)}</span>
  ) : (
    <bdi class="value">
      <ComparedValue text={value} other={other} />
    </bdi>
  )
}

/** The names of pictures by id. A picture that was deleted has none. */
type PictureNames = ReadonlyMap<EntityId, string>

/** Maximum pictures of a gallery that a side of a preview names. */
const maxNamed = 10

const idsIn = (list: string) => Either.getOrElse(readIds(list), () => [])

/** The pictures of a list that another list does not have. */
const onlyIn = (list: string, other: string): ReadonlyArray<EntityId> => {
  const others = new Set(idsIn(other))
  return idsIn(list).filter((id) => !others.has(id))
}

/** The pictures that a preview names: those that leave the store, and those that come to it. A variant has at most one. */
export const picturesIn = ({ differences }: PublishPreview): ReadonlyArray<EntityId> =>
  differences
    .filter(({ key }) => key === pictureKey)
    .flatMap(({ draft, live }) => [onlyIn(live, draft), onlyIn(draft, live)].flatMap((ids) => ids.slice(0, maxNamed)))

interface PictureSideProps {
  readonly list: string
  readonly other: string
  readonly names: PictureNames
}

const PictureLink = ({ id, names }: { readonly id: EntityId; readonly names: PictureNames }) => (
  <EntityLink id={id} kind="media" title={names.get(id) ?? ""} />
)

const Picture = ({ list, names }: PictureSideProps) => {
  const [id] = idsIn(list)
  return id === undefined ? <EmptyValue /> : <PictureLink id={id} names={names} />
}

/** One side of a gallery: its size, and the pictures that only this side has. */
const GallerySide = ({ isNew = false, list, names, other }: PictureSideProps & { readonly isNew?: boolean }) => {
  const t = useWords()
  const own = onlyIn(list, other)
  const more = own.length - maxNamed
  return (
    <>
      <Side field={pictureKey} value={list} other={other} isNew={isNew} />
      {own.length > 0 && (
        <div>
          {t(isNew ? "Added:" : "Taken out:")}
          <ul>
            {own.slice(0, maxNamed).map((id) => (
              <li key={id}>
                <PictureLink id={id} names={names} />
              </li>
            ))}
            {more > 0 && <li class="quiet">{t("and {count, number} more", { count: more })}</li>}
          </ul>
        </div>
      )}
    </>
  )
}

const Changes = ({
  id,
  isVariant,
  pictures,
  preview
}: {
  readonly id: string
  readonly isVariant: boolean
  readonly preview: PublishPreview
  readonly pictures: PictureNames
}) => {
  const t = useWords()
  return (
    <>
      {!preview.isLive && <p class="quiet">{t("It was never published to this store.")}</p>}
      {preview.differences.length > 0 && (
        <Table
          labelledBy={id}
          columns={[t("Field"), t("Live"), t("New value")]}
          rows={preview.differences.map(({ draft, key, live }) => {
            const [before, after] = [
              { list: live, other: draft, names: pictures },
              { list: draft, other: live, names: pictures }
            ]
            return {
              key,
              cells:
                key !== pictureKey
                  ? [
                      fieldName(t, key),
                      <Side field={key} value={live} other={draft} />,
                      <Side field={key} value={draft} other={live} isNew />
                    ]
                  : isVariant
                    ? [t("Picture"), <Picture {...before} />, <Picture {...after} />]
                    : [fieldName(t, key), <GallerySide {...before} />, <GallerySide {...after} isNew />]
            }
          })}
        />
      )}
      {preview.included.length > 0 && (
        <p class="quiet">
          {t(
            "{count, plural, one {# variant or media file} other {# variants and media files}} will be published with it.",
            { count: preview.included.length }
          )}
        </p>
      )}
    </>
  )
}

const StoreSection = ({
  chosen,
  isVariant,
  pictures,
  row
}: {
  readonly row: StorePreview
  readonly isVariant: boolean
  readonly pictures: PictureNames
  readonly chosen: ReadonlyArray<StoreId> | undefined
}) => {
  const t = useWords()

  const { id, name } = row.store
  const heading = `on-${id}`
  if (row._tag === "Refused")
    return (
      <section aria-labelledby={heading}>
        <h2 id={heading}>
          <bdi>{name}</bdi>
        </h2>
        <p class="wrong">{t("Cannot be published: {problem}.", { problem: row.message })}</p>
      </section>
    )
  const { outcome } = row.preview
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>
        {outcome === "would_publish" ? (
          <label class="pick">
            <input
              type="checkbox"
              name={`${chosenPrefix}${id}`}
              value="yes"
              checked={chosen === undefined || chosen.includes(id)}
            />
            <span>
              <span class="spoken">{t("Publish to")} </span>
              <bdi>{name}</bdi>
            </span>
          </label>
        ) : (
          <bdi>{name}</bdi>
        )}
      </h2>
      {outcome === "joined" && <p class="quiet">{t("This draft is being published already.")}</p>}
      {outcome === "nothing_to_publish" ? (
        <p class="quiet">{t("Nothing to publish.")}</p>
      ) : (
        <Changes id={heading} isVariant={isVariant} preview={row.preview} pictures={pictures} />
      )}
    </section>
  )
}

/**
 * Shows by store what a publish of an entity would change: the live and the new values. `chosen`: the stores of the
 * refused form. `pictures`: the names of the pictures that `picturesIn` finds.
 */
export const ReviewPage = ({
  chosen,
  draftRevision,
  id,
  kind,
  pictures,
  refusal,
  rows,
  title,
  visitor
}: {
  readonly visitor: Visitor
  readonly id: EntityId
  readonly kind: EntityKind
  readonly title: string
  readonly draftRevision: number
  readonly rows: ReadonlyArray<StorePreview>
  readonly pictures: PictureNames
  readonly refusal?: Saying | undefined
  readonly chosen?: ReadonlyArray<StoreId> | undefined
}) => {
  const t = useWords()

  const isOpen = rows.some((row) => row._tag === "Preview" && row.preview.outcome === "would_publish")
  return (
    <Frame
      title={t("Publish {entity}", { entity: titleOr(t, kind, title) })}
      visitor={visitor}
      current={sectionOf(kind)}
    >
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={pageOf(paths.entity, id)}>
          <bdi>{titleOr(t, kind, title)}</bdi>
        </a>
      </nav>
      <Refusal text={refusal} />
      {rows.length === 0 && <p class="quiet">{t("It is on no store that has a platform.")}</p>}
      <form method="post" action={paths.reviewEntity} class="review">
        <HiddenFields csrf={visitor.csrf} id={id} />
        <input type="hidden" name="draft_revision" value={String(draftRevision)} />
        {rows.map((row) => (
          <StoreSection
            key={row.store.id}
            row={row}
            chosen={chosen}
            isVariant={kind === "variant"}
            pictures={pictures}
          />
        ))}
        <div class="buttons">
          {isOpen && <button type="submit">{t("Publish to the chosen stores")}</button>}
          <a class="button plain" href={pageOf(paths.entity, id)}>
            {isOpen ? t("Cancel") : t("Back")}
          </a>
        </div>
      </form>
    </Frame>
  )
}
