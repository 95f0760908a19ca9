import { randomUUID } from "node:crypto"
import { type HttpApp, HttpServerRequest, HttpServerResponse, UrlParams } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option, Runtime } from "effect"
import type { Credential } from "../access/ApiKey.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { MethodNotAllowed } from "../api/RequestErrors.ts"
import { RateBudget, type RateStatus } from "../budgets/RateBudget.ts"
import { unwatch } from "../database/Deadlines.ts"
import { HasReplica } from "../database/Replica.ts"
import { Forbidden, type Issue, Unauthorized } from "../model/Errors.ts"
import { metrics } from "../telemetry/Metrics.ts"
import type { Tracing } from "../telemetry/Tracing.ts"
import { chargeTo } from "./BodiesInFlight.ts"
import { readJson, withJson } from "./Body.ts"
import { commonHeaders, rateHeaders } from "./CommonHeaders.ts"
import { type Coding, codingFor } from "./Compression.ts"
import { answerFailure, errorResponse } from "./Envelope.ts"
import { AnswerCache } from "./fast/AnswerCache.ts"
import { type KnownAnswer, knownAnswerOf, mustCompress, sendKnown, sendWhole, withCoding } from "./fast/KnownAnswer.ts"
import { readinessPath } from "./Health.ts"
import { makeNoteRefusal } from "./RefusalLog.ts"
import { RequestDeadlines } from "./RequestDeadlines.ts"
import { misfitOf, splitTarget, withoutBlanks } from "./RequestHead.ts"
import { attachState, extendTime, type Refuse, type RequestState } from "./RequestState.ts"
import type { Methods, Route, RouteTable } from "./RouteTable.ts"
import { makeTrace } from "./Spans.ts"
import { makeTimeLimit } from "./TimeLimit.ts"

/** An Authorization header: the scheme in upper or lower case, then exactly one token. */
const bearer = /^bearer +([^\s,]+)$/i

const tokenOf = (header: string | undefined) => (header === undefined ? undefined : bearer.exec(header)?.[1])

/** The state of a request, with fields that only the gate uses. */
interface GateState extends RequestState {
  /** The route and the input that it decodes: the body, or the target with its parameters. Undefined before the decoding. */
  decoding: { readonly route: Route; readonly input: unknown } | undefined
  /** The answer, if it is a 200 with its whole body in memory. */
  known: KnownAnswer | undefined
}

/** The query parameters of a target, as the router decodes them. */
const parametersOf = (target: string) =>
  UrlParams.toRecord(UrlParams.fromInput(new URLSearchParams(splitTarget(target).query)))

/** The issues of a request's body or parameters. */
const misfitsOf = ({ decoding }: GateState): ReadonlyArray<Issue> => {
  if (decoding === undefined) return []
  const { input, route } = decoding
  return route.bodyLimitBytes === undefined
    ? (route.misfits?.(parametersOf(String(input))) ?? [])
    : (route.misfits?.(input) ?? []).map(({ message, path }) => ({ message, path: path || "body" }))
}

/** Whether the route's answers depend on nothing but the account's version. */
const isCacheable = ({ isLive, method }: Route) => method === "GET" && !isLive

/** One route of a path, to read the settings that all its methods share. */
const anyOf = (methods: Methods | undefined): Route | undefined => methods?.values().next().value

/** Whether a browser requests a page. An unknown address is then answered with an error page, otherwise with the error envelope. */
const isOfBrowser = ({ headers, method, originalUrl }: HttpServerRequest.HttpServerRequest) =>
  (method === "GET" || method === "HEAD") &&
  headers.accept?.includes("text/html") === true &&
  !/^\/(?:api|mcp)(?:[/?]|$)/.test(originalUrl)

const withHeaders = ({ id }: RequestState, response: HttpServerResponse.HttpServerResponse, rateStatus: RateStatus) =>
  HttpServerResponse.setHeaders(response, { ...commonHeaders, ...rateHeaders(rateStatus), "x-request-id": id })

const cacheHits = metrics.answerCache.of("hit")
const cacheMisses = metrics.answerCache.of("miss")
const refusedKeys = metrics.credentialRefusals.of("rest")

/** The response for the library when the gate itself writes the answer to Node's response. */
const alreadySent = HttpServerResponse.empty({ status: 200 })

