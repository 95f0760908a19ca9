import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { makePrograms } from "../../services/Programs.ts"

export const DataHealthHandlers = HttpApiBuilder.group(RestApi, "dataHealth", (handlers) =>
  Effect.map(makePrograms, (programs) => handlers.handle("deleteUnused", programs.deleteUnused))
)
