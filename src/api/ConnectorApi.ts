import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { AttributesUpdate } from "../drafts/DraftWrite.ts"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { EntityChannel } from "../platform/SalesChannel.ts"
import {
  CollectionRow,
  DraftState,
  Drop,
  KeyArgument,
  Master,
  MasterRow,
  MediaRow,
  ProductRow,
  Projection,
  PublishAnswer,
  ValueArgument,
  VariantRow
} from "./Answers.ts"
import { page, wholeList } from "./Page.ts"
import { cursorParams, listParams, optional, uuidArgument } from "./Params.ts"
import { translations } from "./StoreData.ts"
import { TimeBound } from "./TimeBound.ts"
import { draftWrite, liveRead, readOnly, Tool } from "./Tool.ts"

const MasterId = uuidArgument(EntityId, "Id of a master of any kind.")
const ChannelId = uuidArgument(StoreId, "Id of a channel (a linked store).")

const master = HttpApiSchema.param("master_id", MasterId)
const channel = HttpApiSchema.param("channel_id", ChannelId)

const kinds = "product, variant, collection or media file"

const masterIds = "list_masters_v1 gives master_id."
const channelIds = "get_master_v1 gives channel_id."
const fromMasters = { master_id: "list_masters_v1" } as const
const fromBoth = { master_id: "list_masters_v1", channel_id: "get_master_v1" } as const

const Attributes = Schema.Array(
  Schema.Struct({
    key: KeyArgument,
    value: Schema.NullOr(ValueArgument)
  })
).pipe(Schema.maxItems(250))

/** `AttributesUpdate` with the length limits of tools. */
const AttributesArgument = Schema.Struct({
  ...AttributesUpdate.fields,
  attributes: Attributes.pipe(Schema.minItems(1)).annotations({
    description: "Each key at most once. Keys that are left out do not change."
  })
})

const ProjectionArgument = Schema.Struct({
  ...AttributesUpdate.fields,
  attributes: Attributes.annotations({
    description: "Each key at most once. Keys that are left out do not change. May be empty with add_to_channel."
  }),
  add_to_channel: optional(
    Schema.Boolean.annotations({
      description:
        "If true and the master is not on the channel, adds it as a draft; a product comes with its variants and pictures."
    })
  )
})

/** Maximum number of masters in one publish call. */
const maxPublished = 50

const publishForms =
  "give master_id and draft_revision for one master, or masters (1 to 50) with exactly one id in channel_ids"

const draftRevision = Schema.Int.annotations({
  description: "The current revision, as last read or written."
})

const PublishArgument = Schema.Struct({
  master_id: optional(MasterId),
  draft_revision: optional(draftRevision),
  masters: optional(
    Schema.Array(Schema.Struct({ master_id: MasterId, draft_revision: Schema.Int }))
      .pipe(Schema.minItems(1), Schema.maxItems(maxPublished))
      .annotations({
        description: "Several masters of one channel, instead of master_id and draft_revision. Each costs one request."
      })
  ),
  channel_ids: optional(
    Schema.Array(ChannelId)
      .pipe(Schema.minItems(1), Schema.maxItems(250))
      .annotations({ description: "Channels to publish to; left out: all of the master. With `masters` exactly one." })
  ),
  dry_run: optional(
    Schema.Boolean.annotations({
      description: "True: returns what would be published, and publishes nothing."
    })
  )
}).pipe(
  Schema.filter(({ channel_ids, draft_revision, master_id, masters }) => {
    const isOne = masters === undefined && master_id !== undefined && draft_revision !== undefined
    const isBatch =
      masters !== undefined && master_id === undefined && draft_revision === undefined && channel_ids?.length === 1
    if (!isOne && !isBatch) return { path: ["masters"], message: publishForms }
    const ids = masters?.map((each) => each.master_id) ?? []
    const twice = ids.findIndex((id, place) => ids.indexOf(id) < place)
    return twice === -1 ? true : { path: ["masters", twice, "master_id"], message: "is given twice" }
  })
)

