import { createHash } from "node:crypto"
import { Clock, Data, Deferred, Effect, Exit, Option, Redacted, Schema, type Scope } from "effect"
import type { BudgetSizes, Outcome, Spender, WindowKind } from "./RateBudget.ts"

/** How long a call may take: a client waits no longer than this for what it is not told. */
const patienceMillis = 250
const lookMillis = patienceMillis / 5
const connectMillis = 2_000
const retryMillis = 1_000
const warningMillis = 60_000

/** Why Redis cannot be asked. */
class NoRedis extends Data.TaggedError("NoRedis")<{ readonly reason: string }> {}

const noRedis = (cause: unknown): NoRedis => {
  if (cause instanceof NoRedis) return cause
  const parts = cause instanceof AggregateError ? cause.errors : [cause]
  return new NoRedis({ reason: parts.map((part) => (part instanceof Error ? part.message : String(part))).join("; ") })
}

/**
 * Both windows in one step, which no other command can come between. KEYS: the credential's and the account's. ARGV: their
 * sizes, their length, the time (all nodes share Redis' own where it is empty), and whether one is spent or nothing but
 * looked at. Answers with what `Outcome` says.
 *
 * A key outlives its window by a second: it is the script that ends a window, expiry only clears it away. A window that would
 * last longer than a whole one was begun before Redis' clock was set back: it ends a whole one from now.
 */
const takeScript = `
local length = tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function find(key)
  local window = redis.call("HMGET", key, "spent", "endsAt")
  local endsAt = tonumber(window[2])
  if not endsAt or endsAt <= now then return 0, now + length end
  if endsAt > now + length then
    endsAt = now + length
    redis.call("HSET", key, "endsAt", string.format("%.0f", endsAt))
    redis.call("PEXPIRE", key, length + 1000)
  end
  return tonumber(window[1]), endsAt
end

local function spend(key, spent, endsAt)
  if spent > 0 then
    redis.call("HINCRBY", key, "spent", 1)
  else
    redis.call("HSET", key, "spent", 1, "endsAt", string.format("%.0f", endsAt))
    redis.call("PEXPIRE", key, length + 1000)
  end
  return spent + 1
end

local key, keyEndsAt = find(KEYS[1])
local account, accountEndsAt = find(KEYS[2])
local admitted = 0
if ARGV[5] == "spend" and key < tonumber(ARGV[1]) and account < tonumber(ARGV[2]) then
  admitted = 1
  key = spend(KEYS[1], key, keyEndsAt)
  account = spend(KEYS[2], account, accountEndsAt)
end
return { admitted, now, key, keyEndsAt, account, accountEndsAt }
`

const takeSha1 = createHash("sha1").update(takeScript).digest("hex")

const isReply = Schema.is(
  Schema.Tuple(Schema.Number, Schema.Number, Schema.Number, Schema.Number, Schema.Number, Schema.Number)
)

/** The braces keep both windows on one node of a cluster: one script must reach them. */
export const redisKeysOf = (
  { accountId, credentialId }: Spender,
  kind: WindowKind = "requests"
): [key: string, account: string] =>
  kind === "requests"
    ? [`catalog:budget:{${accountId}}:key:${credentialId}`, `catalog:budget:{${accountId}}:account`]
    : [`catalog:budget:{${accountId}}:messages:${credentialId}`, `catalog:budget:{${accountId}}:messages`]

export interface RedisOptions {
  /** redis:// or rediss://, with user, password and database number where they are needed. */
  readonly url: Redacted.Redacted
  /** Unix milliseconds, for a test that moves the time. Redis' own clock when absent. */
  readonly timeMillis?: Effect.Effect<number>
}

/** Windows that several processes share. */
export interface RedisWindows {
  /** Takes one request from both windows in one step. None: Redis does not answer; known within about 300 ms. */
  readonly take: (spender: Spender, kind: WindowKind) => Effect.Effect<Option.Option<Outcome>>
  /** Both windows as they are. None as for `take`. */
  readonly look: (spender: Spender, kind: WindowKind) => Effect.Effect<Option.Option<Outcome>>
}

