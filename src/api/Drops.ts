import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { DropId } from "../model/Ids.ts"
import { Drop } from "./Answers.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { bounded } from "./Page.ts"
import { DropIdInPath, EntityIdInPath, uuidArgument } from "./Params.ts"
import { inConnector, readOnly, Tool } from "./Tool.ts"

const id = HttpApiSchema.param("id", EntityIdInPath)
const dropId = HttpApiSchema.param(
  "id",
  DropIdInPath.pipe(inConnector({ name: "drop_id", schema: uuidArgument(DropId, "Id of a drop.") }))
)

const ofEntity =
  "Drops that change the entity, by their start, whatever has become of them. `changes` of each is narrowed to those that touch it."

/** Field changes that come, and go, at their times. They are made and cancelled by the account holder, and read here. */
export class DropsGroup extends HttpApiGroup.make("drops")
  .add(
    HttpApiEndpoint.get("listDrops", "/drops")
      .addSuccess(bounded(Drop))
      .annotate(OpenApi.Summary, "List drops")
      .annotate(
        OpenApi.Description,
        "Scheduled field changes, by their start. A drop publishes what each store accepted last with the drop's fields and nothing else, once at `starts_at`; at `ends_at` the fields return to what they were, unless somebody edited them since."
      )
      .annotate(Tool, {
        name: "list_drops_v1",
        title: "List drops",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Drops of the account (field changes that are scheduled, under way or over) by their start, each with its changes.",
          rather:
            "For what will change, or has changed, by itself; list_master_drops_v1 for one master, get_drop_v1 for one drop.",
          ids: "It gives drop_id (as id) and master_id.",
          never: "It never makes, starts or cancels a drop: the merchant does. A channel is a linked store."
        },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("getDrop")`/drops/${dropId}`
      .addSuccess(Drop)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a drop")
      .annotate(OpenApi.Description, "A drop, and what has become of each of its changes.")
      .annotate(Tool, {
        name: "get_drop_v1",
        title: "Get a drop",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "One drop: its times, its status and what has become of each of its changes, by page where they do not fit.",
          rather: "For all changes of a drop whose id is known; list_drops_v1 for every drop.",
          ids: "list_drops_v1 gives drop_id.",
          never: "It never makes, starts or cancels a drop: the merchant does. A channel is a linked store."
        },
        idsFrom: { drop_id: "list_drops_v1" },
        answer: { kind: "bounded", rows: ["changes"], keys: ["master_id"], limited: false }
      })
  )
  .add(
    HttpApiEndpoint.get("listProductDrops")`/products/${id}/drops`
      .addSuccess(bounded(Drop))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a product's drops")
      .annotate(OpenApi.Description, ofEntity)
  )
  .add(
    HttpApiEndpoint.get("listVariantDrops")`/variants/${id}/drops`
      .addSuccess(bounded(Drop))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a variant's drops")
      .annotate(OpenApi.Description, ofEntity)
  )
  .add(
    HttpApiEndpoint.get("listCollectionDrops")`/collections/${id}/drops`
      .addSuccess(bounded(Drop))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a collection's drops")
      .annotate(OpenApi.Description, ofEntity)
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Drops")
  .annotate(OpenApi.Description, "Field changes that come, and go, at their times.") {}
