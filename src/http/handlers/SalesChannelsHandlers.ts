import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"

export const SalesChannelsHandlers = HttpApiBuilder.group(RestApi, "salesChannels", (handlers) =>
  Effect.map(Programs, (programs) =>
    handlers
      .handle("listStoreSalesChannels", programs.listStoreSalesChannels)
      .handle("listProductSalesChannels", programs.listProductSalesChannels)
      .handle("listVariantSalesChannels", programs.listVariantSalesChannels)
      .handle("listCollectionSalesChannels", programs.listCollectionSalesChannels)
  )
)
