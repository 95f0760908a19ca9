import { randomUUID } from "node:crypto"
import { type HttpApp, HttpServerRequest, HttpServerResponse, UrlParams } from "@effect/platform"
import { toIncomingMessage, toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, type Fiber, FiberId, Option, Runtime } from "effect"
import type { Credential } from "../access/ApiKey.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { MethodNotAllowed } from "../api/RequestErrors.ts"
import type { BoundName } from "../api/TimeBound.ts"
import { RateBudget, type Standing } from "../budgets/RateBudget.ts"
import { rewatch, unwatch, type Watch, watch } from "../database/Deadlines.ts"
import { Forbidden, type Issue, Unauthorized, Unavailable } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { AnswerCache, type RememberedAnswer } from "./AnswerCache.ts"
import { chargeTo } from "./BodiesInFlight.ts"
import { readJson, withJson } from "./Body.ts"
import { letPass } from "./Caller.ts"
import { etagOf, isKnown } from "./Conditional.ts"
import { answerFailure, errorResponse } from "./Envelope.ts"
import { rateHeaders } from "./RateHeaders.ts"
import { RequestDeadlines } from "./RequestDeadlines.ts"
import { misfitOf, splitTarget, withoutBlanks } from "./RequestHead.ts"
import type { Methods, Route, RouteTable } from "./RouteTable.ts"
import { nameRequest, type Passing, type Refuse } from "./Surface.ts"

const commonHeaders = { "cache-control": "private, no-cache", vary: "Authorization" }

/** Exactly one token after the scheme, whose case does not matter. */
const bearer = /^bearer +([^\s,]+)$/i

const tokenOf = (header: string | undefined) => (header === undefined ? undefined : bearer.exec(header)?.[1])

/** A request on its way through the gate. */
interface Passage {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly id: string
  /** What a surface beside the API knows of it. */
  passing: Passing | undefined
  /** Until when it is answered. */
  watching: Watch | undefined
  bound: BoundName
  /** How the surface beside the API that is asked says that something failed; undefined: it is the API. */
  refuse: Refuse | undefined
  /** The window of the credential, once it is known. */
  standing: Standing | undefined
  /** The answer, where it is known without asking. */
  known: RememberedAnswer | undefined
  /** What the route decodes: its body, or its target with the parameters; undefined until it is read. */
  decoding: { readonly route: Route; readonly input: unknown } | undefined
  /** Whose answer it is, its target, and the account's version before it is read; set where it may be remembered. */
  reading: { readonly accountId: AccountId; readonly target: string; readonly version: number } | undefined
}

/** The parameters of a target, as the router reads them. */
const parametersOf = (target: string) =>
  UrlParams.toRecord(UrlParams.fromInput(new URLSearchParams(splitTarget(target).query)))

/** What is wrong with the body or the parameters of a request. */
const misfitsOf = ({ decoding }: Passage): ReadonlyArray<Issue> => {
  if (decoding === undefined) return []
  const { input, route } = decoding
  return route.bodyLimitBytes === undefined
    ? (route.misfits?.(parametersOf(String(input))) ?? [])
    : (route.misfits?.(input) ?? []).map(({ message, path }) => ({ message, path: path || "body" }))
}

/** What holds for every method of a path. */
const anyOf = (methods: Methods | undefined): Route | undefined => methods?.values().next().value

/** The body of an answer; undefined where it has none or is still being made. */
const bytesOf = ({ body }: HttpServerResponse.HttpServerResponse): Buffer | undefined => {
  switch (body._tag) {
    case "Raw":
      return body.body instanceof Buffer ? body.body : undefined
    case "Uint8Array":
      return Buffer.from(body.body.buffer, body.body.byteOffset, body.body.byteLength)
    default:
      return undefined
  }
}

/** A 200 with all that is told of it but its own request; undefined for any other answer. */
const answerOf = (response: HttpServerResponse.HttpServerResponse, version: number): RememberedAnswer | undefined => {
  const body = response.status === 200 ? bytesOf(response) : undefined
  return body === undefined
    ? undefined
    : {
        version,
        body,
        etag: etagOf(body),
        contentType: response.headers["content-type"] ?? "",
        contentSecurityPolicy: response.headers["content-security-policy"]
      }
}