/** What is done to the windows. */
type Deed = "spend" | "look"

/** Whose windows are meant. */
interface Owner {
  readonly spender: Spender
  readonly kind: WindowKind
}

/** A connection that nothing waits for: one that is not open yet refuses its calls, and one that breaks is not mended. */
const openClient = (url: Redacted.Redacted, onBroken: (cause: unknown) => void) =>
  Effect.gen(function* () {
    // Loading it takes longer than most commands run, and only a server with this setting needs it.
    const { createClient } = yield* Effect.promise(() => import("redis"))
    const client = yield* Effect.acquireRelease(
      Effect.try({
        try: () =>
          createClient({
            url: Redacted.value(url),
            // What is asked and answered here reads the same in 2 and 3, and every proxy speaks 2.
            RESP: 2,
            disableOfflineQueue: true,
            commandOptions: { timeout: 0 },
            socket: { connectTimeout: connectMillis, reconnectStrategy: false }
          }),
        catch: noRedis
      }),
      (client) =>
        Effect.sync(() => {
          client.destroy()
          // Destroyed while it connects, the library would go on with the socket that it gets.
          client.on("connect", () => client.destroy())
        })
    )
    client.on("error", onBroken)
    yield* Effect.tryPromise({ try: () => client.connect(), catch: noRedis }).pipe(
      Effect.timeoutFail({
        duration: connectMillis,
        onTimeout: () => new NoRedis({ reason: `no connection within ${connectMillis} ms` })
      })
    )
    return client
  })

type Client = Effect.Effect.Success<ReturnType<typeof openClient>>

/** A connection in use. */
interface Link {
  readonly client: Client
  readonly breakOff: (cause: unknown) => void
}

const tooSlow = new NoRedis({ reason: `no answer within ${patienceMillis} ms` })

/**
 * Connects in the background, again a second after every failure, for as long as the scope is open. The first attempt is
 * over when this returns, with or without success. Warns once a minute while Redis does not answer.
 */
