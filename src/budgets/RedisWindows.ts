import { createHash } from "node:crypto"
import { Effect, type Option, type Redacted, Schema, type Scope } from "effect"
import type { BudgetSizes, Spender, TakeResult, WindowKind } from "./RateBudget.ts"
import { defaultCallMillis, makeRedisConnection, NoRedis, noRedis, type RedisClient } from "./RedisConnection.ts"

/**
 * Takes from both windows in one atomic step. KEYS: the windows of the credential and of the account. ARGV: their sizes, their
 * length in ms, the time (empty: Redis' own clock, which all processes share), and the number of requests to take (0: only read).
 * Returns the fields of `TakeResult`.
 *
 * The script itself decides when a window has ended; Redis' expiry deletes the key a second later. If a window has more than its
 * length left, Redis' clock was set back: the window then ends a full length from now.
 */
const windowScript = `
local length = tonumber(ARGV[3])
local now = tonumber(ARGV[4])
local units = tonumber(ARGV[5])
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
    redis.call("HINCRBY", key, "spent", units)
  else
    redis.call("HSET", key, "spent", units, "endsAt", string.format("%.0f", endsAt))
    redis.call("PEXPIRE", key, length + 1000)
  end
  return spent + units
end

local key, keyEndsAt = find(KEYS[1])
local account, accountEndsAt = find(KEYS[2])
local admitted = 0
if units > 0 and key + units <= tonumber(ARGV[1]) and account + units <= tonumber(ARGV[2]) then
  admitted = 1
  key = spend(KEYS[1], key, keyEndsAt)
  account = spend(KEYS[2], account, accountEndsAt)
end
return { admitted, now, key, keyEndsAt, account, accountEndsAt }
`

const windowScriptSha1 = createHash("sha1").update(windowScript).digest("hex")

const isReply = Schema.is(
  Schema.Tuple(Schema.Number, Schema.Number, Schema.Number, Schema.Number, Schema.Number, Schema.Number)
)

/** The braces are a hash tag: they put both windows on one node of a cluster, as a script requires. */
const redisKeysOf = ({ accountId, credentialId }: Spender, kind: WindowKind): [key: string, account: string] =>
  kind === "requests"
    ? [`catalog:budget:{${accountId}}:key:${credentialId}`, `catalog:budget:{${accountId}}:account`]
    : [`catalog:budget:{${accountId}}:messages:${credentialId}`, `catalog:budget:{${accountId}}:messages`]

export interface RedisOptions {
  /** A redis:// or rediss:// URL, with user, password and database number if needed. */
  readonly url: Redacted.Redacted
  /** The time in Unix milliseconds, for tests. By default Redis' own clock. */
  readonly timeMillis?: Effect.Effect<number>
  /** Time limit of one call in milliseconds, for tests. Default: `defaultCallMillis`. */
  readonly callMillis?: number
}

/** Windows in Redis, which several processes share. */
interface RedisWindows {
  /** Takes `units` requests from both windows, or from neither. None, within about 300 ms: Redis does not answer. */
  readonly take: (spender: Spender, kind: WindowKind, units: number) => Effect.Effect<Option.Option<TakeResult>>
  /** Reads both windows. None has the same meaning as for `take`. */
  readonly read: (spender: Spender, kind: WindowKind) => Effect.Effect<Option.Option<TakeResult>>
}

/** Runs the window script by its hash. Sends the text if this Redis does not have the script. */
const runScript = (client: RedisClient, keys: Array<string>, args: Array<string>) => {
  const command = { keys, arguments: args }
  return Effect.tryPromise({
    try: (): Promise<unknown> => client.evalSha(windowScriptSha1, command),
    catch: noRedis
  }).pipe(
    Effect.catchIf(
      ({ reason }) => reason.startsWith("NOSCRIPT"),
      () => Effect.tryPromise({ try: (): Promise<unknown> => client.eval(windowScript, command), catch: noRedis })
    ),
    Effect.filterOrFail(isReply, () => new NoRedis({ reason: "its answer has an unexpected form" })),
    Effect.map(
      ([admitted, now, spentOfKey, keyEndsAt, spentOfAccount, accountEndsAt]): TakeResult => ({
        now: { millis: now, toUnix: 0 },
        admitted: admitted === 1,
        key: { spent: spentOfKey, endsAt: keyEndsAt },
        account: { spent: spentOfAccount, endsAt: accountEndsAt }
      })
    )
  )
}

/** Connects to Redis in the background and keeps the connection open until the scope closes. */
export const makeRedisWindows = (
  { callMillis = defaultCallMillis, timeMillis, url }: RedisOptions,
  sizesOf: (kind: WindowKind) => BudgetSizes,
  windowMillis: number
): Effect.Effect<RedisWindows, never, Scope.Scope> =>
  Effect.map(makeRedisConnection(url, callMillis), (run) => {
    const argumentsOf = (kind: WindowKind) => {
      const { perAccount, perKey } = sizesOf(kind)
      return [String(perKey), String(perAccount), String(windowMillis)]
    }
    const sizes = { requests: argumentsOf("requests"), messages: argumentsOf("messages") }

    const windows = (spender: Spender, kind: WindowKind, units: number) =>
      run((client) => {
        const script = (time: string) =>
          runScript(client, redisKeysOf(spender, kind), [...sizes[kind], time, String(units)])
        return timeMillis === undefined ? script("") : Effect.flatMap(timeMillis, (time) => script(String(time)))
      })

    return { take: windows, read: (spender, kind) => windows(spender, kind, 0) }
  })