/** Endpoints for masters. A master is an entity of any kind, so the caller does not need to know the kind. */
class MastersGroup extends HttpApiGroup.make("masters")
  .add(
    HttpApiEndpoint.get("listMasters", "/masters")
      .setUrlParams(
        Schema.Struct({
          master_type: optional(EntityKind.annotations({ description: "Only masters of this kind." })),
          ...listParams(
            "the fields that are searched for its kind: names, titles, vendor, tags, SKU, barcode, handle, file name"
          )
        })
      )
      .addSuccess(page(MasterRow))
      .annotate(Tool, {
        name: "list_masters_v1",
        title: "List masters",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Masters of every kind (product, variant, collection, media file) in one list, by last change, oldest first: a page of short rows.",
          usage:
            "Use it for media files, or several kinds at once, and to follow all changes or unpublished drafts; use list_products_v1, list_variants_v1 and list_collections_v1 for one kind.",
          ids: "Rows have master_id for every other tool, and channel_ids; the server instructions name the channels.",
          never: "It never changes anything and never gives attribute values. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("getMaster")`/masters/${master}`.addSuccess(Master).annotate(Tool, {
      name: "get_master_v1",
      title: "Get a master",
      tier: "pim:read",
      hints: readOnly,
      description: {
        does: `One ${kinds} in full: canonical attributes, draft_revision, ids of related masters, publish state on each channel.`,
        usage:
          "Use it for the values that channels inherit; use get_projection_v1 for one channel's draft and live values, get_master_with_projections_v1 for both.",
        ids: masterIds,
        never:
          "It never changes anything and never shows a channel's own values. Channels are linked stores. Values over 4,000 characters are cut, and truncated_keys lists their keys: select these in `attributes` for up to 50,000 characters, and read the rest with value_offset."
      },
      idsFrom: fromMasters,
      answer: { kind: "record", fields: "attributes" }
    })
  )
  .add(
    HttpApiEndpoint.get("getMasterWithProjections")`/masters/${master}/with-projections`
      .addSuccess(
        Schema.Struct({
          ...Master.fields,
          projections: Schema.Array(Projection).annotations({
            description: "The draft values and the live values of each channel, by domain."
          })
        })
      )
      .annotate(Tool, {
        name: "get_master_with_projections_v1",
        title: "Get a master with its projections",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: `Canonical record and projections of one ${kinds} together: what get_master_v1 and list_projections_v1 give.`,
          usage:
            "Use it to compare channels with each other or with the canonical values; use get_master_v1 for the canonical values alone, list_projections_v1 for the projections alone.",
          ids: masterIds,
          never:
            "It never changes anything. Channels are linked stores. If not all projections fit, pass next_cursor for the next ones."
        },
        idsFrom: fromMasters,
        answer: { kind: "bounded", rows: ["projections"], keys: ["channel_id"], limited: false, fields: "attributes" }
      })
  )
  .add(
    HttpApiEndpoint.get("getMasterRelated")`/masters/${master}/related`
      .setUrlParams(Schema.Struct(cursorParams))
      .addSuccess(
        Schema.Struct({
          variants: Schema.Array(VariantRow),
          media: Schema.Array(MediaRow),
          collections: Schema.Array(CollectionRow),
          products: Schema.Array(ProductRow),
          next_cursor: Schema.NullOr(Schema.String)
        })
      )
      .annotate(Tool, {
        name: "get_master_related_v1",
        title: "Get related masters",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Rows of the variants, media, collections and products related to a master; for a media file, those that use it.",
          usage: "Use it for names and states of related masters at once; use get_master_v1 for their ids alone.",
          ids: masterIds,
          never:
            "It never changes anything and never gives attribute values. The lists are paged as one, in this order: pass next_cursor for the rest. channel_ids name linked stores."
        },
        idsFrom: fromMasters,
        answer: {
          kind: "walk",
          rows: ["variants", "media", "collections", "products"],
          keys: ["master_id"],
          fields: "members"
        }
      })
  )
  .add(
    HttpApiEndpoint.get("listProjections")`/masters/${master}/projections`
      .addSuccess(wholeList(Projection))
      .annotate(Tool, {
        name: "list_projections_v1",
        title: "List a master's projections",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Projections of one master: for each of its channels the draft values, `live` where the store has another value, pending_keys and the last publish with its error.",
          usage:
            "Use it for several channels at once; use get_projection_v1 for one, get_master_with_projections_v1 with the canonical values.",
          ids: masterIds,
          never:
            "It never changes anything and never shows which values the channel overrides. Channels are linked stores."
        },
        idsFrom: fromMasters,
        answer: { kind: "bounded", rows: ["data"], keys: ["channel_id"], fields: "attributes" }
      })
  )
  .add(
    HttpApiEndpoint.get("getProjection")`/masters/${master}/projections/${channel}`
      .addSuccess(Projection)
      .annotate(Tool, {
        name: "get_projection_v1",
        title: "Get a projection",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "One master on one channel: draft values (canonical with the channel's overrides on top), `live` where the store has another value, pending_keys, the last publish and why it failed.",
          usage:
            "Use it for a single channel; use list_projections_v1 for all of them, get_master_v1 for the canonical values.",
          ids: `${masterIds} ${channelIds}`,
          never: "It never changes anything and never calls the store. Channels are linked stores."
        },
        idsFrom: fromBoth,
        answer: { kind: "record", fields: "attributes" }
      })
  )
  .add(
    HttpApiEndpoint.patch("updateMasterAttributes")`/masters/${master}`
      .setPayload(AttributesArgument)
      .addSuccess(DraftState)
      .annotate(Tool, {
        name: "update_master_attributes_v1",
        title: "Update canonical attributes",
        tier: "pim:write",
        hints: draftWrite,
        description: {
          does: "Writes canonical attributes of one master as a draft (null empties one) and returns the new draft_revision and what is pending on each channel.",
          usage:
            "Use it for a value that every channel should inherit; use update_projection_attributes_v1 for one channel alone.",
          ids: `${masterIds} get_master_v1 gives draft_revision: only the current one is accepted.`,
          never:
            "It never publishes: use publish_master_v1. It never touches a channel's own override. Channels are linked stores."
        },
        idsFrom: fromMasters,
        answer: { kind: "record" }
      })
  )
  .add(
    HttpApiEndpoint.patch("updateProjectionAttributes")`/masters/${master}/projections/${channel}`
      .setPayload(ProjectionArgument)
      .addSuccess(DraftState)
      .annotate(Tool, {
        name: "update_projection_attributes_v1",
        title: "Update a channel's attributes",
        tier: "pim:write",
        hints: draftWrite,
        description: {
          does: 'Writes attributes of one master for one channel alone, as a draft (null removes the override, "" is deliberately empty), and returns the new draft_revision.',
          usage:
            "Use it for a value that differs on this channel, or with add_to_channel to add a master to it; use update_master_attributes_v1 for every channel.",
          ids: `${masterIds} ${channelIds} get_master_v1 gives draft_revision too.`,
          never:
            "It never publishes: use publish_master_v1. It never changes the canonical value or another channel. Channels are linked stores."
        },
        idsFrom: fromBoth,
        answer: { kind: "record" }
      })
  )
  .add(
    HttpApiEndpoint.post("publishMaster", "/masters/publish")
      .setPayload(PublishArgument)
      .addSuccess(PublishAnswer)
      .annotate(Tool, {
        name: "publish_master_v1",
        title: "Publish a master",
        tier: "pim:publish",
        hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
        description: {
          does: "Requests to publish drafts: of one master (master_id, draft_revision) to its channels, or of up to 50 `masters` to one channel. Each outcome is pending, nothing_to_publish, or a refusal with its reason. With dry_run it publishes nothing and returns each change as live -> new.",
          usage:
            "Use it to send drafts to stores; use update_master_attributes_v1 or update_projection_attributes_v1 to write them.",
          ids: "get_master_v1 gives channel_id and draft_revision; every write returns the new draft_revision.",
          never:
            "It never waits for the stores, except up to 8 s for several masters with a progress token: get_projection_v1 shows the outcome and why a publish failed. It never publishes drafts of other masters, except variants and media with the first publish of their product: `waiting` lists related masters that must be published separately. Channels are linked stores."
        },
        idsFrom: { master_id: "list_masters_v1", channel_ids: "get_master_v1" },
        answer: { kind: "pages", rows: ["channels", "masters"] },
        costsPerItemOf: "masters"
      })
      .annotate(TimeBound, "batch")
  )
  .add(
    HttpApiEndpoint.get("getMasterTranslations")`/masters/${master}/translations`
      .addSuccess(translations)
      .annotate(Tool, {
        name: "get_master_translations_v1",
        title: "Get a master's translations",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Translations of one product or collection by locale and channel, then its translatable fields with their sources.",
          usage:
            "Use it for other languages than a channel's main one; use list_projections_v1 for the values in the main one.",
          ids: "list_products_v1 and list_collections_v1 give master_id.",
          never:
            "It never changes a translation, and no other tool does: the merchant translates in the store. Variants and media have none. Channels are linked stores."
        },
        idsFrom: { master_id: "list_products_v1" },
        answer: { kind: "bounded", rows: ["data", "translatable_fields"], keys: ["locale", "key"], limited: true }
      })
  )
  .add(
    HttpApiEndpoint.get("getMasterSalesChannels")`/masters/${master}/sales-channels/${channel}`
      .addSuccess(wholeList(EntityChannel))
      .annotate(Tool, {
        name: "get_master_sales_channels_v1",
        title: "Get a master's sales channels",
        tier: "pim:read",
        hints: liveRead,
        description: {
          does: "Tells whether one product, variant or collection is sold on each sales channel of one store, read from its platform on each call.",
          usage: "Use it for one master; use list_store_sales_channels_v1 for all places where a store sells.",
          ids: `${masterIds} ${channelIds}`,
          never:
            "It never publishes anything and never uses stored data: it fails if the platform fails. A channel is a linked store, a sales channel a place where it sells."
        },
        idsFrom: fromBoth,
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("listMasterDrops")`/masters/${master}/drops`.addSuccess(wholeList(Drop)).annotate(Tool, {
      name: "list_master_drops_v1",
      title: "List a master's drops",
      tier: "pim:read",
      hints: readOnly,
      description: {
        does: "Drops that change one product, variant or collection, ordered by start time, each with its changes of this master.",
        usage: "Use it before editing a master; use list_drops_v1 for the whole account.",
        ids: masterIds,
        never: "It never makes, starts or cancels a drop: the merchant does. Channels are linked stores."
      },
      idsFrom: fromMasters,
      answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
    })
  ) {}

/** Endpoints of tools that REST does not have. Only the connector serves them. */
export class ConnectorApi extends HttpApi.make("connector").add(MastersGroup) {}
