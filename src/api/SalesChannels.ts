import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { StoreId } from "../model/Ids.ts"
import { EntityChannel, SalesChannel } from "../platform/SalesChannel.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, LiveReadFailedWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { LiveRead } from "./LiveRead.ts"
import { wholeList } from "./Page.ts"
import { EntityIdInPath, StoreIdInPath, StoreIdParam, uuidArgument } from "./Params.ts"
import { inConnector, liveRead, Tool } from "./Tool.ts"

const storeId = HttpApiSchema.param(
  "id",
  StoreIdInPath.pipe(
    inConnector({ name: "channel_id", schema: uuidArgument(StoreId, "Id of a channel (a linked store).") })
  )
)

const live =
  "Read from the store's platform within 5 s: 502 if the platform fails, is late, refuses or sends an invalid response."

const channelsOf = <const Name extends string>(name: Name, path: `/${string}/:id/sales-channels`, kind: string) =>
  HttpApiEndpoint.get(name, path)
    .setPath(Schema.Struct({ id: EntityIdInPath }))
    .setUrlParams(Schema.Struct({ store_id: StoreIdParam }))
    .addSuccess(wholeList(EntityChannel))
    .annotate(OpenApi.Summary, `List ${kind}'s sales channels on a store`)
    .annotate(
      OpenApi.Description,
      `Every sales channel of the store, and whether the entity is sold there. An entity that was never published to the store is on none. A store without a platform has none. ${live} An unknown entity, or one that is not on the store, is 404.`
    )

/** Sales channels of stores, read from their platforms on each request. */
export class SalesChannelsGroup extends HttpApiGroup.make("salesChannels")
  .add(
    HttpApiEndpoint.get("listStoreSalesChannels")`/stores/${storeId}/sales-channels`
      .addSuccess(wholeList(SalesChannel))
      .annotate(OpenApi.Summary, "List a store's sales channels")
      .annotate(OpenApi.Description, `The sales channels of a store. A store without a platform has none. ${live}`)
      .annotate(Tool, {
        name: "list_store_sales_channels_v1",
        title: "List a store's sales channels",
        tier: "pim:read",
        hints: liveRead,
        description: {
          does: "Sales channels of one store (online store, marketplaces, points of sale), read from its platform on each call.",
          usage:
            "Use it for the places where a store sells; use get_master_sales_channels_v1 for whether one master is sold there.",
          ids: "get_master_v1 and list_products_v1 give channel_id: a channel is a linked store, a sales channel is a place where it sells.",
          never: "It never publishes or changes anything, and never uses stored data: it fails if the platform fails."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(channelsOf("listProductSalesChannels", "/products/:id/sales-channels", "a product"))
  .add(channelsOf("listVariantSalesChannels", "/variants/:id/sales-channels", "a variant"))
  .add(channelsOf("listCollectionSalesChannels", "/collections/:id/sales-channels", "a collection"))
  .addError(NotFoundWire)
  .addError(LiveReadFailedWire)
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotateEndpoints(LiveRead, true)
  .annotate(OpenApi.Title, "Sales channels")
  .annotate(OpenApi.Description, "Where stores sell, read from their platforms on each request.") {}