/**
 * Gives a 200 that is known whole, or its 304, on Node's own response; the library sees that it is given. Put together as
 * an answer of the library's and taken apart again, the same would cost a tenth of a request.
 */
const give = (
  { id, request }: Passage,
  known: RememberedAnswer,
  { limit, remaining, resetAtSeconds, scope }: Standing
) => {
  const isFresh = isKnown(request, known.etag)
  const headers = [
    "etag",
    known.etag,
    "cache-control",
    commonHeaders["cache-control"],
    "vary",
    commonHeaders.vary,
    "x-ratelimit-limit",
    String(limit),
    "x-ratelimit-remaining",
    String(remaining),
    "x-ratelimit-reset",
    String(resetAtSeconds),
    "x-ratelimit-scope",
    scope,
    "x-request-id",
    id
  ]
  if (!isFresh) headers.push("content-type", known.contentType, "content-length", String(known.body.length))
  if (!isFresh && known.contentSecurityPolicy !== undefined)
    headers.push("content-security-policy", known.contentSecurityPolicy)
  const response = toServerResponse(request)
  // It was late, and was answered.
  if (response.writableEnded) return given
  response.writeHead(isFresh ? 304 : 200, headers)
  response.end(isFresh ? undefined : known.body)
  return given
}

/** Whether somebody typed an address or followed a link; programs that use the API are answered in its envelope. */
const isOfBrowser = ({ headers, method, originalUrl }: HttpServerRequest.HttpServerRequest) =>
  (method === "GET" || method === "HEAD") &&
  headers.accept?.includes("text/html") === true &&
  !/^\/(?:api|mcp)(?:[/?]|$)/.test(originalUrl)

/** What every other answer leaves with: the rate headers and its id. */
const leave = ({ id }: Passage, response: HttpServerResponse.HttpServerResponse, standing: Standing) =>
  HttpServerResponse.setHeaders(response, { ...commonHeaders, ...rateHeaders(standing), "x-request-id": id })

/** Stands for an answer that is known, or given, without the library. */
const given = HttpServerResponse.empty({ status: 200 })

/**
 * What every request passes, in this order: its head, the credential (if one is sent), that credential's budget, route and
 * method, the credential (if one is required), scope, body. What stops it is answered in the envelope; every answer leaves
 * with the rate headers, its request id and, where it is a 200, its ETag. A surface beside the API answers in its own words.
 *
 * Written as few flat steps: it runs for every request, and each step of a generator costs one of its microseconds.
 */
