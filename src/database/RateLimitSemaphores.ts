/** How many connections of a pool one account, and one credential of it, may hold at once; and how many may wait. */
export interface SemaphoreLimits {
  readonly perAccount: number
  readonly perCredential: number
  /** Waiters of one account, at most. */
  readonly queue: number
}

/** What share of each pool, in percent, is one account's and one credential's at most. */
export interface Shares {
  readonly perAccount: number
  readonly perCredential: number
  readonly queue: number
}

export const defaultShares: Shares = { perAccount: 50, perCredential: 50, queue: 256 }

/** At least one connection, or nothing would ever be served. */
export const limitsOf = ({ perAccount, perCredential, queue }: Shares, connections: number): SemaphoreLimits => ({
  perAccount: Math.max(1, Math.floor((connections * perAccount) / 100)),
  perCredential: Math.max(1, Math.floor((connections * perCredential) / 100)),
  queue
})

/** Who holds a connection. `credentialId`: a key, a connection of an agent, a user; undefined: a command. */
export interface Holder {
  readonly accountId: string
  readonly credentialId: string | undefined
}

interface Waiter {
  readonly credentialId: string | undefined
  readonly begin: () => void
}

interface Account {
  held: number
  readonly byCredential: Map<string, number>
  readonly waiting: Array<Waiter>
}

/**
 * The rate-limit semaphores of one pool: beside the windows, which bound requests a minute, they bound how much of the pool
 * one account can take away from all others at one moment. Waiters of an account are served in the order in which they came;
 * one whose credential holds its share lets those behind it pass.
 */
export class RateLimitSemaphores {
  private readonly accounts = new Map<string, Account>()
  private readonly limits: SemaphoreLimits

  constructor(limits: SemaphoreLimits) {
    this.limits = limits
  }

  /**
   * Calls `begin` once the holder may take a connection: before it returns, where it may now. Undefined: the queue is full.
   * Else what withdraws a holder that waits.
   */
  take({ accountId, credentialId }: Holder, begin: () => void): (() => void) | undefined {
    const account = this.accountOf(accountId)
    if (account.waiting.length === 0 && this.hasRoom(account, credentialId)) {
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

  /** Gives back what `take` let the holder have. */
  release({ accountId, credentialId }: Holder): void {
    const account = this.accounts.get(accountId)
    if (account === undefined) return
    account.held--
    if (credentialId !== undefined) {
      const held = (account.byCredential.get(credentialId) ?? 1) - 1
      if (held === 0) account.byCredential.delete(credentialId)
      else account.byCredential.set(credentialId, held)
    }
    this.serve(account)
    if (account.held === 0 && account.waiting.length === 0) this.accounts.delete(accountId)
  }

  /** Accounts that hold a connection or wait for one. */
  get size(): number {
    return this.accounts.size
  }

  private accountOf(accountId: string): Account {
    const known = this.accounts.get(accountId)
    if (known !== undefined) return known
    const account: Account = { held: 0, byCredential: new Map(), waiting: [] }
    this.accounts.set(accountId, account)
    return account
  }

  private hasRoom({ byCredential, held }: Account, credentialId: string | undefined): boolean {
    return (
      held < this.limits.perAccount &&
      (credentialId === undefined || (byCredential.get(credentialId) ?? 0) < this.limits.perCredential)
    )
  }

  private hold(account: Account, credentialId: string | undefined): void {
    account.held++
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

const nothing = () => {}
