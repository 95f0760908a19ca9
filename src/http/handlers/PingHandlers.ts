import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"

export const PingHandlers = HttpApiBuilder.group(RestApi, "ping", (handlers) =>
  Effect.map(Programs, (programs) => handlers.handle("ping", programs.ping))
)
