import { Clock, Context, Effect, Layer } from "effect"
import { type BudgetScope, RateLimited } from "../domain/Errors.ts"
import type { AccountId } from "../domain/Ids.ts"

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

interface Window {
  readonly endsAt: number
  spent: number
}

const secondsUntil = (end: number, now: number) => Math.max(1, Math.ceil((end - now) / 1000))

/**
 * Windows by owner. All are equally long, so the order in which they were opened is the order in which they end, and the
 * ended ones are a prefix of the map.
 */
class Windows {
  readonly size: number
  private readonly open = new Map<string, Window>()

  constructor(size: number) {
    this.size = size
  }

  /** The open window of an owner, if there is one. */
  find(owner: string, now: number): Window | undefined {
    for (const [other, window] of this.open) {
      if (window.endsAt > now) break
      this.open.delete(other)
    }
    return this.open.get(owner)
  }

  spend(owner: string, window: Window | undefined, now: number): Window {
    if (window !== undefined) {
      window.spent += 1
      return window
    }
    const opened = { endsAt: now + windowMillis, spent: 1 }
    this.open.set(owner, opened)
    return opened
  }

  left(window: Window | undefined): number {
    return this.size - (window?.spent ?? 0)
  }
}

/** Request budgets: fixed windows of 60 s, anchored at their first request, one per credential and one per account. */
export class RateBudget extends Context.Tag("catalog/RateBudget")<
  RateBudget,
  {
    /** Takes one request from both windows in one step, all or nothing: a refused request spends nothing, opens nothing. */
    readonly take: (spender: Spender) => Effect.Effect<Taken>
    /** What headers say while no budget is concerned: a full one. */
    readonly untouched: Effect.Effect<Standing>
  }
>() {
  /** Windows in this process. */
  static readonly layerProcess = (sizes: BudgetSizes) =>
    Layer.sync(RateBudget, () => {
      const keys = new Windows(sizes.perKey)
      const accounts = new Windows(sizes.perAccount)

      const takeAt = (now: number, { accountId, credentialId }: Spender): Taken => {
        const key = keys.find(credentialId, now)
        const account = accounts.find(accountId, now)
        const refusing: ReadonlyArray<readonly [BudgetScope, Window | undefined]> = [
          ...(keys.left(key) > 0 ? [] : [["key", key] as const]),
          ...(accounts.left(account) > 0 ? [] : [["account", account] as const])
        ]
        if (refusing.length > 0) {
          // When both refuse, only the later end helps the client.
          const [scope, end] = refusing
            .map(([whose, window]) => [whose, window?.endsAt ?? now + windowMillis] as const)
            .reduce((left, right) => (right[1] > left[1] ? right : left))
          return {
            standing: { limit: keys.size, remaining: keys.left(key), resetAtSeconds: Math.ceil(end / 1000), scope },
            refusal: new RateLimited({ scope, retryAfterSeconds: secondsUntil(end, now) })
          }
        }
        const keyNow = keys.spend(credentialId, key, now)
        const accountNow = accounts.spend(accountId, account, now)
        return {
          standing: {
            limit: keys.size,
            remaining: keys.left(keyNow),
            resetAtSeconds: Math.ceil(keyNow.endsAt / 1000),
            scope: accounts.left(accountNow) < keys.left(keyNow) ? "account" : "key"
          },
          refusal: null
        }
      }

      return {
        take: (spender) => Effect.map(Clock.currentTimeMillis, (now) => takeAt(now, spender)),
        untouched: Effect.map(Clock.currentTimeMillis, (now) => ({
          limit: keys.size,
          remaining: keys.size,
          resetAtSeconds: Math.ceil((now + windowMillis) / 1000),
          scope: "key" as const
        }))
      }
    })
}
