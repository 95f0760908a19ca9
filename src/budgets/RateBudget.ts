import { Context, Effect, Layer, Option } from "effect"
import { type BudgetScope, RateLimited } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { type Moment, makeMoments } from "../runtime/MonotonicClock.ts"
import { makeRedisWindows, type RedisOptions } from "./RedisWindows.ts"

/** Requests per window, by whose budget it is. */
export interface BudgetSizes {
  readonly perKey: number
  readonly perAccount: number
}

/** Who spends: a credential, and the account that all its credentials share. */
export interface Spender {
  readonly credentialId: string
  readonly accountId: AccountId
}

/** Requests and tool calls share their windows; all other messages of a connection have one of their own. */
export type WindowKind = "requests" | "messages"

/** Messages other than tool calls that a connection may send in a window. */
export const messagesPerConnection = 600

/** An account has no window of messages: its connections are few. */
const messageSizes: BudgetSizes = { perKey: messagesPerConnection, perAccount: 999_999_999 }

/** What the rate headers say. */
export interface Standing {
  /** The per-key size. */
  readonly limit: number
  /** Requests left in the key's window. */
  readonly remaining: number
  /** Unix seconds, rounded up: the end of the key's window, or of the one that refused. */
  readonly resetAtSeconds: number
  /** Whose budget is the tighter. */
  readonly scope: BudgetScope
}

export interface Taken {
  readonly standing: Standing
  /** Set when the request is over a budget; it then spent nothing. */
  readonly refusal: RateLimited | null
}

const windowMillis = 60_000

/** A window that nothing was spent from is not open: it would begin now. */
interface Window {
  /** In milliseconds of the clock that measures it. */
  readonly endsAt: number
  readonly spent: number
}

/** What became of a request: whether both windows had room for it, and how they are after it. */
export interface Outcome {
  readonly now: Moment
  readonly admitted: boolean
  readonly key: Window
  readonly account: Window
}

/** What is left of both windows. Nodes may differ in their sizes while they are configured anew. */
const leftOf = (sizes: BudgetSizes, { account, key }: Pick<Outcome, "account" | "key">) => ({
  leftOfKey: Math.max(0, sizes.perKey - key.spent),
  leftOfAccount: Math.max(0, sizes.perAccount - account.spent)
})

/** The end of a window as clients are told it. */
const unixSecondsOf = ({ endsAt }: Window, { toUnix }: Moment): number => Math.ceil((endsAt + toUnix) / 1000)

/** What headers say of windows that refuse nothing. */
const standingOf = (sizes: BudgetSizes, windows: Pick<Outcome, "account" | "key" | "now">): Standing => {
  const { leftOfAccount, leftOfKey } = leftOf(sizes, windows)
  return {
    limit: sizes.perKey,
    remaining: leftOfKey,
    resetAtSeconds: unixSecondsOf(windows.key, windows.now),
    scope: leftOfAccount < leftOfKey ? "account" : "key"
  }
}

/** What the outcome means to the client, wherever windows are kept. */
const takenOf = (sizes: BudgetSizes, { account, admitted, key, now }: Outcome): Taken => {
  if (admitted) return { standing: standingOf(sizes, { account, key, now }), refusal: null }
  const { leftOfAccount, leftOfKey } = leftOf(sizes, { account, key })
  const standing = { limit: sizes.perKey, remaining: leftOfKey }
  // When both refuse, only the later end helps the client.
  const isByKey = leftOfKey === 0 && (leftOfAccount > 0 || key.endsAt >= account.endsAt)
  const scope = isByKey ? "key" : "account"
  const window = isByKey ? key : account
  return {
    standing: { ...standing, resetAtSeconds: unixSecondsOf(window, now), scope },
    refusal: new RateLimited({ scope, retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now.millis) / 1000)) })
  }
}

