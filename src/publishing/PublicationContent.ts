import { Either, Schema } from "effect"
import { AcceptedValues, type Aggregate, publishable } from "../drafts/Aggregate.ts"
import type { Locked } from "../drafts/CatalogChange.ts"
import { Attributes, builtInFields, EntityKind, effective } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, type PublicationId, type StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import { Publication, type PublishedEntity } from "../platform/Publication.ts"

const about = { kind: EntityKind, /** Of a variant, else null. */ productId: Schema.NullOr(EntityId) }

/** What was pinned when a publish was asked for. Whatever is edited afterwards stays a draft. */
export const PublicationContent = Schema.Union(
  /** The draft as it was. */
  Schema.TaggedStruct("Draft", {
    ...about,
    values: AcceptedValues,
    /** A product's variants at its first publish and the media that the store never accepted: they take its outcome. */
    carried: Schema.Array(Schema.Struct({ entityId: EntityId, attributes: Attributes })),
    /** Of the entity and of those it carries: the same again is the same publication. */
    revisions: Schema.Record({ key: EntityId, value: Schema.Int })
  }),
  /**
   * What the store accepted last, with these values in place of its own (`""` empties one); no other draft goes with them.
   * `values`: all of that, once it is the publication's turn; `before`: what the store had of these fields then.
   */
  Schema.TaggedStruct("Fields", {
    ...about,
    fields: Attributes,
    values: Schema.NullOr(AcceptedValues),
    before: Schema.optionalWith(Attributes, { exact: true })
  })
)
export type PublicationContent = typeof PublicationContent.Type
type DraftContent = Extract<PublicationContent, { readonly _tag: "Draft" }>

/** Of a store's version what a publication has to know beside what it pinned. */
export const KnownVersion = Schema.Struct({
  /** null: the store never named it, or nobody remembers. */
  platformId: Schema.NullOr(Schema.String),
  /** null: the store never accepted a publish. */
  accepted: Schema.NullOr(AcceptedValues)
})
export type KnownVersion = typeof KnownVersion.Type
type Known = ReadonlyMap<EntityId, KnownVersion>

const versionOn = ({ versions }: Aggregate, storeId: StoreId) => versions.find((version) => version.storeId === storeId)

/** Members that one refusal names. */
const mostNamed = 20

/** Products of a variant or collection to which the store must give a name before it takes what refers to them. */
export const unnamedFor = (
  { aggregates }: Locked,
  { parentId }: Aggregate,
  storeId: StoreId,
  members: Known
): ReadonlyArray<EntityId> => {
  const product = parentId === null ? undefined : aggregates.get(parentId)
  const version = product === undefined ? undefined : versionOn(product, storeId)
  return [
    ...(product !== undefined && version !== undefined && isUnnamed(version) ? [product.id] : []),
    ...[...members].filter(([, member]) => isUnnamed(member)).map(([id]) => id)
  ]
}

const isUnnamed = ({ accepted, platformId }: KnownVersion) => accepted !== null && platformId === null

/**
 * Pins the draft of an entity for one store. `members`: what is known of a collection's on that store. NotFound: the entity
 * is not there, or not on the store. ValidationFailed: a variant or member whose product is not live there, named.
 */
export const pinDraft = (
  { aggregates, revisions }: Locked,
  entityId: EntityId,
  storeId: StoreId,
  members: Known
): Either.Either<DraftContent, NotFound | ValidationFailed> =>
  Either.gen(function* () {
    const aggregate = aggregates.get(entityId)
    const version = aggregate === undefined ? undefined : versionOn(aggregate, storeId)
    if (aggregate === undefined || version === undefined) return yield* Either.left(new NotFound())
    const product = aggregate.parentId === null ? undefined : aggregates.get(aggregate.parentId)
    const productVersion = product === undefined ? undefined : versionOn(product, storeId)
    if (product !== undefined && (productVersion?.accepted ?? null) === null)
      return yield* Either.left(
        ValidationFailed.at(
          "entity_id",
          `its product ${product.id} is not live on this store: publish the product first`
        )
      )
    const variants = [...aggregates.values()]
      .filter(({ parentId }) => parentId === entityId)
      .sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
    const values = publishable(aggregate, version, variants)
    const absent = (values.members ?? []).filter((id) => (members.get(id)?.accepted ?? null) === null)
    if (absent.length > 0)
      return yield* Either.left(
        new ValidationFailed({
          issues: absent.slice(0, mostNamed).map((id) => ({
            path: "members",
            message: `product ${id} is not live on this store: publish it first, or take it out of the collection`
          }))
        })
      )
    const isFirst = version.accepted === null
    const carried = [...(isFirst ? (values.variants ?? []) : []), ...(values.media ?? [])].flatMap((id) => {
      const each = aggregates.get(id)
      const there = each === undefined ? undefined : versionOn(each, storeId)
      return each === undefined || (there?.accepted ?? null) !== null
        ? []
        : [{ entityId: id, attributes: effective(each.attributes, there?.overrides ?? {}) }]
    })
    return {
      _tag: "Draft",
      kind: aggregate.kind,
      productId: aggregate.parentId,
      values,
      carried,
      revisions: Object.fromEntries(
        [entityId, ...carried.map((each) => each.entityId)].map((id) => [id, revisions.get(id) ?? 0])
      )
    }
  })

