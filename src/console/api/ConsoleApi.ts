import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "@effect/platform"
import { Schema } from "effect"
import {
  InternalErrorWire,
  SessionMissingWire,
  SessionRefusedWire,
  UnavailableWire,
  ValidationFailedWire
} from "../../api/ErrorEnvelope.ts"
import { searchParam } from "../../api/Params.ts"
import { CurrentActor } from "../../model/Actor.ts"
import { EntityId } from "../../model/Ids.ts"

/** Checks the session cookie and, for methods other than GET and HEAD, the CSRF token. It provides the session's user. */
export class Session extends HttpApiMiddleware.Tag<Session>()("catalog/console/Session", {
  failure: Schema.Union(SessionMissingWire, SessionRefusedWire),
  provides: CurrentActor
}) {}

/** The first part of all paths. */
export const prefix = "/console-api"

/** An endpoint's path is its name, so that the types of the client know the path. */
const get = <const Name extends string>(name: Name) => HttpApiEndpoint.get(name, `/${name}`)

/** A product or a collection. `path`: the address of its page. `sku`: null if the words do not occur in a SKU. */
const Found = Schema.Struct({
  id: EntityId,
  kind: Schema.Literal("product", "collection"),
  title: Schema.String,
  sku: Schema.NullOr(Schema.String),
  path: Schema.String
})

export const SearchAnswer = Schema.Struct({ data: Schema.Array(Found) })

class SearchGroup extends HttpApiGroup.make("search")
  .add(
    get("search")
      .setUrlParams(Schema.Struct({ search: searchParam("the product's or collection's name, or in a SKU") }))
      .addSuccess(SearchAnswer)
  )
  .middleware(Session) {}

/** The private API of the scripts of the pages. It is not part of REST v1, and may change with the pages. */
export class ConsoleApi extends HttpApi.make("console")
  .add(SearchGroup)
  .addError(ValidationFailedWire)
  .addError(InternalErrorWire)
  .addError(UnavailableWire)
  .prefix(prefix) {}
