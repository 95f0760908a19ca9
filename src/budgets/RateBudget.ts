import { Context, Effect, Layer, Option } from "effect"
import { type BudgetScope, RateLimited } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { type Moment, makeMoments } from "../runtime/MonotonicClock.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { makeRedisWindows, type RedisOptions } from "./RedisWindows.ts"

/** Requests per window. */
export interface BudgetSizes {
  readonly perKey: number
  readonly perAccount: number
}

/** A credential and its account. All credentials of an account share the account's window. */
export interface Spender {
  readonly credentialId: string
  readonly accountId: AccountId
}

/** `requests`: requests and tool calls. `messages`: all other messages of a connection. */
export type WindowKind = "requests" | "messages"

/** Messages other than tool calls that a connection may send per window. */
export const messagesPerConnection = 600

/** The account's window of messages has no effective limit: an account has few connections. */
const messageSizes: BudgetSizes = { perKey: messagesPerConnection, perAccount: 999_999_999 }

/** The values of the rate headers. */
export interface Standing {
  readonly limit: number
  /** Requests left in the key's window. */
  readonly remaining: number
  /** Unix seconds, rounded up: the end of the key's window, or of the window that refused. */
  readonly resetAtSeconds: number
  /** The budget with fewer requests left. */
  readonly scope: BudgetScope
}

export interface Taken {
  readonly standing: Standing
  /** Set when a budget has too few requests left. The request then spent nothing. */
  readonly refusal: RateLimited | null
}

const windowMillis = 60_000

/** A window without requests has not begun: its end assumes that it begins now. */
interface Window {
  /** Milliseconds, by the clock that measures the window. */
  readonly endsAt: number
  readonly spent: number
}

/** Whether both windows admitted a request, and the windows after it. */
export interface Outcome {
  readonly now: Moment
  readonly admitted: boolean
  readonly key: Window
  readonly account: Window
}

/** Requests left in both windows. Processes can have different sizes while their settings change. */
const leftOf = (sizes: BudgetSizes, { account, key }: Pick<Outcome, "account" | "key">) => ({
  leftOfKey: Math.max(0, sizes.perKey - key.spent),
  leftOfAccount: Math.max(0, sizes.perAccount - account.spent)
})

const unixSecondsOf = ({ endsAt }: Window, { toUnix }: Moment): number => Math.ceil((endsAt + toUnix) / 1000)

/** Rate headers when nothing is refused. */
const standingOf = (sizes: BudgetSizes, windows: Pick<Outcome, "account" | "key" | "now">): Standing => {
  const { leftOfAccount, leftOfKey } = leftOf(sizes, windows)
  return {
    limit: sizes.perKey,
    remaining: leftOfKey,
    resetAtSeconds: unixSecondsOf(windows.key, windows.now),
    scope: leftOfAccount < leftOfKey ? "account" : "key"
  }
}

const takenOf = (sizes: BudgetSizes, { account, admitted, key, now }: Outcome, units = 1): Taken => {
  if (admitted) return { standing: standingOf(sizes, { account, key, now }), refusal: null }
  const { leftOfAccount, leftOfKey } = leftOf(sizes, { account, key })
  const standing = { limit: sizes.perKey, remaining: leftOfKey }
  // When both windows refuse, the client has to wait for the later end.
  const isByKey = leftOfKey < units && (leftOfAccount >= units || key.endsAt >= account.endsAt)
  const scope = isByKey ? "key" : "account"
  metrics.refusals.of(sizes === messageSizes ? "rate_messages" : `rate_${scope}`).add(1)
  const window = isByKey ? key : account
  return {
    standing: { ...standing, resetAtSeconds: unixSecondsOf(window, now), scope },
    refusal: new RateLimited({ scope, retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now.millis) / 1000)) })
  }
}

const fallbacks = metrics.redisFallbacks.of()

/**
 * Windows by owner. All have the same length, so they end in the order in which they began, and the ended ones come first in
 * the map.
 */
class Windows {
  private readonly open = new Map<string, Window>()

  find(owner: string, now: number): Window {
    for (const [other, window] of this.open) {
      if (window.endsAt > now) break
      this.open.delete(other)
    }
    return this.open.get(owner) ?? { endsAt: now + windowMillis, spent: 0 }
  }

  spend(owner: string, { endsAt, spent }: Window, units: number): Window {
    const window = { endsAt, spent: spent + units }
    this.open.set(owner, window)
    return window
  }
}

/**
 * Request budgets: fixed windows of 60 s that begin with their first request, one per credential and one per account. A
 * monotonic clock measures them; only the end in the headers is a time of day.
 */