/** Ends the time limit of a request that is about to be answered. */
const stopTimer = ({ watching }: RequestState) => {
  if (watching !== undefined) unwatch(watching)
}

/** Makes the last step of every request, which caches the answer if that is allowed, adds the headers and sends it. */
const makeLeave = (budget: RateBudget["Type"], cache: AnswerCache) => {
  /** Keeps a 200 in the request's state, to send it, and in the cache for later requests if that is allowed. */
  const keepAnswer = (state: GateState, response: HttpServerResponse.HttpServerResponse) => {
    const { reading } = state
    if (state.known !== undefined) return
    state.known = knownAnswerOf(response, reading?.version ?? null)
    if (state.known !== undefined && reading !== undefined)
      cache.remember(reading.accountId, reading.target, state.known)
  }

  /** Compresses the body of a known answer, caches the compressed copy if the answer is cached, and sends it. */
  const sendCompressed = (state: GateState, knownAnswer: KnownAnswer, coding: Coding, rateStatus: RateStatus) =>
    Effect.map(withCoding(knownAnswer, coding), (coded) => {
      const { reading } = state
      if (reading !== undefined) cache.replace(reading.accountId, reading.target, knownAnswer, coded)
      stopTimer(state)
      sendKnown(state.request, state.id, coded, coding, rateStatus)
      return alreadySent
    })

  const answer = (state: GateState, response: HttpServerResponse.HttpServerResponse, rateStatus: RateStatus) => {
    const { id, known, request } = state
    const coding = known && codingFor(request, known.body)
    if (known !== undefined && coding !== undefined && mustCompress(request, known, coding))
      return sendCompressed(state, known, coding, rateStatus)
    stopTimer(state)
    if (known === undefined) return Effect.succeed(withHeaders(state, response, rateStatus))
    sendKnown(request, id, known, coding, rateStatus)
    return Effect.succeed(alreadySent)
  }

  return (state: GateState, response: HttpServerResponse.HttpServerResponse) => {
    if (state.refuse !== undefined) {
      stopTimer(state)
      const marked = HttpServerResponse.setHeader(response, "x-request-id", state.id)
      return Effect.succeed(sendWhole(state.request, marked) ? alreadySent : marked)
    }
    keepAnswer(state, response)
    return state.rateStatus === undefined
      ? Effect.flatMap(budget.fullBudget, (rateStatus) => answer(state, response, rateStatus))
      : answer(state, response, state.rateStatus)
  }
}

/** Answers a request that is authorized: from the cache, if it has an answer of this version, or by its handler. */
const serve = <E, R>(
  cache: AnswerCache,
  app: HttpApp.Default<E, R>,
  state: GateState,
  route: Route,
  { accountId, keyId }: Credential,
  target: string,
  version: number | null
): HttpApp.Default<E | ApiError, R> => {
  const { request } = state
  if (isCacheable(route)) {
    state.reading = { accountId, target, version }
    state.known = version === null ? undefined : cache.find(accountId, target, version)
    if (state.known !== undefined) {
      cacheHits.add(1)
      return Effect.succeed(alreadySent)
    }
    cacheMisses.add(1)
  }
  if (route.bodyLimitBytes !== undefined) {
    chargeTo(toIncomingMessage(request), keyId)
    return Effect.flatMap(readJson(request, route.bodyLimitBytes), (value) => {
      state.decoding = { route, input: value }
      return Effect.provideService(app, HttpServerRequest.HttpServerRequest, withJson(request, value))
    })
  }
  // Data and not a closure: a closure doubles the bytes of a request that survive two garbage collections (docs/benchmarks.md).
  state.decoding = { route, input: target }
  return target === request.originalUrl
    ? app
    : Effect.provideService(app, HttpServerRequest.HttpServerRequest, request.modify({ url: target }))
}

/**
 * Checks every request, in this order: its head, the credential (if one is sent), the budget of the credential, route and
 * method, the credential (if one is required), scope, body. A refusal is an error envelope. Every answer has the rate headers,
 * its request id and, if it is a 200, its ETag. Surfaces other than the API render refusals themselves.
 *
 * Written as a few flat steps: it runs for every request, and each step of a generator costs about a microsecond.
 */
