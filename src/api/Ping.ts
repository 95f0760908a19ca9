import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Authentication } from "./Authentication.ts"

const PingBody = Schema.Struct({
  status: Schema.String.annotations({ description: "`ok`" }),
  account_id_present: Schema.Boolean.annotations({ description: "Whether the key belongs to an account." })
}).annotations({ identifier: "Ping" })

/** The one read that any valid key opens. */
export class PingGroup extends HttpApiGroup.make("ping")
  .add(
    HttpApiEndpoint.get("ping", "/ping")
      .addSuccess(PingBody)
      .annotate(OpenApi.Summary, "Ping")
      .annotate(OpenApi.Description, "Whether the service is there and the API key is valid. Any valid key will do.")
  )
  .middleware(Authentication)
  .annotate(OpenApi.Title, "Ping")
  .annotate(OpenApi.Description, "Reachability and credentials.") {}
