import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { makePrograms } from "../../services/Programs.ts"

export const PingHandlers = HttpApiBuilder.group(RestApi, "ping", (handlers) =>
  Effect.map(makePrograms, (programs) => handlers.handle("ping", programs.ping))
)
