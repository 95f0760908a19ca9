import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Store } from "../model/Store.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { CatalogGroup } from "./Catalog.ts"
import { ChangesGroup } from "./Changes.ts"
import { DataHealthGroup } from "./DataHealth.ts"
import { DropsGroup } from "./Drops.ts"
import {
  ExpectationFailedWire,
  ForbiddenWire,
  HeadersTooLargeWire,
  InternalErrorWire,
  RateLimitedWire,
  RequestTimeoutWire,
  UnavailableWire,
  UriTooLongWire,
  ValidationFailedWire
} from "./ErrorEnvelope.ts"
import { toPublished } from "./openapi/OpenApiDocument.ts"
import { wholeList } from "./Page.ts"
import { SalesChannelsGroup } from "./SalesChannels.ts"
import { StoreDataGroup } from "./StoreData.ts"

/** The stores linked to the account. */
class StoresGroup extends HttpApiGroup.make("stores")
  .add(
    HttpApiEndpoint.get("listStores", "/stores")
      .addSuccess(wholeList(Store))
      .annotate(OpenApi.Summary, "List stores")
      .annotate(OpenApi.Description, "The stores linked to the account, by domain.")
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Stores")
  .annotate(OpenApi.Description, "The stores that are linked to the account.") {}

const PingBody = Schema.Struct({
  status: Schema.String.annotations({ description: "`ok`" }),
  account_id_present: Schema.Boolean.annotations({ description: "Whether the key belongs to an account." })
}).annotations({ identifier: "Ping" })

/** The only endpoint that needs no scope. */
class PingGroup extends HttpApiGroup.make("ping")
  .add(
    HttpApiEndpoint.get("ping", "/ping")
      .addSuccess(PingBody)
      .annotate(OpenApi.Summary, "Ping")
      .annotate(OpenApi.Description, "Checks that the service answers and the API key is valid. It needs no scope.")
  )
  .middleware(Authentication)
  .annotate(OpenApi.Title, "Ping")
  .annotate(OpenApi.Description, "Reachability and credentials.") {}

const definition = HttpApi.make("catalog")
  .add(PingGroup)
  .add(CatalogGroup)
  .add(ChangesGroup)
  .add(StoresGroup)
  .add(StoreDataGroup)
  .add(SalesChannelsGroup)
  .add(DropsGroup)
  .add(DataHealthGroup)
  .addError(ValidationFailedWire)
  .addError(RequestTimeoutWire)
  .addError(UriTooLongWire)
  .addError(ExpectationFailedWire)
  .addError(RateLimitedWire)
  .addError(HeadersTooLargeWire)
  .addError(InternalErrorWire)
  .addError(UnavailableWire)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Catalog")
  .annotate(OpenApi.Version, "1.0.0")

/** REST v1. Routes, documents and typed clients are derived from it. */
export class RestApi extends definition.annotate(OpenApi.Transform, toPublished(definition)) {}
