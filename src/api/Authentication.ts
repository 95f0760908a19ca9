import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context } from "effect"
import type { AnyScope } from "../access/ApiKeyToken.ts"
import { CurrentActor } from "../model/Actor.ts"
import { UnauthorizedWire } from "./ErrorEnvelope.ts"

/** The scope that an endpoint requires. Absent: any valid key is enough. */
export class RequiredScope extends Context.Tag("catalog/RequiredScope")<RequiredScope, AnyScope>() {}

/** Middleware of endpoints that require a valid API key. It provides the key's actor. */
export class Authentication extends HttpApiMiddleware.Tag<Authentication>()("catalog/Authentication", {
  failure: UnauthorizedWire,
  provides: CurrentActor,
  security: {
    ApiKey: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotate(
        OpenApi.Description,
        "An API key: `pk_live_` and 38 characters. `x-required-scope` of an operation is the scope that it must have."
      )
    )
  }
}) {}
