import { randomUUID } from "node:crypto"
import { type HttpApp, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { MethodNotAllowed } from "../api/RequestErrors.ts"
import { RequestId } from "../api/RequestId.ts"
import type { Credential } from "../domain/ApiKey.ts"
import { Forbidden, NotFound, Unauthorized } from "../domain/Errors.ts"
import { ApiKeys } from "../services/ApiKeys.ts"
import { RateBudget } from "../services/RateBudget.ts"
import { readJson, withJson } from "./Body.ts"
import { Caller } from "./Caller.ts"
import { conditional } from "./Conditional.ts"
import { answerFailure } from "./Envelope.ts"
import { rateHeaders } from "./RateHeaders.ts"
import { checkHead, splitTarget } from "./RequestHead.ts"
import type { Route, RouteTable } from "./RouteTable.ts"

const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization" }

/** Exactly one token after the scheme, whose case does not matter. */
const bearer = /^bearer +([^\s,]+)$/i

const tokenOf = (header: string | undefined) => (header === undefined ? undefined : bearer.exec(header)?.[1])

/**
 * What every request passes, in this order: its head, the credential (if one is sent), that credential's budget, route and
 * method, the credential (if one is required), scope, body. What stops it is answered in the envelope; every answer leaves
 * with the rate headers, its request id and, where it is a 200, its ETag.
 */
export const makeGate = (routes: RouteTable) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const budget = yield* RateBudget

    const findCredential = (header: string | undefined): Effect.Effect<Option.Option<Credential>> => {
      const token = tokenOf(header)
      return token === undefined ? Effect.succeedNone : keys.authenticate(token)
    }

    const findRoute = (method: string, path: string): Effect.Effect<Route, NotFound | MethodNotAllowed> => {
      const methods = routes(path)
      if (methods === undefined) return new NotFound()
      const route = methods.get(method)
      return route === undefined ? new MethodNotAllowed({ allow: [...methods.keys()].sort() }) : Effect.succeed(route)
    }

    const admit = (route: Route, credential: Option.Option<Credential>) => {
      if (!route.authenticated) return Effect.succeedNone
      if (Option.isNone(credential)) return new Unauthorized()
      const { accountId, keyId, scopes } = credential.value
      if (route.scope !== undefined && !scopes.includes(route.scope)) return new Forbidden({ scope: route.scope })
      return Effect.succeedSome({ _tag: "Key" as const, accountId, keyId })
    }

    return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const requestId = `req_${randomUUID()}`
        const { path } = splitTarget(request.originalUrl)
        // Of a window only once the credential is known.
        let standing = yield* budget.untouched

        const answer = Effect.gen(function* () {
          yield* checkHead(request)
          const isOpen = routes(path)?.values().next().value?.authenticated === false
          const credential = isOpen ? Option.none() : yield* findCredential(request.headers.authorization)
          if (Option.isSome(credential)) {
            const { accountId, keyId } = credential.value
            const taken = yield* budget.take({ accountId, credentialId: keyId })
            standing = taken.standing
            if (taken.refusal !== null) return yield* taken.refusal
          }
          const route = yield* findRoute(request.method, path)
          const caller = yield* admit(route, credential)
          const passed =
            route.bodyLimitBytes === undefined
              ? request
              : withJson(request, yield* readJson(request, route.bodyLimitBytes))
          return yield* app.pipe(
            Effect.provideService(HttpServerRequest.HttpServerRequest, passed),
            Effect.provideService(Caller, caller),
            Effect.provideService(RequestId, requestId)
          )
        })

        const response = yield* Effect.catchAllCause(answer, answerFailure(requestId))
        return HttpServerResponse.setHeaders(conditional(request, response), {
          ...commonHeaders,
          ...rateHeaders(standing),
          "x-request-id": requestId
        })
      })
  })