/**
 * Windows by owner. All are equally long, so the order in which they were opened is the order in which they end, and the
 * ended ones are a prefix of the map.
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

  spend(owner: string, { endsAt, spent }: Window): Window {
    const window = { endsAt, spent: spent + 1 }
    this.open.set(owner, window)
    return window
  }
}

/**
 * Request budgets: fixed windows of 60 s, anchored at their first request, one per credential and one per account. They are
 * measured by a clock that is never set; only the end that clients are told is a time of day.
 */
export class RateBudget extends Context.Tag("catalog/RateBudget")<
  RateBudget,
  {
    /** Takes one request from both windows in one step, all or nothing: a refused request spends nothing, opens nothing. */
    readonly take: (spender: Spender) => Effect.Effect<Taken>
    /** The same of the connection's window of messages other than tool calls. */
    readonly takeMessage: (spender: Spender) => Effect.Effect<Taken>
    /** How the windows stand, of which nothing is taken: what headers say of a request that spends nothing. */
    readonly look: (spender: Spender) => Effect.Effect<Standing>
    /** What headers say while no budget is concerned: a full one. */
    readonly untouched: Effect.Effect<Standing>
  }
>() {
  private static readonly makeProcess = (sizes: BudgetSizes): typeof RateBudget.Service => {
    const keys = new Windows()
    const accounts = new Windows()
    const connections = new Windows()

    const moment = makeMoments()

    const takeAt = (now: Moment, { accountId, credentialId }: Spender): Taken => {
      const key = keys.find(credentialId, now.millis)
      const account = accounts.find(accountId, now.millis)
      const admitted = key.spent < sizes.perKey && account.spent < sizes.perAccount
      return takenOf(
        sizes,
        admitted
          ? { now, admitted, key: keys.spend(credentialId, key), account: accounts.spend(accountId, account) }
          : { now, admitted, key, account }
      )
    }

    const takeMessageAt = (now: Moment, { credentialId }: Spender): Taken => {
      const key = connections.find(credentialId, now.millis)
      const account = { endsAt: key.endsAt, spent: 0 }
      const admitted = key.spent < messageSizes.perKey
      return takenOf(messageSizes, {
        now,
        admitted,
        key: admitted ? connections.spend(credentialId, key) : key,
        account
      })
    }

    return {
      take: (spender) => Effect.map(moment, (now) => takeAt(now, spender)),
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
   * Windows in Redis, for all processes that share it. While it does not answer, requests are counted in windows of this
   * process, which know nothing of those in Redis; nor do those of what was spent meanwhile.
   */
  static readonly layerRedis = ({ sizes, ...redis }: RedisOptions & { readonly sizes: BudgetSizes }) =>
    Layer.scoped(
      RateBudget,
      Effect.map(
        makeRedisWindows(redis, (kind) => (kind === "requests" ? sizes : messageSizes), windowMillis),
        (windows) => {
          const inProcess = RateBudget.makeProcess(sizes)
          /** The answer of Redis, or of this process while Redis does not answer. */
          const orInProcess = <A>(
            asked: Effect.Effect<Option.Option<Outcome>>,
            fallback: Effect.Effect<A>,
            read: (outcome: Outcome) => A
          ): Effect.Effect<A> =>
            Effect.flatMap(asked, (outcome) =>
              Option.isNone(outcome) ? fallback : Effect.succeed(read(outcome.value))
            )
          return {
            ...inProcess,
            take: (spender) =>
              orInProcess(windows.take(spender, "requests"), inProcess.take(spender), (outcome) =>
                takenOf(sizes, outcome)
              ),
            takeMessage: (spender) =>
              orInProcess(windows.take(spender, "messages"), inProcess.takeMessage(spender), (outcome) =>
                takenOf(messageSizes, outcome)
              ),
            look: (spender) =>
              orInProcess(windows.look(spender, "requests"), inProcess.look(spender), (outcome) =>
                standingOf(sizes, outcome)
              )
          }
        }
      )
    )
}
