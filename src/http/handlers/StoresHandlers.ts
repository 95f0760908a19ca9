import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"

export const StoresHandlers = HttpApiBuilder.group(RestApi, "stores", (handlers) =>
  Effect.map(Programs, (programs) => handlers.handle("listStores", programs.listStores))
)
