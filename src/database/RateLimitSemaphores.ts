import { Effect } from "effect"

/** Maximum number of connections of a pool that one account, and one of its credentials, may use at once. */
interface SemaphoreLimits {
  readonly perAccount: number
  readonly perCredential: number
  /** Maximum number of waiting callers of one account. */
  readonly queue: number
}

/** Maximum share of each pool, in percent, for one account, for one credential, and for all accounts of one node of a cluster. */
export interface Shares {
  readonly perAccount: number
  readonly perCredential: number
  readonly perNode: number
  readonly queue: number
}

export const defaultShares: Shares = { perAccount: 50, perCredential: 50, perNode: 65, queue: 256 }

/** Turns shares into numbers of connections, at least one each. */
export const limitsOf = (
  { perAccount, perCredential, queue }: Omit<Shares, "perNode">,
  connections: number
): SemaphoreLimits => ({
  perAccount: Math.max(1, Math.floor((connections * perAccount) / 100)),
  perCredential: Math.max(1, Math.floor((connections * perCredential) / 100)),
  queue
})

/** The limits of nodes, which take the place of accounts. The callers of all accounts of a node may wait. */
export const nodeLimitsOf = ({ perNode }: Shares, connections: number): SemaphoreLimits => {
  const share = Math.max(1, Math.round((connections * perNode) / 100))
  return { perAccount: share, perCredential: share, queue: Number.POSITIVE_INFINITY }
}

/** The user of a connection. `credentialId`: an API key, a connection of an agent, or a user. Undefined: a command. */
export interface Holder {
  readonly accountId: string
  readonly credentialId: string | undefined
}

interface Waiter {
  readonly credentialId: string | undefined
  readonly begin: () => void
}

interface Account {
  used: number
  readonly byCredential: Map<string, number>
  readonly waiting: Array<Waiter>
}

/**
 * Limits the number of scarce resources of a process, for example connections of a pool, that one account uses at the same time. (The
 * request budgets limit requests per minute.) The callers of an account wait in order. A caller whose credential has used up its share
 * lets later callers pass.
 */
export class RateLimitSemaphores {
  private readonly accounts = new Map<string, Account>()
  private readonly limits: SemaphoreLimits

  constructor(limits: SemaphoreLimits) {
    this.limits = limits
  }

  /**
   * Calls `begin` when the caller may take a connection, immediately if possible. Returns a function that cancels the
   * wait. Undefined: the queue is full.
   */
  take({ accountId, credentialId }: Holder, begin: () => void): (() => void) | undefined {
    const account = this.accountOf(accountId)
    if (this.isOpenTo(account, credentialId)) {
      this.hold(account, credentialId)
      begin()
      return nothing
    }
    if (account.waiting.length >= this.limits.queue) return undefined
    const waiter: Waiter = { credentialId, begin }
    account.waiting.push(waiter)
    this.serve(account)
    return () => {
      const place = account.waiting.indexOf(waiter)
      if (place >= 0) account.waiting.splice(place, 1)
    }
  }

  /** Returns a connection that `take` granted. */
  release({ accountId, credentialId }: Holder): void {
    const account = this.accounts.get(accountId)
    if (account === undefined) return
    account.used--
    if (credentialId !== undefined) {
      const used = (account.byCredential.get(credentialId) ?? 1) - 1
      if (used === 0) account.byCredential.delete(credentialId)
      else account.byCredential.set(credentialId, used)
    }
    this.serve(account)
    if (account.used === 0 && account.waiting.length === 0) this.accounts.delete(accountId)
  }

  /** Number of accounts that use a connection or wait for one. */
  get size(): number {
    return this.accounts.size
  }

  /** Number of accounts with waiting callers. */
  get waiting(): number {
    let count = 0
    for (const { waiting } of this.accounts.values()) count += waiting.length
    return count
  }

  private accountOf(accountId: string): Account {
    const existing = this.accounts.get(accountId)
    if (existing !== undefined) return existing
    const account: Account = { used: 0, byCredential: new Map(), waiting: [] }
    this.accounts.set(accountId, account)
    return account
  }

  private isOpenTo(account: Account, credentialId: string | undefined): boolean {
    return account.waiting.length === 0 && this.hasRoom(account, credentialId)
  }

  private hasRoom({ byCredential, used }: Account, credentialId: string | undefined): boolean {
    return (
      used < this.limits.perAccount &&
      (credentialId === undefined || (byCredential.get(credentialId) ?? 0) < this.limits.perCredential)
    )
  }

  private hold(account: Account, credentialId: string | undefined): void {
    account.used++
    if (credentialId !== undefined)
      account.byCredential.set(credentialId, (account.byCredential.get(credentialId) ?? 0) + 1)
  }

  private serve(account: Account): void {
    while (account.waiting.length > 0) {
      const place = account.waiting.findIndex(({ credentialId }) => this.hasRoom(account, credentialId))
      const [next] = place < 0 ? [] : account.waiting.splice(place, 1)
      if (next === undefined) return
      this.hold(account, next.credentialId)
      next.begin()
    }
  }
}

/** A place in a semaphore. */
export interface Hold {
  readonly semaphores: RateLimitSemaphores
  readonly holder: Holder
}

export const noHolds: ReadonlyArray<Hold> = []

/** Gives back the first of these places. */
export const release = (holds: ReadonlyArray<Hold>, count = holds.length): void => {
  for (const { holder, semaphores } of holds.slice(0, count)) semaphores.release(holder)
}

const nothing = () => {}

/** Runs the effect when the holder's account has room. Fails without running it if the account's queue is full. */
export const withinShare =
  <Full>(semaphores: RateLimitSemaphores, holder: Holder, full: () => Full) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Full, R> =>
    Effect.uninterruptibleMask((restore) => {
      const take = Effect.async<void, Full>((resume) => {
        let hasBegun = false
        const withdraw = semaphores.take(holder, () => {
          hasBegun = true
          resume(Effect.void)
        })
        if (withdraw === undefined) resume(Effect.suspend(() => Effect.fail(full())))
        // A caller that is interrupted after its turn began must give its turn back.
        return Effect.sync(() => (hasBegun ? semaphores.release(holder) : withdraw?.()))
      })
      const released = Effect.sync(() => semaphores.release(holder))
      return Effect.zipRight(restore(take), Effect.ensuring(restore(effect), released))
    })
