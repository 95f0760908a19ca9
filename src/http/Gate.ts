import { randomUUID } from "node:crypto"
import { type HttpApp, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Context, Effect, Option } from "effect"
import type { ApiError } from "../api/ErrorCodes.ts"
import { MethodNotAllowed } from "../api/RequestErrors.ts"
import type { Actor } from "../domain/Actor.ts"
import type { Credential } from "../domain/ApiKey.ts"
import { Forbidden, NotFound, Unauthorized } from "../domain/Errors.ts"
import { ApiKeys } from "../services/ApiKeys.ts"
import { RateBudget, type Standing } from "../services/RateBudget.ts"
import { readJson, withJson } from "./Body.ts"
import { Caller } from "./Caller.ts"
import { etagOf, isKnown } from "./Conditional.ts"
import { answerFailure } from "./Envelope.ts"
import { rateHeaders } from "./RateHeaders.ts"
import { misfitOf, splitTarget } from "./RequestHead.ts"
import type { Methods, Route, RouteTable } from "./RouteTable.ts"

const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization" }

/** Exactly one token after the scheme, whose case does not matter. */
const bearer = /^bearer +([^\s,]+)$/i

const tokenOf = (header: string | undefined) => (header === undefined ? undefined : bearer.exec(header)?.[1])

/** A request on its way through the gate. */
interface Passage {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly id: string
  /** The window of the credential, once it is known. */
  standing: Standing | undefined
}

/** The route of a method on a path, or why there is none. */
const routeOf = (methods: Methods | undefined, method: string): Route | NotFound | MethodNotAllowed =>
  methods === undefined
    ? new NotFound()
    : (methods.get(method) ?? new MethodNotAllowed({ allow: [...methods.keys()].sort() }))

const isOpen = (methods: Methods | undefined) => methods?.values().next().value?.authenticated === false

/** The body of an answer, if it is text: Node sends it in one piece with the head, which bytes are not. */
const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string | undefined => {
  switch (body._tag) {
    case "Raw":
      return typeof body.body === "string" ? body.body : undefined
    case "Uint8Array":
      return Buffer.from(body.body.buffer, body.body.byteOffset, body.body.byteLength).toString("utf8")
    default:
      return undefined
  }
}

/**
 * What an answer leaves with: the rate headers, its id and, where it is a 200, its ETag, for which it may shrink to a 304.
 * The headers of a 200 are one literal: put together from parts, the same object costs Node and the library 20 µs.
 */
const leave = (
  { id, request }: Passage,
  response: HttpServerResponse.HttpServerResponse,
  standing: Standing
): HttpServerResponse.HttpServerResponse => {
  const text = textOf(response)
  if (response.status !== 200 || text === undefined)
    return HttpServerResponse.setHeaders(response, { ...commonHeaders, ...rateHeaders(standing), "x-request-id": id })
  const etag = etagOf(text)
  if (isKnown(request, etag))
    return HttpServerResponse.empty({
      status: 304,
      headers: { ...commonHeaders, ...rateHeaders(standing), "x-request-id": id, etag }
    })
  const rate = rateHeaders(standing)
  return HttpServerResponse.raw(text, {
    status: 200,
    headers: {
      "content-type": response.headers["content-type"],
      "content-length": response.headers["content-length"],
      etag,
      "cache-control": commonHeaders["cache-control"],
      vary: commonHeaders.vary,
      "x-ratelimit-limit": rate["x-ratelimit-limit"],
      "x-ratelimit-remaining": rate["x-ratelimit-remaining"],
      "x-ratelimit-reset": rate["x-ratelimit-reset"],
      "x-ratelimit-scope": rate["x-ratelimit-scope"],
      "x-request-id": id
    }
  })
}

/**
 * What every request passes, in this order: its head, the credential (if one is sent), that credential's budget, route and
 * method, the credential (if one is required), scope, body. What stops it is answered in the envelope; every answer leaves
 * with the rate headers, its request id and, where it is a 200, its ETag.
 *
 * Written as few flat steps: it runs for every request, and each step of a generator costs one of its microseconds.
 */
export const makeGate = (routes: RouteTable) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const budget = yield* RateBudget

    return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> => {
      type Answer = HttpApp.Default<E | ApiError, R>

      /** Runs the handlers on behalf of the caller. */
      const enter = (passed: HttpServerRequest.HttpServerRequest, caller: Option.Option<Actor>): Answer =>
        Effect.mapInputContext(app, (context: Context.Context<R | HttpServerRequest.HttpServerRequest>) =>
          Context.merge(
            context,
            Context.make(Caller, caller).pipe(Context.add(HttpServerRequest.HttpServerRequest, passed))
          )
        )

      const admit = (
        { request }: Passage,
        methods: Methods | undefined,
        credential: Option.Option<Credential>
      ): Answer => {
        const route = routeOf(methods, request.method)
        if ("_tag" in route) return route
        if (!route.authenticated) return enter(request, Option.none())
        if (Option.isNone(credential)) return new Unauthorized()
        const { accountId, keyId, scopes } = credential.value
        if (route.scope !== undefined && !scopes.includes(route.scope)) return new Forbidden({ scope: route.scope })
        const caller = Option.some({ _tag: "Key" as const, accountId, keyId })
        return route.bodyLimitBytes === undefined
          ? enter(request, caller)
          : Effect.flatMap(readJson(request, route.bodyLimitBytes), (value) => enter(withJson(request, value), caller))
      }

      const pass = (passage: Passage): Answer => {
        const { request } = passage
        const misfit = misfitOf(request)
        if (misfit !== undefined) return misfit
        const methods = routes(splitTarget(request.originalUrl).path)
        const token = isOpen(methods) ? undefined : tokenOf(request.headers.authorization)
        if (token === undefined) return admit(passage, methods, Option.none())
        return Effect.flatMap(keys.authenticate(token), (credential): Answer => {
          if (Option.isNone(credential)) return admit(passage, methods, credential)
          const { accountId, keyId } = credential.value
          return Effect.flatMap(budget.take({ accountId, credentialId: keyId }), ({ refusal, standing }): Answer => {
            passage.standing = standing
            return refusal ?? admit(passage, methods, credential)
          })
        })
      }

      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const passage: Passage = { request, id: `req_${randomUUID()}`, standing: undefined }
        return Effect.catchAllCause(
          Effect.suspend(() => pass(passage)),
          answerFailure(passage.id)
        ).pipe(
          Effect.flatMap((response) =>
            passage.standing === undefined
              ? Effect.map(budget.untouched, (standing) => leave(passage, response, standing))
              : Effect.succeed(leave(passage, response, passage.standing))
          )
        )
      })
    }
  })
