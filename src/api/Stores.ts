import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Store } from "../model/Store.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire } from "./ErrorEnvelope.ts"
import { wholeList } from "./Page.ts"

/** The stores linked to the account. */
export class StoresGroup extends HttpApiGroup.make("stores")
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
  .annotate(OpenApi.Description, "The commerce stores that mirror the catalog.") {}
