import { Context, Effect, Layer, Option } from "effect"
import { type BudgetScope, RateLimited } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { type Moment, makeMoments } from "../runtime/MonotonicClock.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { makeRedisWindows, type RedisOptions } from "./RedisWindows.ts"

/** Maximum requests per window. */
export interface BudgetSizes {
  readonly perKey: number
  readonly perAccount: number
}

/** A credential and its account. All credentials of an account share the account's window. */
export interface Spender {
  readonly credentialId: string
  readonly accountId: AccountId
}

/** The two counts of a window. `requests`: REST requests and tool calls. `messages`: all other messages of a connection. */
export type WindowKind = "requests" | "messages"

/** Maximum number of messages other than tool calls that a connection may send per window. */
export const messagesPerConnection = 600

/** Messages are limited per connection only: the account's window has no effective limit, as an account has few connections. */
const messageSizes: BudgetSizes = { perKey: messagesPerConnection, perAccount: 999_999_999 }

/** The values of the rate headers. */
export interface RateStatus {
  readonly limit: number
  /** Requests left in the key's window. */
  readonly remaining: number
  /** Unix seconds, rounded up: the end of the key's window or, after a refusal, of the window that refused. */
  readonly resetAtSeconds: number
  /** The budget that has fewer requests left, or that refused. */
  readonly scope: BudgetScope
}

export interface BudgetState {
  readonly rateStatus: RateStatus
  /** Set when a budget has too few requests left. The request then spent nothing. */
  readonly refusal: RateLimited | null
}

const windowMillis = 60_000

/** A window begins with its first request. Before that, `endsAt` is the end that it would have if it began now. */
interface Window {
  /** End of the window in milliseconds, by the clock that measures it. */
  readonly endsAt: number
  readonly spent: number
}

/** The result of taking requests from both windows: whether both admitted them, and the state of the windows afterwards. */
export interface TakeResult {
  readonly now: Moment
  readonly admitted: boolean
  readonly key: Window
  readonly account: Window
}

/** Requests left in both windows, at least 0. Another process may have spent more, if its settings still allow more. */
const leftOf = (sizes: BudgetSizes, { account, key }: Pick<TakeResult, "account" | "key">) => ({
  leftOfKey: Math.max(0, sizes.perKey - key.spent),
  leftOfAccount: Math.max(0, sizes.perAccount - account.spent)
})

const unixSecondsOf = ({ endsAt }: Window, { toUnix }: Moment): number => Math.ceil((endsAt + toUnix) / 1000)

/** The rate headers of a request that was not refused. */
const rateStatusOf = (sizes: BudgetSizes, windows: Pick<TakeResult, "account" | "key" | "now">): RateStatus => {
  const { leftOfAccount, leftOfKey } = leftOf(sizes, windows)
  return {
    limit: sizes.perKey,
    remaining: leftOfKey,
    resetAtSeconds: unixSecondsOf(windows.key, windows.now),
    scope: leftOfAccount < leftOfKey ? "account" : "key"
  }
}

const takenOf = (sizes: BudgetSizes, { account, admitted, key, now }: TakeResult, units = 1): BudgetState => {
  if (admitted) return { rateStatus: rateStatusOf(sizes, { account, key, now }), refusal: null }
  const { leftOfAccount, leftOfKey } = leftOf(sizes, { account, key })
  const rateStatus = { limit: sizes.perKey, remaining: leftOfKey }
  // If both windows refuse, the client must wait for the one that ends later.
  const isByKey = leftOfKey < units && (leftOfAccount >= units || key.endsAt >= account.endsAt)
  const scope = isByKey ? "key" : "account"
  metrics.refusals.of(sizes === messageSizes ? "rate_messages" : `rate_${scope}`).add(1)
  const window = isByKey ? key : account
  return {
    rateStatus: { ...rateStatus, resetAtSeconds: unixSecondsOf(window, now), scope },
    refusal: new RateLimited({ scope, retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now.millis) / 1000)) })
  }
}

