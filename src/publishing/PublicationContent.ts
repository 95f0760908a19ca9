import { Either, Schema } from "effect"
import { AcceptedValues, type Aggregate, byPosition } from "../catalog/Aggregate.ts"
import { publishable, samePublishable } from "../drafts/Aggregate.ts"
import type { LockedCatalog } from "../drafts/CatalogChange.ts"
import { Attributes, EntityKind, effective } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, type PublicationId, type StoreId } from "../model/Ids.ts"
import { FirstOption } from "../model/ProductOptions.ts"
import type { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { Publication, type PublishedEntity } from "../platform/Publication.ts"
import { findFirstOption, givesOption, withFormerValue } from "./FirstOption.ts"
import { pictureLeftOut, sendPicture } from "./VariantPicture.ts"

const entityFields = { kind: EntityKind, /** A variant's product, else null. */ productId: Schema.NullOr(EntityId) }

/** The values that a publish request fixes. Edits after the request stay drafts. */
export const PublicationContent = Schema.Union(
  /** The draft at the time of the request. */
  Schema.TaggedStruct("Draft", {
    ...entityFields,
    values: AcceptedValues,
    /**
     * Other entities that are published together with this one and share its outcome: the variants of a product on its first
     * publish, and media that the store has never accepted.
     */
    carried: Schema.Array(
      Schema.Struct({
        entityId: EntityId,
        attributes: Attributes,
        /** The picture of a variant, as in its accepted values. */
        media: Schema.optionalWith(Schema.Array(EntityId), { exact: true })
      })
    ),
    /** The first option of a product that is live without options: of the entity, or of the product of a variant. */
    firstOption: Schema.optionalWith(FirstOption, { exact: true }),
    /** Draft revisions of the entity and of `carried`. If the revisions are equal, the publications are equal. */
    revisions: Schema.Record({ key: EntityId, value: Schema.Int })
  }),
  /**
   * The values that the store accepted last, except that `fields` are replaced (`""` empties a field). Other drafts are not
   * published. `values`: all values to send, set before the first push, and again before another push if the accepted values changed.
   * `before`: the accepted values of `fields` at that time.
   */
  Schema.TaggedStruct("Fields", {
    ...entityFields,
    fields: Attributes,
    values: Schema.NullOr(AcceptedValues),
    before: Schema.optionalWith(Attributes, { exact: true }),
    /** The first option of the product that is live without options, if `fields` have the option value of its variant. */
    firstOption: Schema.optionalWith(FirstOption, { exact: true }),
    /** If the publish fails, but the store may have taken a part of the values, a publication of the values before follows. */
    isTakenBack: Schema.optionalWith(Schema.Boolean, { exact: true }),
    /** The end of the drop that requests the values. After an outage that lasted until then they are not sent. */
    endsAt: Schema.optionalWith(Timestamp, { exact: true })
  })
)
export type PublicationContent = typeof PublicationContent.Type
type DraftContent = Extract<PublicationContent, { readonly _tag: "Draft" }>
export type FieldsContent = Extract<PublicationContent, { readonly _tag: "Fields" }>

/** The part of an entity's store version that a publication depends on. */
export const KnownVersion = Schema.Struct({
  /** The entity's id on the platform. null: the entity has none, or it is unknown. */
  platformId: Schema.NullOr(Schema.String),
  /** null: the store has not accepted any values of the entity yet. */
  accepted: Schema.NullOr(AcceptedValues),
  /** As in `VersionState`. */
  mayBeLive: Schema.Boolean
})
export type KnownVersion = typeof KnownVersion.Type
type VersionsById = ReadonlyMap<EntityId, KnownVersion>

/**
 * The part of a product's store version that a publication of its collections depends on. It has no values, because a collection can
 * have very many products.
 */
export const MemberVersion = Schema.Struct({
  /** As in `KnownVersion`. */
  platformId: KnownVersion.fields.platformId,
  /** Whether the store has accepted values of the product. */
  isLive: Schema.Boolean
})
export type MemberVersion = typeof MemberVersion.Type
type MembersById = ReadonlyMap<EntityId, MemberVersion>

export const toMemberVersion = ({ accepted, platformId }: KnownVersion): MemberVersion => ({
  platformId,
  isLive: accepted !== null
})

/** Maximum number of collection members listed in one refusal. */
const maxListedMembers = 20

const findVersion = ({ versions }: Aggregate, storeId: StoreId) =>
  versions.find((version) => version.storeId === storeId)

const isLive = (version: Pick<KnownVersion, "accepted"> | undefined) => (version?.accepted ?? null) !== null

const lacksPlatformId = ({ isLive, platformId }: MemberVersion) => isLive && platformId === null

/** Entities that a publication includes in addition to its own entity. */
export const includedIds = (content: PublicationContent): ReadonlyArray<EntityId> =>
  content._tag === "Draft" ? content.carried.map(({ entityId }) => entityId) : []

/**
 * The product of a variant, or products of a collection, that are live but whose platform id is unknown. They are republished
 * first to get the id, because the platform refers to products by it.
 */
export const findProductsWithoutPlatformId = (
  { aggregates }: LockedCatalog,
  { parentId }: Aggregate,
  storeId: StoreId,
  members: MembersById
): ReadonlyArray<EntityId> => {
  const product = parentId === null ? undefined : aggregates.get(parentId)
  const version = product === undefined ? undefined : findVersion(product, storeId)
  const own = product === undefined || version === undefined ? [] : [[product.id, toMemberVersion(version)] as const]
  return [...own, ...members].filter(([, each]) => lacksPlatformId(each)).map(([id]) => id)
}

/**
 * The draft of an entity as content for one store. `members`: store versions of a collection's products. NotFound: the entity
 * does not exist or is not on the store. ValidationFailed: the entity refers to a product that is not live on the store.
 */
export const pinDraft = (
  { aggregates, revisions }: LockedCatalog,
  entityId: EntityId,
  storeId: StoreId,
  members: MembersById
): Either.Either<DraftContent, NotFound | ValidationFailed> =>
  Either.gen(function* () {
    const aggregate = aggregates.get(entityId)
    const version = aggregate === undefined ? undefined : findVersion(aggregate, storeId)
    if (aggregate === undefined || version === undefined) return yield* Either.left(new NotFound())
    const product = aggregate.parentId === null ? undefined : aggregates.get(aggregate.parentId)
    if (product !== undefined && !isLive(findVersion(product, storeId)))
      return yield* Either.left(
        ValidationFailed.at(
          "entity_id",
          `its product ${product.id} is not live on this store: publish the product first`
        )
      )
    const variants = [...aggregates.values()].filter(({ parentId }) => parentId === entityId).sort(byPosition)
    const values = publishable(aggregate, version, variants)
    const absentMembers = (values.members ?? []).filter((id) => members.get(id)?.isLive !== true)
    if (absentMembers.length > 0)
      return yield* Either.left(
        new ValidationFailed({
          issues: absentMembers.slice(0, maxListedMembers).map((id) => ({
            path: "members",
            message: `product ${id} is not live on this store: publish it first, or take it out of the collection`
          }))
        })
      )
    // The picture of a variant is published with the product, whose gallery has it.
    const gallery = aggregate.kind === "product" ? (values.media ?? []) : []
    const carried = [...(isLive(version) ? [] : (values.variants ?? [])), ...gallery].flatMap((id) => {
      const candidate = aggregates.get(id)
      const candidateVersion = candidate === undefined ? undefined : findVersion(candidate, storeId)
      return candidate === undefined || isLive(candidateVersion)
        ? []
        : [{ entityId: id, ...publishable(candidate, { storeId, overrides: candidateVersion?.overrides ?? {} }, []) }]
    })
    const withOptions = product ?? (aggregate.kind === "product" ? aggregate : undefined)
    const firstOption = withOptions === undefined ? undefined : findFirstOption(aggregates, withOptions, storeId)
    return {
      _tag: "Draft",
      kind: aggregate.kind,
      productId: aggregate.parentId,
      values,
      carried,
      ...(firstOption !== undefined && { firstOption }),
      revisions: Object.fromEntries(
        [entityId, ...carried.map((each) => each.entityId)].map((id) => [id, revisions.get(id) ?? 0])
      )
    }
  })

/**
 * Contents of publications that follow one, for the entities that it included but did not send with the requested values: variants of
 * a product that went live meanwhile, and entities that another publication published meanwhile. `ids`: the entities to look at.
 * Left out are entities that are not on the store any more, and those whose values the store has accepted.
 */
export const toFollowingContents = (
  content: PublicationContent,
  ids: ReadonlyArray<EntityId>,
  { aggregates }: LockedCatalog,
  storeId: StoreId
): ReadonlyArray<{ readonly entityId: EntityId; readonly draftRevision: number; readonly content: DraftContent }> => {
  if (content._tag !== "Draft") return []
  return content.carried.flatMap(({ entityId, ...carried }) => {
    const aggregate = ids.includes(entityId) ? aggregates.get(entityId) : undefined
    const version = aggregate === undefined ? undefined : findVersion(aggregate, storeId)
    if (aggregate === undefined || version === undefined) return []
    const values = { ...version.accepted, ...carried }
    if (version.accepted !== null && samePublishable(version.accepted, values)) return []
    const { kind, parentId } = aggregate
    const draftRevision = content.revisions[entityId] ?? 0
    const revisions = { [entityId]: draftRevision }
    return [
      { entityId, draftRevision, content: { _tag: "Draft", kind, productId: parentId, values, carried: [], revisions } }
    ]
  })
}

/**
 * Whether an open publication sends what a new request would: drafts of the same entities at the same revisions, and the same first
 * option, which comes from other entities. Contents of the kind `Fields` are never equal, because they have no revisions.
 */
export const isSameContent = (open: PublicationContent, asked: PublicationContent): boolean => {
  if (open._tag !== "Draft" || asked._tag !== "Draft") return false
  const revisions = Object.entries(open.revisions)
  const others = new Map<string, number>(Object.entries(asked.revisions))
  return (
    revisions.length === others.size &&
    revisions.every(([id, revision]) => others.get(id) === revision) &&
    givesOption(open.firstOption, asked.firstOption)
  )
}

/** Content that sends the last accepted values unchanged, so that the store returns its id for the entity. */
export const toRepublishedContent = (kind: EntityKind): PublicationContent => ({
  _tag: "Fields",
  kind,
  productId: null,
  fields: {},
  values: null
})

/** Fills in the values of field content from the values that the store has accepted until now. */
export const fillFields = (
  content: FieldsContent,
  accepted: AcceptedValues
): FieldsContent & { readonly values: AcceptedValues } => ({
  ...content,
  values: { ...accepted, attributes: effective(accepted.attributes, content.fields) },
  before: Object.fromEntries(Object.entries(accepted.attributes).filter(([key]) => Object.hasOwn(content.fields, key)))
})

/** Content that sends the values before a publish of fields again. Undefined: the publish sent nothing, or is not taken back. */
export const toTakenBackContent = (content: PublicationContent): FieldsContent | undefined => {
  if (content._tag !== "Fields" || content.isTakenBack !== true || content.values === null) return undefined
  const { before = {}, fields, kind, productId } = content
  const earlier = Object.entries(fields).map(([key, { type }]) => [key, before[key] ?? { value: "", type }])
  return { _tag: "Fields", kind, productId, fields: Object.fromEntries(earlier), values: null }
}

/** The entities whose store versions `toPush` reads, without the members of a collection. */
export const relatedIds = (entityId: EntityId, content: PublicationContent): ReadonlyArray<EntityId> => {
  const { media = [], variants = [] } = content.values ?? {}
  const product = content.productId === null ? [] : [content.productId]
  return [...new Set([entityId, ...product, ...media, ...variants, ...includedIds(content)])]
}

/** The publication to send, and the values that count as accepted if it succeeds. */
export interface Push {
  readonly publication: Publication
  readonly accepted: ReadonlyArray<{ readonly entityId: EntityId; readonly values: AcceptedValues }>
  /** What the publication leaves out. */
  readonly notDone?: PublishError
}

const productNotLive: PublishError = {
  code: "PRODUCT_NOT_LIVE",
  message: "Its product is no longer live on the store: publish the product first."
}

/** Adds an empty value for each deleted value: a platform may leave what a publication omits as it is, such as metafields. */
const withDeletedValues = (attributes: Attributes, before: Attributes = {}): Attributes => ({
  ...Object.fromEntries(
    Object.entries(before)
      .filter(([key]) => attributes[key] === undefined)
      .map(([key, { type }]) => [key, { value: "", type }])
  ),
  ...attributes
})

/** An entity as a publication sends it. */
const toPublishedEntity = (
  entityId: EntityId,
  version: KnownVersion | undefined,
  attributes: Attributes
): PublishedEntity => {
  const platformId = version?.platformId ?? null
  return {
    entityId,
    platformId,
    attributes,
    ...(platformId === null && isLive(version) && { isAccepted: true }),
    ...(version?.mayBeLive === true && { mayBeCreated: true })
  }
}

interface RelatedEntity {
  readonly entity: PublishedEntity
  readonly values: AcceptedValues
  readonly isIncluded: boolean
}

/**
 * The variants or media that a publish sends: each with the values that the store has accepted, else with the values of the publish request.
 * `isIncluded`: the store has not accepted the entity yet, so it shares the outcome of the publication.
 */
const toRelatedEntities = (
  content: PublicationContent,
  ids: ReadonlyArray<EntityId>,
  versions: VersionsById
): ReadonlyArray<RelatedEntity> => {
  const included = new Map(
    content._tag === "Draft" ? content.carried.map(({ entityId, ...values }) => [entityId, values] as const) : []
  )
  return ids.flatMap((id) => {
    const version = versions.get(id)
    const accepted = version?.accepted ?? undefined
    const values = accepted ?? included.get(id)
    return values === undefined
      ? []
      : [
          {
            entity: toPublishedEntity(id, version, values.attributes),
            values,
            isIncluded: version !== undefined && accepted === undefined
          }
        ]
  })
}

/**
 * Builds the publication to send; it is the same for all attempts. If a product is live already, the order of its variants is
 * sent but no new values of variants. Media and variants that the store accepted before are sent with the accepted values.
 */
export const toPush = (
  {
    content,
    entityId,
    id,
    values
  }: {
    readonly id: PublicationId
    readonly entityId: EntityId
    readonly content: PublicationContent
    readonly values: AcceptedValues
  },
  versions: VersionsById,
  members: MembersById
): Either.Either<Push, PublishError> => {
  const own = versions.get(entityId)
  const { firstOption } = content
  const main = {
    key: id,
    ...toPublishedEntity(
      entityId,
      own,
      // A field that the store should not have any more is sent as empty: one that it has accepted, and one of a drop's start that may have
      // reached it without being accepted.
      withDeletedValues(values.attributes, {
        ...own?.accepted?.attributes,
        ...(content._tag === "Fields" && content.fields)
      })
    ),
    ...(firstOption !== undefined && { firstOption })
  }
  const accepted = [{ entityId, values }]
  switch (content.kind) {
    case "product": {
      const onStore = (ids: ReadonlyArray<EntityId> = []) => ids.filter((id) => versions.has(id))
      const media = toRelatedEntities(content, onStore(values.media), versions)
      const gallery = new Map(media.map(({ entity: { entityId, platformId } }) => [entityId, platformId]))
      const variants = toRelatedEntities(content, onStore(values.variants), versions)
        .filter(({ isIncluded }) => !isLive(own) || !isIncluded)
        .map(({ entity, isIncluded, values }) => ({
          entity,
          isIncluded,
          // Pictures of variants that are live stay as they are, as the values of these variants do.
          picture: isIncluded ? sendPicture(values.media, undefined, gallery) : undefined
        }))
      // The accepted list of variants has only variants that are sent: a variant that is not live has no position in the store.
      const sentVariants =
        values.variants === undefined ? {} : { variants: variants.map(({ entity }) => entity.entityId) }
      const sentMedia = values.media === undefined ? {} : { media: onStore(values.media) }
      return Either.right({
        publication: Publication.Product({
          ...main,
          variants: variants.map(({ entity, picture }) => ({
            ...withFormerValue(entity, firstOption),
            ...picture?.sent
          })),
          media: media.map(({ entity }) => entity)
        }),
        accepted: [
          { entityId, values: { ...values, ...sentVariants, ...sentMedia } },
          ...[...variants, ...media.map((each) => ({ ...each, picture: undefined }))]
            .filter(({ isIncluded }) => isIncluded)
            .map(({ entity: { attributes, entityId }, picture }) => ({
              entityId,
              values: { attributes, ...picture?.accepted }
            }))
        ],
        ...(variants.some(({ picture }) => picture?.isLeftOut) && { notDone: pictureLeftOut })
      })
    }
    case "variant": {
      const product = content.productId === null ? undefined : versions.get(content.productId)
      const productPlatformId = product?.platformId ?? null
      if (productPlatformId === null) return Either.left(productNotLive)
      const shown = (product?.accepted?.media ?? []).flatMap((id) => {
        const platformId = versions.get(id)?.platformId ?? null
        return platformId === null ? [] : [[id, platformId] as const]
      })
      const wanted = content._tag === "Draft" ? values.media : undefined
      const picture = sendPicture(wanted, own?.accepted?.media, new Map(shown))
      return Either.right({
        publication: Publication.Variant({ ...main, productPlatformId, ...picture.sent }),
        accepted: [{ entityId, values: { attributes: values.attributes, ...picture.accepted } }],
        ...(picture.isLeftOut && { notDone: pictureLeftOut })
      })
    }
    case "collection": {
      // The accepted list has only products that are sent, so the collection stays unpublished until the others are live.
      const sent = (values.members ?? []).filter((member) => (members.get(member)?.platformId ?? null) !== null)
      const sentMembers = values.members === undefined ? {} : { members: sent }
      return Either.right({
        publication: Publication.Collection({
          ...main,
          members: sent.flatMap((member) => members.get(member)?.platformId ?? [])
        }),
        accepted: [{ entityId, values: { ...values, ...sentMembers } }]
      })
    }
    case "media":
      return Either.right({ publication: Publication.Media(main), accepted })
  }
}
