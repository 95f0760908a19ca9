import { type HttpApi, HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect, Layer, type Schema } from "effect"
import type { Sessions } from "../../access/Sessions.ts"
import type { BaseUrl } from "../../http/BaseUrl.ts"
import { routesOf } from "../../http/RouteTable.ts"
import type { Surface } from "../../http/Surface.ts"
import type { Role } from "../../model/Role.ts"
import { makeSearchCatalog } from "../../programs/SearchCatalog.ts"
import { pageHeaders } from "../Html.ts"
import { pageOf, paths } from "../Paths.ts"
import { ConsoleApi, SearchAnswer, type Session } from "./ConsoleApi.ts"
import { refuseInEnvelope, sessionCheck } from "./SessionCheck.ts"

/** The surface of an API of the pages. `needs`: the role that its endpoints need. */
export const apiSurface = <R>(
  api: HttpApi.HttpApi.Any,
  needs: Role,
  handlers: Layer.Layer<never, never, R>
): Surface<BaseUrl | Sessions | Exclude<R, Session>> => ({
  routes: routesOf(api).map((route) => ({ ...route, needs, refuse: refuseInEnvelope })),
  layer: handlers.pipe(Layer.provide(sessionCheck(needs)))
})

/** Encodes an answer. Browsers must not keep it. */
export const jsonOf =
  <A, I>(schema: Schema.Schema<A, I>) =>
  (answer: A) =>
    Effect.orDie(HttpServerResponse.schemaJson(schema)(answer, { headers: pageHeaders }))

const handlers = HttpApiBuilder.group(ConsoleApi, "search", (group) =>
  Effect.map(makeSearchCatalog, (search) =>
    group.handle("search", ({ urlParams }) =>
      Effect.flatMap(search(urlParams.search), (found) =>
        jsonOf(SearchAnswer)({ data: found.map((each) => ({ ...each, path: pageOf(paths.entity, each.id) })) })
      )
    )
  )
)

/** The private API of the pages' scripts. */
export const consoleApi = apiSurface(ConsoleApi, "view", handlers)
