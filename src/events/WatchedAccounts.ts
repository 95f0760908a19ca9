import { hash } from "node:crypto"
import { type Cause, Duration, Effect } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import type { AccountId } from "../model/Ids.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import type { AccountEventsRepo, WorkState } from "./AccountEventsRepo.ts"
import type { OpenStream } from "./EventStream.ts"
import { workKinds } from "./WorkEvent.ts"

/** An account with open streams. */
interface Watched {
  readonly streams: Set<OpenStream>
  /** The state of its work when it was last read. */
  state: WorkState | undefined
  /**
   * When its row of `watched_account` is renewed, in milliseconds of the monotonic clock. 0: this process has not written a row
   * yet.
   */
  renewAt: number
  /**
   * Transactions with a smaller number may have changed the account's work without an announcement, because they began
   * before its row was committed.
   */
  silentBefore: bigint
}

export const textOf = (state: WorkState | undefined) =>
  state === undefined ? "" : hash("sha256", workKinds.map((kind) => state[kind]).join("|"), "hex").slice(0, 16)

/**
 * Adds the kinds of work that differ between two states to all streams of an account. Without a state before, the streams are
 * being opened, and `open` compares with the state of their pages.
 */
const addDifferences = ({ state: before, streams }: Watched, after: WorkState) => {
  if (before === undefined) return
  for (const kind of workKinds)
    if (before[kind] !== after[kind]) for (const stream of streams) stream.add(kind, undefined)
}

const logged = (message: string) => (cause: Cause.Cause<unknown>) => Effect.logDebug(message, cause)

/**
 * The accounts with open streams of this process. While the process listens, their changes are announced, and an
 * account is polled only until all transactions have ended that began before its row was committed. While it does not
 * listen, all accounts are polled. `catchesUp` false: while the process listens, nothing is polled. Only for a test
 * that shows the difference.
 */
export class WatchedAccounts {
  isListening = false
  private readonly accounts = new Map<AccountId, Watched>()
  private readonly repo: AccountEventsRepo["Type"]
  private readonly renewMillis: number
  private readonly catchesUp: boolean

  constructor(repo: AccountEventsRepo["Type"], renew: Duration.DurationInput, catchesUp: boolean) {
    this.repo = repo
    this.renewMillis = Duration.toMillis(renew)
    this.catchesUp = catchesUp
  }

  streamsOf(accountId: string): ReadonlySet<OpenStream> {
    return this.accounts.get(accountId as AccountId)?.streams ?? new Set()
  }

  get streamCount(): number {
    let count = 0
    for (const { streams } of this.accounts.values()) count += streams.size
    return count
  }

  remove(accountId: AccountId, stream: OpenStream): void {
    const watched = this.accounts.get(accountId)
    watched?.streams.delete(stream)
    if (watched?.streams.size === 0) this.accounts.delete(accountId)
  }

  /** Adds a stream and returns the state of the account's work. Later changes are announced, or found by polling. */
  add(accountId: AccountId, stream: OpenStream): Effect.Effect<WorkState | undefined> {
    const watched = this.accounts.get(accountId) ?? {
      streams: new Set(),
      state: undefined,
      renewAt: 0,
      silentBefore: 0n
    }
    this.accounts.set(accountId, watched)
    watched.streams.add(stream)
    return Effect.gen(this, function* () {
      if (this.isListening && watched.renewAt === 0) yield* this.announce([[accountId, watched]])
      const state = yield* this.repo.read(accountId)
      watched.state ??= state
      return state
    })
  }

  /** Makes the triggers announce the changes of these accounts. If that fails, they are polled until it succeeds. */
  private announce(accounts: ReadonlyArray<readonly [AccountId, Watched]>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      yield* this.repo.watch(accounts.map(([id]) => id))
      // Read after the rows are committed: a transaction whose trigger did not see them has a number below `next`.
      const { next } = yield* this.repo.transactions
      const renewAt = (yield* monotonicMillis) + this.renewMillis
      for (const [, watched] of accounts) {
        watched.renewAt = renewAt
        if (this.catchesUp && next > watched.silentBefore) watched.silentBefore = next
      }
    }).pipe(Effect.catchAllCause(logged("Changes of accounts with open pages could not be announced")))
  }

  /** Runs after listening has begun. Also finds the changes from before. */
  readonly onListening: Effect.Effect<void> = Effect.suspend(() => {
    this.isListening = true
    for (const watched of this.accounts.values()) watched.renewAt = 0
    return this.poll
  })

  /** Finds changes that are not announced. */
  readonly poll: Effect.Effect<void> = Effect.gen(this, function* () {
    const now = yield* monotonicMillis
    const isDue = ({ renewAt }: Watched) => renewAt <= now
    if (this.isListening) {
      const due = [...this.accounts].filter(([, watched]) => isDue(watched))
      if (due.length > 0) yield* this.announce(due)
    }
    const silent = [...this.accounts].filter(
      ([, watched]) => !this.isListening || isDue(watched) || watched.silentBefore > 0n
    )
    if (silent.length === 0) return
    const oldest = this.isListening ? (yield* this.repo.transactions).oldest : 0n
    // Each on its own: an account whose node is down must not hide the others.
    for (const [accountId, watched] of silent)
      yield* Effect.catchAllCause(
        this.pollAccount(accountId, watched, oldest),
        logged(`Changes of account ${accountId} could not be read`)
      )
  }).pipe(asBackground, Effect.catchAllCause(logged("Changes of work could not be read")))

  /** `oldest`: the oldest transaction that was running before this check. */
  private pollAccount(accountId: AccountId, watched: Watched, oldest: bigint): Effect.Effect<void> {
    const { silentBefore } = watched
    return Effect.map(this.repo.read(accountId), (state) => {
      if (watched.silentBefore === silentBefore && silentBefore <= oldest) watched.silentBefore = 0n
      if (state === undefined) return
      addDifferences(watched, state)
      watched.state = state
    })
  }
}
