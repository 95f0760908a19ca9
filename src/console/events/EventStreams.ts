import { HttpServerResponse } from "@effect/platform"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Duration, Effect, Option, Random, Stream } from "effect"
import { Sessions } from "../../access/Sessions.ts"
import { AccountEvents } from "../../events/AccountEvents.ts"
import type { EventStream } from "../../events/EventStream.ts"
import type { WorkChanges } from "../../events/WorkEvent.ts"
import { BaseUrl } from "../../http/BaseUrl.ts"
import { Readiness } from "../../http/Health.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { monotonicMillis } from "../../runtime/MonotonicClock.ts"
import { metrics } from "../../telemetry/Metrics.ts"
import { sessionTokenIn, visitorOf } from "../Browser.ts"
import { pageHeaders } from "../Html.ts"
import { page, queryOf } from "../PageHandlers.ts"
import { paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"

/** How long browsers wait before they open a lost stream again. */
const reconnectMillis = 3_000

/** Seconds after which a refused stream may be requested again. */
const retryAfterSeconds = 30

const refuse = (status: 401 | 429 | 503, reason: string) =>
  HttpServerResponse.text(`${reason}\n`, {
    status,
    headers: { ...pageHeaders, ...(status !== 401 && { "retry-after": String(retryAfterSeconds) }) }
  })

const messageOf = (changes: WorkChanges): string => {
  metrics.eventMessages.of().add(1)
  return `event: change\ndata: ${JSON.stringify(changes)}\n\n`
}

const endedEvent = "event: ended\ndata: {}\n\n"

/** The next item of a stream: a message, a heartbeat, or its end. */
type Next = { readonly _tag: "Changed"; readonly changes: WorkChanges } | { readonly _tag: "Quiet" | "Closed" }

/**
 * The text of a stream. It ends when the session has ended, when the service stops, or when the stream is closed. A comment at
 * each heartbeat keeps proxies from closing a silent stream. At the end of its lifetime it ends without a message, and the
 * browser opens another one: so a browser whose network vanished does not keep its place until TCP gives up.
 */
const textOf = (
  stream: EventStream,
  {
    closed,
    heartbeat,
    isSessionOpen
  }: {
    readonly heartbeat: Duration.DurationInput
    readonly closed: Effect.Effect<void>
    readonly isSessionOpen: Effect.Effect<boolean>
  }
) => {
  const changed = stream.next.pipe(
    Effect.map(
      Option.match({
        onNone: (): Next => ({ _tag: "Closed" }),
        onSome: (changes): Next => ({ _tag: "Changed", changes })
      })
    ),
    Effect.raceFirst(Effect.as(closed, { _tag: "Closed" } as const))
  )
  /** `checkedAt`: when the session was last checked. The next check follows one heartbeat later, however many changes come meanwhile. */
  const textAfter = (checkedAt: number) =>
    Effect.gen(function* () {
      const left = checkedAt + Duration.toMillis(heartbeat) - (yield* monotonicMillis)
      const next = yield* Effect.timeoutTo(changed, {
        duration: Math.max(0, left),
        onTimeout: (): Next => ({ _tag: "Quiet" }),
        onSuccess: (next) => next
      })
      if (next._tag === "Changed") return Option.some([messageOf(next.changes), checkedAt] as const)
      if (next._tag === "Closed") return Option.none()
      const isOpen = yield* isSessionOpen
      return Option.some([isOpen ? ": quiet\n\n" : endedEvent, isOpen ? yield* monotonicMillis : undefined] as const)
    })
  return Stream.unwrap(
    Effect.map(monotonicMillis, (opened) =>
      Stream.unfoldEffect(opened, (checkedAt: number | undefined) =>
        checkedAt === undefined ? Effect.succeedNone : textAfter(checkedAt)
      )
    )
  )
}

/** The streams that tell open pages what has changed in their account (server-sent events). */
export const eventStreams: Surface<AccountEvents | BaseUrl | Readiness | Sessions> = surfaceOf(
  // The handler itself refuses requests without a session. Every role may open a stream.
  { open: ["GET", paths.events, refuseOnPage, "open"] } as const,
  Effect.gen(function* () {
    const baseUrl = yield* BaseUrl
    const events = yield* AccountEvents
    const readiness = yield* Readiness
    const sessions = yield* Sessions

    return {
      open: page((request) =>
        Effect.gen(function* () {
          const token = sessionTokenIn(request, baseUrl)
          const visitor = yield* visitorOf(sessions, baseUrl, request, false)
          if (token === undefined || Option.isNone(visitor) || visitor.value.lacksFactor)
            return refuse(401, "Sign in first.")
          if (yield* Effect.isFailure(readiness.check)) return refuse(503, "The service is stopping.")
          const { accountId, sessionHash } = visitor.value
          const opened = yield* Effect.either(events.open(accountId, sessionHash, queryOf(request).get("state")))
          if (opened._tag === "Left") {
            const { max, of } = opened.left
            return refuse(429, `The ${of} has ${max} open streams already: close a page.`)
          }
          const stream = opened.right
          // The browser may leave before the stream is read for the first time.
          const response = toServerResponse(request)
          response.once("close", stream.close)
          if (response.destroyed) stream.close()
          const isSessionOpen = Effect.catchAllCause(Effect.map(sessions.find(token, false), Option.isSome), () =>
            Effect.succeed(true)
          )
          // The random part spreads the pages that opened their streams after the same restart.
          const lifetime = Duration.times(events.lifetime, yield* Random.nextRange(0.8, 1.2))
          return HttpServerResponse.stream(
            Stream.encodeText(
              Stream.concat(
                Stream.make(`retry: ${reconnectMillis}\n\n`),
                Stream.interruptAfter(
                  textOf(stream, { heartbeat: events.heartbeat, closed: readiness.closed, isSessionOpen }),
                  lifetime
                )
              )
            ),
            // Proxies must not collect the messages.
            { contentType: "text/event-stream", headers: { ...pageHeaders, "x-accel-buffering": "no" } }
          )
        })
      )
    }
  })
)