const fallbacks = metrics.redisFallbacks.of()

/**
 * Windows by owner. All have the same length, so they end in the order of insertion, and windows that have ended are first in the
 * map.
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
 * Request budgets: fixed windows of 60 s, one per credential and one per account. A window begins with its first request. A
 * monotonic clock measures windows; only the end in the headers is a time of day.
 */
export class RateBudget extends Context.Tag("catalog/RateBudget")<
  RateBudget,
  {
    /**
     * Takes `units` requests (default 1) from both windows in one step. If a window has fewer left, the request is refused: it
     * takes nothing from either window, and begins neither.
     */
    readonly take: (spender: Spender, units?: number) => Effect.Effect<BudgetState>
    /** Takes one message other than a tool call from the connection's window. */
    readonly takeMessage: (spender: Spender) => Effect.Effect<BudgetState>
    /** Reads the windows, for the headers of a request that spends nothing. */
    readonly peek: (spender: Spender) => Effect.Effect<RateStatus>
    /** A full budget, for the headers of a request without a credential. */
    readonly fullBudget: Effect.Effect<RateStatus>
  }
>() {
  private static readonly makeProcess = (sizes: BudgetSizes): typeof RateBudget.Service => {
    const keys = new Windows()
    const accounts = new Windows()
    const connections = new Windows()

    const moment = makeMoments()

    const takeAt = (now: Moment, { accountId, credentialId }: Spender, units: number): BudgetState => {
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

    const takeMessageAt = (now: Moment, { credentialId }: Spender): BudgetState => {
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
      peek: ({ accountId, credentialId }) =>
        Effect.map(moment, (now) =>
          rateStatusOf(sizes, {
            now,
            key: keys.find(credentialId, now.millis),
            account: accounts.find(accountId, now.millis)
          })
        ),
      fullBudget: Effect.map(moment, (now) => ({
        limit: sizes.perKey,
        remaining: sizes.perKey,
        resetAtSeconds: unixSecondsOf({ endsAt: now.millis + windowMillis, spent: 0 }, now),
        scope: "key" as const
      }))
    }
  }

  /** Counts in the memory of this process. */
  static readonly layerProcess = (sizes: BudgetSizes) => Layer.sync(RateBudget, () => RateBudget.makeProcess(sizes))

  /**
   * Counts in Redis, for all processes that share it. While Redis does not answer, this process counts in its own memory. These
   * counts are never added to those in Redis.
   */
  static readonly layerRedis = ({ sizes, ...redis }: RedisOptions & { readonly sizes: BudgetSizes }) =>
    Layer.scoped(
      RateBudget,
      Effect.map(
        makeRedisWindows(redis, (kind) => (kind === "requests" ? sizes : messageSizes), windowMillis),
        (windows) => {
          const inProcess = RateBudget.makeProcess(sizes)
          const orInProcess = <A>(
            inRedis: Effect.Effect<Option.Option<TakeResult>>,
            fallback: Effect.Effect<A>,
            read: (result: TakeResult) => A
          ): Effect.Effect<A> =>
            Effect.flatMap(inRedis, (result) =>
              Option.isNone(result)
                ? Effect.zipRight(
                    Effect.sync(() => fallbacks.add(1)),
                    fallback
                  )
                : Effect.succeed(read(result.value))
            )
          return {
            ...inProcess,
            take: (spender, units = 1) =>
              orInProcess(windows.take(spender, "requests", units), inProcess.take(spender, units), (result) =>
                takenOf(sizes, result, units)
              ),
            takeMessage: (spender) =>
              orInProcess(windows.take(spender, "messages", 1), inProcess.takeMessage(spender), (result) =>
                takenOf(messageSizes, result)
              ),
            peek: (spender) =>
              orInProcess(windows.read(spender, "requests"), inProcess.peek(spender), (result) =>
                rateStatusOf(sizes, result)
              )
          }
        }
      )
    )
}
