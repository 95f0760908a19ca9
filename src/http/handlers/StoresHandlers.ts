import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { makePrograms } from "../../services/Programs.ts"

export const StoresHandlers = HttpApiBuilder.group(RestApi, "stores", (handlers) =>
  Effect.map(makePrograms, (programs) => handlers.handle("listStores", programs.listStores))
)
