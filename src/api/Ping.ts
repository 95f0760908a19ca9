import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Authentication } from "./Authentication.ts"

const PingBody = Schema.Struct({
  status: Schema.String.annotations({ description: "`ok`" }),
  account_id_present: Schema.Boolean.annotations({ description: "Whether the key belongs to an account." })
}).annotations({ identifier: "Ping" })

/** The only endpoint that needs no scope. */
export class PingGroup extends HttpApiGroup.make("ping")
  .add(
    HttpApiEndpoint.get("ping", "/ping")
      .addSuccess(PingBody)
      .annotate(OpenApi.Summary, "Ping")
      .annotate(OpenApi.Description, "Checks that the service answers and the API key is valid. It needs no scope.")
  )
  .middleware(Authentication)
  .annotate(OpenApi.Title, "Ping")
  .annotate(OpenApi.Description, "Reachability and credentials.") {}
