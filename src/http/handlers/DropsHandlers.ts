import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"

export const DropsHandlers = HttpApiBuilder.group(RestApi, "drops", (handlers) =>
  Effect.map(Programs, (programs) =>
    handlers
      .handle("listDrops", programs.listDrops)
      .handle("getDrop", programs.getDrop)
      .handle("listProductDrops", programs.listProductDrops)
      .handle("listVariantDrops", programs.listVariantDrops)
      .handle("listCollectionDrops", programs.listCollectionDrops)
  )
)
