import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"
import { sent } from "../Sent.ts"

export const OperationsHandlers = HttpApiBuilder.group(RestApi, "operations", (handlers) =>
  Effect.map(Programs, (programs) =>
    handlers
      .handle("listMarkets", programs.listMarkets)
      .handle("getMarket", programs.getMarket)
      .handle("listMetafieldDefinitions", programs.listMetafieldDefinitions)
      .handle("listMetaobjectDefinitions", programs.listMetaobjectDefinitions)
      .handle("listMetaobjectEntries", (request) => sent(programs.listMetaobjectEntries(request)))
      .handle("listProductTranslations", programs.listProductTranslations)
      .handle("listCollectionTranslations", programs.listCollectionTranslations)
  )
)