export class RateBudget extends Context.Tag("catalog/RateBudget")<
  RateBudget,
  {
    /**
     * Takes `units` requests (default 1) from both windows in one step, or none if one of them has fewer left. A refused request
     * spends from neither and begins neither.
     */
    readonly take: (spender: Spender, units?: number) => Effect.Effect<Taken>
    /** Takes one message other than a tool call from the connection's window. */
    readonly takeMessage: (spender: Spender) => Effect.Effect<Taken>
    /** Reads the windows, for the headers of a request that spends nothing. */
    readonly look: (spender: Spender) => Effect.Effect<Standing>
    /** A full budget, for the headers of a request without a credential. */
    readonly untouched: Effect.Effect<Standing>
  }
>() {
  private static readonly makeProcess = (sizes: BudgetSizes): typeof RateBudget.Service => {
    const keys = new Windows()
    const accounts = new Windows()
    const connections = new Windows()

    const moment = makeMoments()

    const takeAt = (now: Moment, { accountId, credentialId }: Spender, units: number): Taken => {
      const key = keys.find(credentialId, now.millis)
      const account = accounts.find(accountId, now.millis)
      const admitted = key.spent + units <= sizes.perKey && account.spent + units <= sizes.perAccount
      return takenOf(
        sizes,
        admitted
          ? {
              now,
              admitted,
              key: keys.spend(credentialId, key, units),
              account: accounts.spend(accountId, account, units)
            }
          : { now, admitted, key, account },
        units
      )
    }

    const takeMessageAt = (now: Moment, { credentialId }: Spender): Taken => {
      const key = connections.find(credentialId, now.millis)
      const account = { endsAt: key.endsAt, spent: 0 }
      const admitted = key.spent < messageSizes.perKey
      return takenOf(messageSizes, {
        now,
        admitted,
        key: admitted ? connections.spend(credentialId, key, 1) : key,
        account
      })
    }

    return {
      take: (spender, units = 1) => Effect.map(moment, (now) => takeAt(now, spender, units)),
      takeMessage: (spender) => Effect.map(moment, (now) => takeMessageAt(now, spender)),
      look: ({ accountId, credentialId }) =>
        Effect.map(moment, (now) =>
          standingOf(sizes, {
            now,
            key: keys.find(credentialId, now.millis),
            account: accounts.find(accountId, now.millis)
          })
        ),
      untouched: Effect.map(moment, (now) => ({
        limit: sizes.perKey,
        remaining: sizes.perKey,
        resetAtSeconds: unixSecondsOf({ endsAt: now.millis + windowMillis, spent: 0 }, now),
        scope: "key" as const
      }))
    }
  }

  /** Windows in this process. */
  static readonly layerProcess = (sizes: BudgetSizes) => Layer.sync(RateBudget, () => RateBudget.makeProcess(sizes))

  /**
   * Windows in Redis, for all processes that share it. While Redis does not answer, this process counts in windows of its
   * own. The two are never merged.
   */
  static readonly layerRedis = ({ sizes, ...redis }: RedisOptions & { readonly sizes: BudgetSizes }) =>
    Layer.scoped(
      RateBudget,
      Effect.map(
        makeRedisWindows(redis, (kind) => (kind === "requests" ? sizes : messageSizes), windowMillis),
        (windows) => {
          const inProcess = RateBudget.makeProcess(sizes)
          const orInProcess = <A>(
            inRedis: Effect.Effect<Option.Option<Outcome>>,
            fallback: Effect.Effect<A>,
            read: (outcome: Outcome) => A
          ): Effect.Effect<A> =>
            Effect.flatMap(inRedis, (outcome) =>
              Option.isNone(outcome)
                ? Effect.zipRight(
                    Effect.sync(() => fallbacks.add(1)),
                    fallback
                  )
                : Effect.succeed(read(outcome.value))
            )
          return {
            ...inProcess,
            take: (spender, units = 1) =>
              orInProcess(windows.take(spender, "requests", units), inProcess.take(spender, units), (outcome) =>
                takenOf(sizes, outcome, units)
              ),
            takeMessage: (spender) =>
              orInProcess(windows.take(spender, "messages", 1), inProcess.takeMessage(spender), (outcome) =>
                takenOf(messageSizes, outcome)
              ),
            look: (spender) =>
              orInProcess(windows.read(spender, "requests"), inProcess.look(spender), (outcome) =>
                standingOf(sizes, outcome)
              )
          }
        }
      )
    )
}
