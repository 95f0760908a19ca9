import { Schema } from "effect"
import * as Entity from "../catalog/Entity.ts"
import { DraftState as DraftStateRecord } from "../drafts/DraftWrite.ts"
import { Projection as ProjectionRecord } from "../drafts/Projection.ts"
import * as Drops from "../drops/Drop.ts"
import * as Health from "../health/Health.ts"
import * as Remediation from "../health/RemediationRules.ts"
import { EntityKind } from "../model/Attribute.ts"
import * as Definition from "../model/Definition.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import * as Markets from "../platform/Market.ts"
import * as Translation from "../platform/Translation.ts"
import {
  PublishAnswer as PublishAnswerRecord,
  PublishedEntity,
  PublishedToStore,
  SomeEntities
} from "../publishing/PublishAnswer.ts"
import { optional } from "./Params.ts"
import { inConnector, membersInConnector } from "./Tool.ts"

// Schemas of the domain's records in responses. Annotations give the names of their members in the connector.

const row = { id: "master_id", type: "master_type", store_ids: "channel_ids" } as const

export const ProductRow = Entity.ProductRow.pipe(membersInConnector(row))
export const VariantRow = Entity.VariantRow.pipe(membersInConnector(row))
export const CollectionRow = Entity.CollectionRow.pipe(membersInConnector(row))
export const MediaRow = Entity.MediaRow.pipe(membersInConnector(row))

const ofKind = (kind: string, what: string) => ({ description: `For a ${kind}: ${what}` })

/** A list row for an entity of any kind. Members that only some kinds have are optional. */
export const MasterRow = Schema.Struct({
  ...Entity.ProductRow.fields,
  id: EntityId.pipe(inConnector("master_id")),
  type: EntityKind.pipe(inConnector("master_type")),
  store_ids: Schema.Array(StoreId).pipe(inConnector("channel_ids")),
  product_id: optional(EntityId.annotations(ofKind("variant", "the master_id of its product."))),
  sku: optional(Schema.String),
  handle: optional(Schema.String),
  url: optional(Schema.String),
  media_type: optional(Entity.MediaType),
  alt: optional(Schema.String)
})

const StorePublishState = Entity.StorePublishState.pipe(membersInConnector({ store_id: "channel_id" }))

const stores = Schema.Array(StorePublishState).annotations({ description: "By domain." }).pipe(inConnector("channels"))

const ids = (description: string) => optional(Schema.Array(EntityId).annotations({ description }))

/** The full record of an entity of any kind. Relationships that only some kinds have are optional. */
export const Master = Schema.Struct({
  id: EntityId.pipe(inConnector("master_id")),
  type: EntityKind.pipe(inConnector("master_type")),
  title: Schema.String,
  attributes: Entity.Product.fields.attributes.pipe(inConnector({ keyed: true })),
  draft_revision: Entity.Product.fields.draft_revision,
  pending_publish: Entity.Product.fields.pending_publish,
  last_publish_status: Entity.Product.fields.last_publish_status,
  product_id: optional(EntityId.annotations(ofKind("variant", "the master_id of its product."))),
  variant_ids: ids("For a product: its variants, by position. For a media file: the variants that use it."),
  media_ids: ids("In gallery order, across every channel."),
  collection_ids: ids("For a product: the collections that include it. For a media file: the collections that use it."),
  product_ids: ids("For a media file: the products that use it."),
  products_count: optional(Schema.Int.annotations({ description: "For a collection: the number of its products." })),
  stores,
  created_at: Entity.Product.fields.created_at,
  updated_at: Entity.Product.fields.updated_at
})

/** The draft for one store, with the values that the store has now. */
export const Projection = ProjectionRecord.pipe(
  membersInConnector({ store_id: "channel_id", attributes: { keyed: true } })
)

/** The state of a draft after a write. */
export const DraftState = Schema.Struct({
  ...DraftStateRecord.fields,
  entity_id: EntityId.pipe(inConnector("master_id")),
  entity_type: EntityKind.pipe(inConnector("master_type")),
  stores: Schema.Array(
    Schema.Struct({
      store_id: StoreId.pipe(inConnector("channel_id")),
      pending_publish: DraftStateRecord.fields.pending_publish
    })
  )
    .annotations({ description: "By domain." })
    .pipe(inConnector("channels"))
})

/** The list of a record's stores, which the connector calls channels. */
const asChannels = <A extends { readonly store_id: StoreId }, I>(store: Schema.Schema<A, I>) =>
  Schema.Array(store.pipe(membersInConnector({ store_id: "channel_id" })))

const { catalogs, stores: marketStores, ...market } = Markets.Market.fields
export const Market = Schema.Struct({
  ...market,
  stores: asChannels(marketStores.value).pipe(inConnector("channels")),
  catalogs: asChannels(catalogs.value)
}).annotations({ identifier: "Market" })

const { stores: metafieldStores, ...metafield } = Definition.MetafieldDefinition.fields
export const MetafieldDefinition = Schema.Struct({
  ...metafield,
  stores: asChannels(metafieldStores.value).pipe(inConnector("channels"))
}).annotations({ identifier: "MetafieldDefinition" })

