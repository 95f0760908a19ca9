import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { FeedChange } from "../feed/FeedChange.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { CursorExpiredWire, ForbiddenWire } from "./ErrorEnvelope.ts"
import { feedParams } from "./Params.ts"

/** The feed of changes. */
export class ChangesGroup extends HttpApiGroup.make("changes")
  .add(
    HttpApiEndpoint.get("listChanges", "/changes")
      .setUrlParams(Schema.Struct(feedParams))
      .addSuccess(
        Schema.Struct({
          data: Schema.Array(FeedChange),
          next_cursor: Schema.String.annotations({
            description: "Send it back as `cursor` for the changes after this page. Every page has one, also the last."
          })
        }).annotations({ description: "One page of the feed." })
      )
      .addError(CursorExpiredWire)
      .annotate(OpenApi.Summary, "List changes")
      .annotate(
        OpenApi.Description,
        "Changes of the account in the order in which they became visible, oldest first: values, store versions, relationships, stores, definitions, translations. Follow `next_cursor`; a page with fewer rows than `limit` is the last for now. A request with its cursor returns 304 or an empty page until something changes. The feed includes every change, even those committed during the paging. Read changed entities with `ids`. Changes are kept for 30 days."
      )
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Changes")
  .annotate(OpenApi.Description, "The feed of changes, for a copy of the catalog.") {}