export const makeRedisWindows = (
  { timeMillis, url }: RedisOptions,
  sizesOf: (kind: WindowKind) => BudgetSizes,
  windowMillis: number
): Effect.Effect<RedisWindows, never, Scope.Scope> =>
  Effect.gen(function* () {
    // How long Redis takes is real time, whatever a test makes of the windows', and no step of the system's clock changes it.
    const clock = Clock.make()
    const place = URL.canParse(Redacted.value(url)) ? `Redis at ${new URL(Redacted.value(url)).host}` : "Redis"
    /** Since when calls wait for their answers, oldest first. */
    const waiting = new Set<{ since: number }>()
    let link: Link | undefined
    let lastWarning = Number.NEGATIVE_INFINITY
    let isMissed = false

    const complain = ({ reason }: NoRedis) =>
      Effect.suspend(() => {
        const now = performance.now()
        if (now - lastWarning < warningMillis) return Effect.void
        lastWarning = now
        isMissed = true
        return Effect.logWarning(`${place} does not answer (${reason}): until it does, each process counts by itself`)
      })

    /** The patience is with Redis: while this process was stalled, it did not listen. */
    const forgive = (stalledMillis: number) => {
      const now = performance.now()
      for (const call of waiting) call.since = Math.min(call.since + stalledMillis, now)
    }

    /** One look at all calls: a timer for each would cost more than the call. Fails when one takes too long. */
    const look = Effect.gen(function* () {
      const before = performance.now()
      yield* Effect.sleep(lookMillis)
      const stalledMillis = performance.now() - before - lookMillis
      if (stalledMillis > lookMillis) forgive(stalledMillis)
      const [oldest] = waiting
      if (oldest !== undefined && performance.now() - oldest.since >= patienceMillis) return yield* tooSlow
    })

    const settled = yield* Deferred.make<void>()

    /** From the attempt to connect to the end of the connection, which is always a failure. */
    const attend = Effect.gen(function* () {
      const broken = yield* Deferred.make<never, NoRedis>()
      const breakOff = (cause: unknown) => {
        if (link?.breakOff === breakOff) link = undefined
        Deferred.unsafeDone(broken, Exit.fail(noRedis(cause)))
      }
      const client = yield* openClient(url, breakOff)
      yield* Effect.tryPromise({ try: () => client.ping(), catch: noRedis }).pipe(
        Effect.timeoutFail({ duration: patienceMillis, onTimeout: () => tooSlow })
      )
      link = { client, breakOff }
      yield* Deferred.succeed(settled, undefined)
      // The scope is closed next: what still waits for an answer is refused with the connection.
      return yield* Effect.raceFirst(Deferred.await(broken), Effect.forever(look)).pipe(
        Effect.ensuring(Effect.sync(() => breakOff(tooSlow)))
      )
    })

    yield* Effect.scoped(attend).pipe(
      Effect.catchAll(complain),
      Effect.zipRight(Deferred.succeed(settled, undefined)),
      Effect.zipRight(Effect.sleep(retryMillis)),
      Effect.forever,
      Effect.withClock(clock),
      Effect.forkScoped
    )
    yield* Deferred.await(settled)

    const argumentsOf = (kind: WindowKind) => {
      const { perAccount, perKey } = sizesOf(kind)
      return [String(perKey), String(perAccount), String(windowMillis)]
    }
    const sizes = { requests: argumentsOf("requests"), messages: argumentsOf("messages") }

    const ask = (client: Client, { kind, spender }: Owner, time: string, deed: Deed) =>
      Effect.suspend(() => {
        const command = { keys: redisKeysOf(spender, kind), arguments: [...sizes[kind], time, deed] }
        const call = { since: performance.now() }
        waiting.add(call)
        return Effect.tryPromise({
          try: (): Promise<unknown> => client.evalSha(takeSha1, command),
          catch: noRedis
        }).pipe(
          Effect.catchIf(
            ({ reason }) => reason.startsWith("NOSCRIPT"),
            () => Effect.tryPromise({ try: (): Promise<unknown> => client.eval(takeScript, command), catch: noRedis })
          ),
          Effect.filterOrFail(isReply, () => new NoRedis({ reason: "its answer makes no sense" })),
          Effect.ensuring(Effect.sync(() => waiting.delete(call)))
        )
      })

    const greet = Effect.suspend(() => {
      isMissed = false
      return Effect.logInfo(`${place} answers again: all processes count there`)
    })

    const askOver = ({ breakOff, client }: Link, owner: Owner, time: string, deed: Deed) =>
      Effect.matchEffect(ask(client, owner, time, deed), {
        onFailure: (failure) =>
          Effect.sync(() => {
            breakOff(failure)
            return Option.none<Outcome>()
          }),
        onSuccess: ([admitted, now, spentOfKey, keyEndsAt, spentOfAccount, accountEndsAt]) => {
          const outcome = Option.some<Outcome>({
            now: { millis: now, toUnix: 0 },
            admitted: admitted === 1,
            key: { spent: spentOfKey, endsAt: keyEndsAt },
            account: { spent: spentOfAccount, endsAt: accountEndsAt }
          })
          return isMissed ? Effect.as(greet, outcome) : Effect.succeed(outcome)
        }
      })

    const doTo = (deed: Deed) => (spender: Spender, kind: WindowKind) =>
      Effect.suspend(() => {
        const open = link
        if (open === undefined) return Effect.succeedNone
        const owner = { spender, kind }
        return timeMillis === undefined
          ? askOver(open, owner, "", deed)
          : Effect.flatMap(timeMillis, (time) => askOver(open, owner, String(time), deed))
      })

    return { take: doTo("spend"), look: doTo("look") }
  })