/** Whether two contents pin the same. */
export const isSameContent = (left: PublicationContent, right: PublicationContent): boolean => {
  if (left._tag !== "Draft" || right._tag !== "Draft") return false
  const revisions = Object.entries(left.revisions)
  const others = new Map<string, number>(Object.entries(right.revisions))
  return revisions.length === others.size && revisions.every(([id, revision]) => others.get(id) === revision)
}

/** What the store accepted last, and nothing else: it names what it has. */
export const acceptedAgain = (kind: EntityKind): PublicationContent => ({
  _tag: "Fields",
  kind,
  productId: null,
  fields: {},
  values: null
})

/** The values of a `Fields` publication whose turn it is. */
export const settleFields = (
  content: Extract<PublicationContent, { readonly _tag: "Fields" }>,
  accepted: AcceptedValues
): PublicationContent & { readonly values: AcceptedValues } => ({
  ...content,
  values: { ...accepted, attributes: effective(accepted.attributes, content.fields) },
  before: Object.fromEntries(Object.entries(accepted.attributes).filter(([key]) => Object.hasOwn(content.fields, key)))
})

/** The entities about which `pushOf` has to know. */
export const concerned = (entityId: EntityId, content: PublicationContent): ReadonlyArray<EntityId> => {
  const { media = [], members = [], variants = [] } = content.values ?? {}
  const carried = content._tag === "Draft" ? content.carried.map((each) => each.entityId) : []
  const product = content.productId === null ? [] : [content.productId]
  return [...new Set([entityId, ...product, ...media, ...members, ...variants, ...carried])]
}

/** What is sent, and what the store has accepted once it took that. */
export interface Push {
  readonly publication: Publication
  readonly taken: ReadonlyArray<{ readonly entityId: EntityId; readonly values: AcceptedValues }>
}

/** Metafields that the store has and must lose are sent empty: a push leaves alone what it does not name. */
const withGone = (kind: EntityKind, attributes: Attributes, before: Attributes = {}): Attributes => ({
  ...Object.fromEntries(
    Object.entries(before)
      .filter(([key]) => !Object.hasOwn(builtInFields[kind], key) && attributes[key] === undefined)
      .map(([key, { type }]) => [key, { value: "", type }])
  ),
  ...attributes
})

const productGone: PublishError = {
  code: "PRODUCT_NOT_LIVE",
  message: "Its product is not live on the store any more: publish the product first."
}

/**
 * What a publication whose turn it is sends to its store, the same at each attempt. A product that was live before brings its
 * variants' places; the values of variants, and of media that the store accepted before, are sent as it accepted them.
 */
export const pushOf = (
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
  known: Known
): Either.Either<Push, PublishError> => {
  const own = known.get(entityId)
  const asked = {
    key: id,
    entityId,
    platformId: own?.platformId ?? null,
    attributes: withGone(content.kind, values.attributes, own?.accepted?.attributes)
  }
  const taken = { entityId, values }
  const carried = new Map(
    content._tag === "Draft" ? content.carried.map(({ attributes, entityId }) => [entityId, attributes] as const) : []
  )
  const isFirst = (own?.accepted ?? null) === null
  /** Each as it is sent, and whether it takes the outcome. */
  const beside = (ids: ReadonlyArray<EntityId> = []) =>
    ids.flatMap((id): ReadonlyArray<{ readonly sent: PublishedEntity; readonly isCarried: boolean }> => {
      const version = known.get(id)
      const platformId = version?.platformId ?? null
      const accepted = version?.accepted?.attributes
      const attributes = accepted ?? carried.get(id)
      return attributes === undefined
        ? []
        : [
            {
              sent: { entityId: id, platformId, attributes },
              isCarried: version !== undefined && accepted === undefined
            }
          ]
    })
  switch (content.kind) {
    case "product": {
      const variants = beside(values.variants).filter(({ isCarried }) => isFirst || !isCarried)
      const media = beside(values.media)
      return Either.right({
        publication: Publication.Product({
          ...asked,
          variants: variants.map(({ sent }) => sent),
          media: media.map(({ sent }) => sent)
        }),
        taken: [
          // Of variants that are not live yet the store did not take a place.
          {
            entityId,
            values:
              values.variants === undefined
                ? values
                : { ...values, variants: variants.map(({ sent }) => sent.entityId) }
          },
          ...[...variants, ...media]
            .filter(({ isCarried }) => isCarried)
            .map(({ sent: { attributes, entityId } }) => ({ entityId, values: { attributes } }))
        ]
      })
    }
    case "variant": {
      const productPlatformId = content.productId === null ? null : (known.get(content.productId)?.platformId ?? null)
      return productPlatformId === null
        ? Either.left(productGone)
        : Either.right({ publication: Publication.Variant({ ...asked, productPlatformId }), taken: [taken] })
    }
    case "collection":
      return Either.right({
        publication: Publication.Collection({
          ...asked,
          members: (values.members ?? []).flatMap((member) => known.get(member)?.platformId ?? [])
        }),
        taken: [taken]
      })
    case "media":
      return Either.right({ publication: Publication.Media(asked), taken: [taken] })
  }
}
