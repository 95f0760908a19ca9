import { Clock, Context, Effect, Layer, Option } from "effect"
import { type BudgetScope, RateLimited } from "../domain/Errors.ts"
import type { AccountId } from "../domain/Ids.ts"
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

/** Times are in unix milliseconds. A window that nothing was spent from is not open: it would begin now. */
interface Window {
  readonly endsAt: number
  readonly spent: number
}

/** What became of a request: whether both windows had room for it, and how they are after it. */
export interface Outcome {
  readonly now: number
  readonly admitted: boolean
  readonly key: Window
  readonly account: Window
}

/** What is left of both windows. Nodes may differ in their sizes while they are configured anew. */
const leftOf = (sizes: BudgetSizes, { account, key }: Pick<Outcome, "account" | "key">) => ({
  leftOfKey: Math.max(0, sizes.perKey - key.spent),
  leftOfAccount: Math.max(0, sizes.perAccount - account.spent)
})

/** What headers say of windows that refuse nothing. */
const standingOf = (sizes: BudgetSizes, windows: Pick<Outcome, "account" | "key">): Standing => {
  const { leftOfAccount, leftOfKey } = leftOf(sizes, windows)
  return {
    limit: sizes.perKey,
    remaining: leftOfKey,
    resetAtSeconds: Math.ceil(windows.key.endsAt / 1000),
    scope: leftOfAccount < leftOfKey ? "account" : "key"
  }
}

/** What the outcome means to the client, wherever windows are kept. */
const takenOf = (sizes: BudgetSizes, { account, admitted, key, now }: Outcome): Taken => {
  if (admitted) return { standing: standingOf(sizes, { account, key }), refusal: null }
  const { leftOfAccount, leftOfKey } = leftOf(sizes, { account, key })
  const standing = { limit: sizes.perKey, remaining: leftOfKey }
  // When both refuse, only the later end helps the client.
  const isByKey = leftOfKey === 0 && (leftOfAccount > 0 || key.endsAt >= account.endsAt)
  const scope = isByKey ? "key" : "account"
  const { endsAt } = isByKey ? key : account
  return {
    standing: { ...standing, resetAtSeconds: Math.ceil(endsAt / 1000), scope },
    refusal: new RateLimited({ scope, retryAfterSeconds: Math.max(1, Math.ceil((endsAt - now) / 1000)) })
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

/** Request budgets: fixed windows of 60 s, anchored at their first request, one per credential and one per account. */
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

    const takeAt = (now: number, { accountId, credentialId }: Spender): Taken => {
      const key = keys.find(credentialId, now)
      const account = accounts.find(accountId, now)
      const admitted = key.spent < sizes.perKey && account.spent < sizes.perAccount
      return takenOf(
        sizes,
        admitted
          ? { now, admitted, key: keys.spend(credentialId, key), account: accounts.spend(accountId, account) }
          : { now, admitted, key, account }
      )
    }

    const takeMessageAt = (now: number, { credentialId }: Spender): Taken => {
      const key = connections.find(credentialId, now)
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
      take: (spender) => Effect.map(Clock.currentTimeMillis, (now) => takeAt(now, spender)),
      takeMessage: (spender) => Effect.map(Clock.currentTimeMillis, (now) => takeMessageAt(now, spender)),
      look: ({ accountId, credentialId }) =>
        Effect.map(Clock.currentTimeMillis, (now) =>
          standingOf(sizes, { key: keys.find(credentialId, now), account: accounts.find(accountId, now) })
        ),
      untouched: Effect.map(Clock.currentTimeMillis, (now) => ({
        limit: sizes.perKey,
        remaining: sizes.perKey,
        resetAtSeconds: Math.ceil((now + windowMillis) / 1000),
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
          return {
            ...inProcess,
            take: (spender) =>
              Effect.flatMap(
                windows.take(spender, "requests"),
                Option.match({
                  onNone: () => inProcess.take(spender),
                  onSome: (outcome) => Effect.succeed(takenOf(sizes, outcome))
                })
              ),
            takeMessage: (spender) =>
              Effect.flatMap(
                windows.take(spender, "messages"),
                Option.match({
                  onNone: () => inProcess.takeMessage(spender),
                  onSome: (outcome) => Effect.succeed(takenOf(messageSizes, outcome))
                })
              ),
            look: (spender) =>
              Effect.flatMap(
                windows.look(spender, "requests"),
                Option.match({
                  onNone: () => inProcess.look(spender),
                  onSome: (outcome) => Effect.succeed(standingOf(sizes, outcome))
                })
              )
          }
        }
      )
    )
}
