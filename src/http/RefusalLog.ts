import { isIP } from "node:net"
import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Duration, Effect, LogLevel, Record } from "effect"
import { clientOfMessage, networkOf, TrustedProxies } from "./ClientAddress.ts"
import { requestStateOf } from "./RequestState.ts"

/** Maximum addresses whose refusals are logged in one second. More of them have one line together. */
const maxAddresses = 20

const pause = Duration.seconds(1)

const maxTyped = 100

/**
 * A text that somebody typed or sent, as a word of a log line: without blanks, quotes, and characters that control a terminal or cannot be
 * seen, so that nobody can write a part of a line.
 */
const wordOf = (text: string) =>
  [...text.slice(0, 2 * maxTyped)]
    .slice(0, maxTyped)
    .join("")
    .replaceAll(/[\p{C}\p{Z}"'`=\\]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** An e-mail address as it was typed. Another text is left out, because people type passwords into the wrong field. */
export const typedEmail = (text: string) => (text.includes("@") ? wordOf(text) : "-")

/** A refusal without a line, and how many more there are. */
interface Unlogged {
  count: number
  last: (suppressed: number) => Effect.Effect<void>
}

/**
 * Logs the first refusal of an address at once. Those of the next second are counted, and the last of them gets a line with their number,
 * and so on each second.
 */
export const makeThrottle = () => {
  const unlogged = new Map<string, Unlogged>()
  const others = ""

  const nextLine = (key: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      const found = unlogged.get(key)
      if (found === undefined || found.count === 0) return Effect.sync(() => unlogged.delete(key))
      const line = found.last(found.count - 1)
      found.count = 0
      return Effect.zipRight(line, nextLine(key))
    }).pipe(Effect.delay(pause))

  return (network: string, line: Unlogged["last"]) =>
    Effect.suspend(() => {
      const key = unlogged.has(network) || unlogged.size < maxAddresses ? network : others
      const found = unlogged.get(key)
      if (found !== undefined) {
        found.count++
        found.last = line
        return Effect.void
      }
      const isOther = key === others
      unlogged.set(key, { count: isOther ? 1 : 0, last: line })
      return Effect.zipRight(isOther ? Effect.void : line(0), Effect.forkDaemon(nextLine(key)))
    })
}

const messages = {
  signIn: "A sign-in was refused",
  credential: "A key or token was refused",
  currentPassword: "A current password was refused",
  newPassword: "A request for a new password was refused",
  // No refusal, but somebody may send many users mails that they have not asked for.
  newPasswordAsked: "A new password was requested"
} as const

const levelOf = (kind: keyof typeof messages) => (kind === "newPasswordAsked" ? LogLevel.Info : LogLevel.Warning)

/** The lines of the last second, for each message. All servers of a process share it. */
class RefusalThrottles extends Context.Reference<RefusalThrottles>()("catalog/RefusalThrottles", {
  defaultValue: () => Record.map(messages, makeThrottle)
}) {}

/** Makes the function that logs what was refused, with the address of the client and the id of the request. */
export const makeNoteRefusal = Effect.map(
  Effect.all([RefusalThrottles, TrustedProxies]),
  ([throttles, trustedProxies]) =>
    (
      kind: keyof typeof messages,
      request: HttpServerRequest.HttpServerRequest,
      about: Readonly<Record<string, string>>
    ): Effect.Effect<void> => {
      const client = clientOfMessage(toIncomingMessage(request), trustedProxies)
      const address = isIP(client) > 0 ? client : wordOf(client)
      const requestId = requestStateOf(request).id
      return throttles[kind](networkOf(client), (suppressed) =>
        Effect.annotateLogs(Effect.logWithLevel(levelOf(kind), messages[kind]), {
          address,
          ...about,
          requestId,
          ...(suppressed > 0 && { suppressed })
        })
      )
    }
)