export const makeGate = (routes: RouteTable, refuseAddress?: Refuse) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const budget = yield* RateBudget
    const cache = new AnswerCache()
    const bounds = yield* RequestDeadlines
    const runtime = yield* Effect.runtime()

    return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> => {
      type Answer = HttpApp.Default<E | ApiError, R>

      const extend = (passage: Passage, bound: BoundName) => {
        passage.bound = bound
        if (passage.watching !== undefined) rewatch(passage.watching, bounds[bound])
      }

      const admit = (passage: Passage, methods: Methods | undefined, credential: Option.Option<Credential>): Answer => {
        const { request } = passage
        if (methods === undefined) return routes.missing(request.method, splitTarget(request.originalUrl).path)
        const route = methods.get(request.method)
        if (route === undefined) return new MethodNotAllowed({ allow: [...methods.keys()].sort() })
        if (route.bound !== undefined) extend(passage, route.bound)
        if (!route.authenticated) return app
        if (Option.isNone(credential)) return new Unauthorized()
        const { accountId, accountVersion, keyId, scopes } = credential.value
        if (route.scope !== undefined && !scopes.includes(route.scope)) return new Forbidden({ scope: route.scope })
        const target = withoutBlanks(request.originalUrl)
        if (route.method === "GET" && !route.isLive) {
          passage.known = cache.find(accountId, target, accountVersion)
          if (passage.known !== undefined) return Effect.succeed(given)
          passage.reading = { accountId, target, version: accountVersion }
        }
        letPass(request, { _tag: "Key", accountId, keyId })
        if (route.bodyLimitBytes !== undefined) {
          chargeTo(toIncomingMessage(request), keyId)
          return Effect.flatMap(readJson(request, route.bodyLimitBytes), (value) => {
            passage.decoding = { route, input: value }
            return Effect.provideService(app, HttpServerRequest.HttpServerRequest, withJson(request, value))
          })
        }
        // Not a closure: with one, twice as many bytes of a request outlive two collections (docs/benchmarks.md).
        passage.decoding = { route, input: target }
        return target === request.originalUrl
          ? app
          : Effect.provideService(app, HttpServerRequest.HttpServerRequest, request.modify({ url: target }))
      }

      const pass = (passage: Passage): Answer => {
        const { request } = passage
        const methods = routes.find(splitTarget(request.originalUrl).path)
        const any = anyOf(methods)
        passage.refuse = methods === undefined && isOfBrowser(request) ? refuseAddress : any?.refuse
        if (passage.refuse !== undefined) {
          passage.passing = { id: passage.id, extend: (bound) => extend(passage, bound), refuse: passage.refuse }
          nameRequest(request, passage.passing)
        }
        const misfit = misfitOf(request)
        if (misfit !== undefined) return misfit
        const token = any?.authenticated === false ? undefined : tokenOf(request.headers.authorization)
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

      /**
       * Answers a request that is late, on Node's own response: whatever holds its fiber up does not hold up the answer. The
       * fiber is told to end. A body that is still coming in is Node's to bound.
       */
      const watchOver = (passage: Passage, fiber: Fiber.RuntimeFiber<unknown, unknown>) => {
        const { id, request } = passage
        passage.watching = watch(bounds[passage.bound], () => {
          const response = toServerResponse(request)
          if (response.writableEnded || response.destroyed) return
          const incoming = toIncomingMessage(request)
          // False while its reader takes turns with others; null: nobody reads it.
          if (!incoming.complete && incoming.readableFlowing !== null) return watchOver(passage, fiber)
          const late = new Unavailable()
          const refused =
            passage.passing === undefined
              ? leave(passage, errorResponse(late, id), passage.standing ?? Runtime.runSync(runtime, budget.untouched))
              : HttpServerResponse.setHeader(passage.passing.refuse(late, id), "x-request-id", id)
          response.writeHead(refused.status, refused.headers)
          response.end(bytesOf(refused))
          fiber.unsafeInterruptAsFork(FiberId.none)
          Runtime.runFork(
            runtime,
            Effect.annotateLogs(
              Effect.logWarning(`${request.method} was not answered within ${bounds[passage.bound]} ms`),
              { requestId: id, path: splitTarget(request.originalUrl).path }
            )
          )
        })
      }

      /** Keeps a 200 in mind: for this request's own way out and, where it may be, for those after it. */
      const note = (passage: Passage, response: HttpServerResponse.HttpServerResponse) => {
        const { reading } = passage
        if (passage.known !== undefined) return
        passage.known = answerOf(response, reading?.version ?? 0)
        if (passage.known !== undefined && reading !== undefined)
          cache.remember(reading.accountId, reading.target, passage.known)
      }

      return Effect.withFiberRuntime((fiber) => {
        const request = fiber.currentContext.unsafeMap.get(HttpServerRequest.HttpServerRequest.key)
        const passage: Passage = {
          request,
          id: `req_${randomUUID()}`,
          passing: undefined,
          watching: undefined,
          bound: "usual",
          refuse: undefined,
          standing: undefined,
          known: undefined,
          decoding: undefined,
          reading: undefined
        }
        watchOver(passage, fiber)
        return Effect.catchAllCause(
          Effect.suspend(() => pass(passage)),
          (cause) => answerFailure(passage.id, passage.refuse, () => misfitsOf(passage))(cause)
        ).pipe(
          Effect.flatMap((response) => {
            if (passage.watching !== undefined) unwatch(passage.watching)
            if (passage.refuse !== undefined)
              return Effect.succeed(HttpServerResponse.setHeader(response, "x-request-id", passage.id))
            note(passage, response)
            const answer = (standing: Standing) =>
              passage.known === undefined ? leave(passage, response, standing) : give(passage, passage.known, standing)
            return passage.standing === undefined
              ? Effect.map(budget.untouched, answer)
              : Effect.succeed(answer(passage.standing))
          })
        )
      })
    }
  })