const { stores: metaobjectStores, ...metaobject } = Definition.MetaobjectDefinition.fields
export const MetaobjectDefinition = Schema.Struct({
  ...metaobject,
  stores: asChannels(metaobjectStores.value).pipe(inConnector("channels"))
}).annotations({ identifier: "MetaobjectDefinition" })

export const MetaobjectEntry = Definition.MetaobjectEntry.pipe(membersInConnector({ store_id: "channel_id" }))

const { stores: translationStores, ...translations } = Translation.KeyedTranslations.fields
export const Translations = Schema.Struct({
  ...translations,
  stores: asChannels(translationStores.value).pipe(inConnector("channels"))
}).annotations({ identifier: "Translations" })

export const TranslatableField = Translation.KeyedTranslatableField.pipe(
  membersInConnector({ store_ids: "channel_ids" })
)

/** A snapshot for the output schema of tools, which does not describe the members of `result`. */
export const SnapshotInConnector = Schema.Struct({
  dimension: Health.HealthDimension,
  scanned: Schema.Boolean,
  result: optional(Schema.Struct({}, { key: Schema.String, value: Schema.Unknown })),
  scanned_at: optional(Timestamp),
  as_of_version: optional(Schema.Int)
})

export const HealthOverview = Health.HealthOverview.pipe(
  membersInConnector({ dimensions: { schema: Schema.Array(SnapshotInConnector) } })
)

/** Maximum number of field names that a tool returns per issue. */
const maxIssueFields = 40

/** Maximum number of characters of a value that a tool returns in an issue. */
const issueValueCharacters = 60

/** The connector leaves titles and product out here, because the other variant has issues of its own that include them. */
const DuplicateVariant = Health.DuplicateVariant.pipe(
  membersInConnector({
    entity_id: "master_id",
    title: { omit: true },
    product_id: { omit: true },
    product_title: { omit: true }
  })
)

const HealthIssue = Schema.Struct({
  ...Health.HealthIssue.fields,
  values: optional(
    Schema.Array(Health.FieldValue.pipe(membersInConnector({ value: { maxCharacters: issueValueCharacters } })))
  ),
  duplicates: optional(Schema.Array(DuplicateVariant))
}).pipe(
  membersInConnector({
    entity_id: "master_id",
    entity_type: "master_type",
    store_id: "channel_id",
    fields: { maxItems: maxIssueFields },
    attribute_keys: { maxItems: maxIssueFields },
    values: { maxItems: maxIssueFields }
  })
)

export const HealthIssuePage = Schema.Struct({
  ...Health.HealthIssuePage.fields,
  data: Schema.Array(HealthIssue).annotations({ description: "By entity_id, store_id, locale, as of the last scan." })
}).annotations({ identifier: "HealthIssuePage" })

/** Maximum number of characters in a value that a tool accepts. Longer values must be imported or set on the command line. */
const longestArgument = 100_000

/** A value in the arguments of a tool. */
export const ValueArgument = Schema.String.pipe(
  Schema.maxLength(longestArgument, {
    message: () => `must have at most ${longestArgument} characters`,
    description: "Always text; lists and objects are JSON in text."
  })
)

/** A key in the arguments of a tool. The maximum length is that of a metafield's key. */
export const KeyArgument = Schema.String.pipe(
  Schema.maxLength(320, {
    message: () => "must have at most 320 characters",
    description: "A built-in key, or `namespace.key` of a defined metafield."
  })
)

const operation = {
  entity_id: "master_id",
  store_id: "channel_id",
  field: { schema: KeyArgument },
  value: { schema: ValueArgument }
} as const

export const FillOperation = Remediation.FillOperation.pipe(membersInConnector(operation))

export const ReconcileOperation = Remediation.ReconcileOperation.pipe(
  membersInConnector({ ...operation, winner_store_id: "winner_channel_id" })
)

const result = { entity_id: "master_id", store_id: "channel_id" } as const

export const FillResult = Remediation.FillResult.pipe(membersInConnector(result))

export const ReconcileResult = Remediation.ReconcileResult.pipe(
  membersInConnector({ ...result, patched_store_ids: { omit: true } })
)

const someMasters = optional(SomeEntities.pipe(membersInConnector({ entity_ids: "master_ids" })))

/** The result of publish_master_v1. */
export const PublishAnswer = Schema.Struct({
  ...PublishAnswerRecord.fields,
  stores: optional(
    Schema.Array(
      Schema.Struct({ ...PublishedToStore.fields, included: someMasters }).pipe(
        membersInConnector({ store_id: "channel_id" })
      )
    )
  ),
  masters: optional(
    Schema.Array(
      Schema.Struct({ ...PublishedEntity.fields, included: someMasters }).pipe(
        membersInConnector({ entity_id: "master_id" })
      )
    )
  ),
  waiting: someMasters
}).pipe(membersInConnector({ entity_id: "master_id", stores: "channels" }))

const DropChange = Drops.DropChange.pipe(
  membersInConnector({ entity_id: "master_id", entity_type: "master_type", store_id: "channel_id" })
)

export const Drop = Schema.Struct({ ...Drops.Drop.fields, changes: Schema.Array(DropChange) }).annotations({
  identifier: "Drop"
})
