import { HttpApi, OpenApi } from "@effect/platform"
import { CatalogGroup } from "./Catalog.ts"
import { ChangesGroup } from "./Changes.ts"
import { DataHealthGroup } from "./DataHealth.ts"
import { DropsGroup } from "./Drops.ts"
import {
  ExpectationFailedWire,
  HeadersTooLargeWire,
  InternalErrorWire,
  RateLimitedWire,
  RequestTimeoutWire,
  UnavailableWire,
  UriTooLongWire,
  ValidationFailedWire
} from "./ErrorEnvelope.ts"
import { OperationsGroup } from "./Operations.ts"
import { toPublished } from "./openapi/OpenApiDocument.ts"
import { PingGroup } from "./Ping.ts"
import { SalesChannelsGroup } from "./SalesChannels.ts"
import { StoresGroup } from "./Stores.ts"

const definition = HttpApi.make("catalog")
  .add(PingGroup)
  .add(CatalogGroup)
  .add(ChangesGroup)
  .add(StoresGroup)
  .add(OperationsGroup)
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
