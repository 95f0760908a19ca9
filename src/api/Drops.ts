import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DropId } from "../model/Ids.ts"
import { Drop } from "./Answers.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { wholeList } from "./Page.ts"
import { DropIdInPath, EntityIdInPath, uuidArgument } from "./Params.ts"
import { inConnector, readOnly, Tool } from "./Tool.ts"

const dropId = HttpApiSchema.param(
  "id",
  DropIdInPath.pipe(inConnector({ name: "drop_id", schema: uuidArgument(DropId, "Id of a drop.") }))
)

const dropsOf = <const Name extends string>(name: Name, path: `/${string}/:id/drops`, kind: string) =>
  HttpApiEndpoint.get(name, path)
    .setPath(Schema.Struct({ id: EntityIdInPath }))
    .addSuccess(wholeList(Drop))
    .addError(NotFoundWire)
    .annotate(OpenApi.Summary, `List ${kind}'s drops`)
    .annotate(
      OpenApi.Description,
      "Drops in any state that change the entity, ordered by start time. `changes` includes only changes of this entity."
    )

/** Scheduled field changes, read only: the account holder creates and cancels them. */
export class DropsGroup extends HttpApiGroup.make("drops")
  .add(
    HttpApiEndpoint.get("listDrops", "/drops")
      .addSuccess(wholeList(Drop))
      .annotate(OpenApi.Summary, "List drops")
      .annotate(
        OpenApi.Description,
        "Scheduled field changes, ordered by start time. At `starts_at` a drop publishes the values that each store last accepted plus its own fields, and no other draft. At `ends_at` the fields get their earlier values back, unless somebody edited them since."
      )
      .annotate(Tool, {
        name: "list_drops_v1",
        title: "List drops",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Drops of the account (scheduled, live or past field changes), ordered by start time, each with its changes.",
          usage: "Use it for all of the account; use list_master_drops_v1 for one master, get_drop_v1 for one drop.",
          ids: "Rows have drop_id (as id) and master_id.",
          never: "It never makes, starts or cancels a drop: the merchant does. Channels are linked stores."
        },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("getDrop")`/drops/${dropId}`
      .addSuccess(Drop)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a drop")
      .annotate(OpenApi.Description, "A drop with the outcome of each of its changes.")
      .annotate(Tool, {
        name: "get_drop_v1",
        title: "Get a drop",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "One drop: its times, status and the outcome of each change. Long lists of changes are paged.",
          usage: "Use it for all changes of one drop; use list_drops_v1 for every drop.",
          ids: "list_drops_v1 gives drop_id.",
          never: "It never makes, starts or cancels a drop: the merchant does. Channels are linked stores."
        },
        idsFrom: { drop_id: "list_drops_v1" },
        answer: { kind: "bounded", rows: ["changes"], keys: ["master_id", "channel_id", "field"], limited: false }
      })
  )
  .add(dropsOf("listProductDrops", "/products/:id/drops", "a product"))
  .add(dropsOf("listVariantDrops", "/variants/:id/drops", "a variant"))
  .add(dropsOf("listCollectionDrops", "/collections/:id/drops", "a collection"))
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Drops")
  .annotate(OpenApi.Description, "Scheduled field changes.") {}
