import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire } from "./ErrorEnvelope.ts"

/** The data-health loop: scan, read, remediate. */
export class DataHealthGroup extends HttpApiGroup.make("dataHealth")
  .add(
    HttpApiEndpoint.post("deleteUnused", "/data-health/unused-deletions")
      .annotate(OpenApi.Summary, "Delete unused entities (reserved)")
      .annotate(
        OpenApi.Description,
        "Reserved. Requires the scope pim:delete, which no credential can hold: every key is answered 403, the body unread."
      )
      .annotate(RequiredScope, "pim:delete")
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotate(OpenApi.Title, "Data health")
  .annotate(OpenApi.Description, "The quality of the catalog.") {}
