import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Layer, Option } from "effect"
import { Sessions } from "../../access/Sessions.ts"
import { errorCodes } from "../../api/ErrorCodes.ts"
import { envelopeOf } from "../../api/ErrorEnvelope.ts"
import { SessionMissing, SessionRefused } from "../../api/SessionErrors.ts"
import { BaseUrl } from "../../http/BaseUrl.ts"
import { chargeTo } from "../../http/BodiesInFlight.ts"
import { headersOf } from "../../http/Envelope.ts"
import type { Refuse } from "../../http/RequestState.ts"
import type { Actor } from "../../model/Actor.ts"
import { includesRole, type Role } from "../../model/Role.ts"
import { csrfHeader, isCsrfOf, isForeign, visitorOf } from "../Browser.ts"
import { pageHeaders } from "../Html.ts"
import { Session } from "./ConsoleApi.ts"

const safeMethods: ReadonlyArray<string> = ["GET", "HEAD"]

/** Finds the user of a request as the pages do. `needs`: the role that the endpoints need. */
export const sessionCheck = (needs: Role) =>
  Layer.effect(
    Session,
    Effect.map(Effect.all([BaseUrl, Sessions]), ([baseUrl, sessions]) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const found = yield* visitorOf(sessions, baseUrl, request)
        if (Option.isNone(found)) return yield* new SessionMissing()
        const visitor = found.value
        const { accountId, lacksFactor, role, userId } = visitor
        if (lacksFactor) return yield* SessionRefused.withoutFactor
        if (!includesRole(role, needs))
          return yield* SessionRefused.because(`This needs the role ${needs}. Yours is ${role}.`)
        const isSafe = safeMethods.includes(request.method)
        if (!isSafe && (isForeign(request, baseUrl) || !isCsrfOf(visitor, request.headers[csrfHeader])))
          return yield* SessionRefused.because(`Send the CSRF token of the session in the header ${csrfHeader}.`)
        chargeTo(toIncomingMessage(request), userId)
        const actor: Actor = { _tag: "User", accountId, userId }
        return actor
      })
    )
  )

/** The envelope of a refusal. Unlike that of REST it names no scheme of credentials: browsers have the cookie. */
export const refuseInEnvelope: Refuse = (error, requestId) => {
  const headers = error._tag === "Unauthorized" ? {} : headersOf(error)
  return HttpServerResponse.unsafeJson(envelopeOf(error, requestId), {
    status: errorCodes[error._tag].status,
    headers: { ...pageHeaders, ...headers }
  })
}