export const makeGate = (routes: RouteTable, refuseAddress?: Refuse, tracing?: Tracing) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const budget = yield* RateBudget
    const bounds = yield* RequestDeadlines
    const hasReplica = yield* HasReplica
    const runtime = yield* Effect.runtime()
    const cache = new AnswerCache()
    const noteRefusal = yield* makeNoteRefusal
    const limitTime = yield* makeTimeLimit((state: RequestState, error) => {
      const rateStatus = state.rateStatus ?? Runtime.runSync(runtime, budget.fullBudget)
      return withHeaders(state, errorResponse(error, state.id), rateStatus)
    })

    const newState = (request: HttpServerRequest.HttpServerRequest): GateState => ({
      request,
      id: `req_${randomUUID()}`,
      bounds,
      bound: "usual",
      watching: undefined,
      refuse: undefined,
      actor: undefined,
      route: undefined,
      caller: undefined,
      pageLanguage: undefined,
      rateStatus: undefined,
      decoding: undefined,
      reading: undefined,
      known: undefined
    })

    const leave = makeLeave(budget, cache)
    const trace =
      tracing === undefined
        ? undefined
        : makeTrace(tracing, ({ originalUrl }) => anyOf(routes.find(splitTarget(originalUrl).path))?.path)

    return <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> => {
      type Answer = HttpApp.Default<E | ApiError, R>

      const admit = (state: GateState, methods: Methods | undefined, credential: Option.Option<Credential>): Answer => {
        const { request } = state
        if (methods === undefined) return routes.missing(request.method, splitTarget(request.originalUrl).path)
        const route = methods.get(request.method)
        if (route === undefined) return new MethodNotAllowed({ allow: [...methods.keys()].sort() })
        if (route.bound !== undefined) extendTime(state, route.bound)
        if (!route.authenticated) {
          // The surface of this route checks its own credentials, and then decodes its parameters.
          state.decoding = { route, input: request.originalUrl }
          return app
        }
        if (Option.isNone(credential)) return new Unauthorized()
        const { accountId, accountVersion, scopes } = credential.value
        if (route.scope !== undefined && !scopes.includes(route.scope)) return new Forbidden({ scope: route.scope })
        const target = withoutBlanks(request.originalUrl)
        if (accountVersion !== null || !isCacheable(route) || !(hasReplica || cache.has(accountId, target)))
          return serve(cache, app, state, route, credential.value, target, accountVersion)
        return Effect.flatMap(keys.versionOf(credential.value), (version) =>
          Option.isNone(version)
            ? new Unauthorized()
            : serve(cache, app, state, route, credential.value, target, version.value)
        )
      }

      const pass = (state: GateState): Answer => {
        const { request } = state
        const methods = routes.find(splitTarget(request.originalUrl).path)
        const any = anyOf(methods)
        state.route = any
        state.refuse = methods === undefined && isOfBrowser(request) ? refuseAddress : any?.refuse
        const misfit = misfitOf(request)
        if (misfit !== undefined) return misfit
        const token = any?.authenticated === false ? undefined : tokenOf(request.headers.authorization)
        if (token === undefined) return admit(state, methods, Option.none())
        return Effect.flatMap(keys.authenticate(token), (credential): Answer => {
          if (Option.isNone(credential)) {
            refusedKeys.add(1)
            return Effect.zipRight(
              noteRefusal("credential", request, { kind: "key" }),
              admit(state, methods, credential)
            )
          }
          const { accountId, keyId } = credential.value
          // Before the budget and the cache, because the access log names the account of refused and of cached requests too.
          state.actor = { _tag: "Key", accountId, keyId }
          return Effect.flatMap(budget.take({ accountId, credentialId: keyId }), ({ refusal, rateStatus }): Answer => {
            state.rateStatus = rateStatus
            return refusal ?? admit(state, methods, credential)
          })
        })
      }

      return Effect.withFiberRuntime((fiber) => {
        const request = fiber.currentContext.unsafeMap.get(HttpServerRequest.HttpServerRequest.key)
        const state = newState(request)
        attachState(state)
        limitTime(state, fiber)
        const answer = Effect.catchAllCause(
          Effect.suspend(() => pass(state)),
          (cause) =>
            answerFailure(state, state.refuse, () => misfitsOf(state), state.route?.path === readinessPath)(cause)
        ).pipe(Effect.flatMap((response) => leave(state, response)))
        return trace === undefined ? answer : trace(state, answer)
      })
    }
  })
