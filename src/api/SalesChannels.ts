import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { StoreId } from "../model/Ids.ts"
import { EntityChannel, SalesChannel } from "../platform/SalesChannel.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, LiveReadFailedWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { Live } from "./Live.ts"
import { bounded } from "./Page.ts"
import { EntityIdInPath, StoreIdInPath, StoreIdParam, uuidArgument } from "./Params.ts"
import { inConnector, liveRead, Tool } from "./Tool.ts"

const id = HttpApiSchema.param("id", EntityIdInPath)
const storeId = HttpApiSchema.param(
  "id",
  StoreIdInPath.pipe(
    inConnector({ name: "channel_id", schema: uuidArgument(StoreId, "Id of a channel (a linked store).") })
  )
)
const onStore = Schema.Struct({ store_id: StoreIdParam })

const live =
  "The store's platform is asked while you wait, 5 s at most: 502 when it fails, is late, refuses or answers nonsense."
const ofEntity = `Every channel of the store, and whether the entity is sold there. One that was never published to the store is on none. A store known by its files alone has none. ${live} An entity that is not on the store is 404, as an unknown one.`

/** Where stores sell: read from their platforms, never from what is kept here. */
export class SalesChannelsGroup extends HttpApiGroup.make("salesChannels")
  .add(
    HttpApiEndpoint.get("listStoreSalesChannels")`/stores/${storeId}/sales-channels`
      .addSuccess(bounded(SalesChannel))
      .annotate(OpenApi.Summary, "List a store's sales channels")
      .annotate(
        OpenApi.Description,
        `The sales channels of a store. A store known by its files alone has none. ${live}`
      )
      .annotate(Tool, {
        name: "list_store_sales_channels_v1",
        title: "List a store's sales channels",
        tier: "pim:read",
        hints: liveRead,
        description: {
          does: "Sales channels of one store (online store, marketplaces, points of sale), asked of its platform while you wait.",
          rather:
            "For the places where a store sells; get_master_sales_channels_v1 for whether one master is sold there.",
          ids: "get_master_v1 and list_products_v1 give channel_id: a channel is a linked store, a sales channel is a place where it sells.",
          never:
            "It never publishes or changes anything, and never answers from memory: it fails when the platform does."
        },
        idsFrom: { channel_id: "get_master_v1" },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("listProductSalesChannels")`/products/${id}/sales-channels`
      .setUrlParams(onStore)
      .addSuccess(bounded(EntityChannel))
      .annotate(OpenApi.Summary, "List a product's sales channels on a store")
      .annotate(OpenApi.Description, ofEntity)
  )
  .add(
    HttpApiEndpoint.get("listVariantSalesChannels")`/variants/${id}/sales-channels`
      .setUrlParams(onStore)
      .addSuccess(bounded(EntityChannel))
      .annotate(OpenApi.Summary, "List a variant's sales channels on a store")
      .annotate(OpenApi.Description, ofEntity)
  )
  .add(
    HttpApiEndpoint.get("listCollectionSalesChannels")`/collections/${id}/sales-channels`
      .setUrlParams(onStore)
      .addSuccess(bounded(EntityChannel))
      .annotate(OpenApi.Summary, "List a collection's sales channels on a store")
      .annotate(OpenApi.Description, ofEntity)
  )
  .addError(NotFoundWire)
  .addError(LiveReadFailedWire)
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotateEndpoints(Live, true)
  .annotate(OpenApi.Title, "Sales channels")
  .annotate(OpenApi.Description, "Where stores sell, read from their platforms while you wait.") {}
