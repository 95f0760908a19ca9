import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { Array as Arr, Effect, Redacted, Schedule } from "effect"
import pg from "pg"
import { Agent, request } from "undici"
import type { EntityId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { isServerCluster } from "../support/TestDatabase.ts"
import { report } from "./Dice.ts"

/** Settings without any deadline, to show the effect of a stall without them. */
export const withoutDeadlines = Object.fromEntries(
  [
    "LOOKUP_TIMEOUT_MS",
    "READ_TIMEOUT_MS",
    "WRITE_TIMEOUT_MS",
    "BACKGROUND_TIMEOUT_MS",
    "CONNECTION_TIMEOUT_MS",
    "LOCK_TIMEOUT_MS",
    "IDLE_TRANSACTION_TIMEOUT_MS",
    "BACKGROUND_IDLE_TRANSACTION_TIMEOUT_MS",
    "REQUEST_TIMEOUT_MS",
    "BATCH_TIMEOUT_MS"
  ].map((name) => [name, "99999999"])
)

/** A process of the service whose budgets are never used up. */
export const serving = (database: string, settings: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      serveCatalog({
        DATABASE_URL: database,
        LOG_FORMAT: "logfmt",
        RATE_LIMIT_PER_KEY: "999999",
        RATE_LIMIT_PER_ACCOUNT: "999999",
        ...settings
      })
    ),
    ({ pid, stop }) =>
      Effect.promise(() => {
        if (pid !== undefined) process.kill(pid, "SIGCONT")
        return stop("SIGKILL")
      }).pipe(Effect.catchAllDefect(() => Effect.void))
  )

/** An account with one store, and products with an empty description there. */
export const aTenant = (products: number) =>
  Effect.gen(function* () {
    const { actor, accountId, stores, token } = yield* anAccount({ domains: ["shop.example"] })
    const [store] = stores
    const ids = yield* Effect.forEach(Arr.makeBy(products, String), (name) =>
      anEntity("product", { title: `Product ${name}` }, { on: [store] })
    ).pipe(actingAs(actor))
    return { accountId, token, storeId: store.id, ids }
  })
export type Tenant = Effect.Effect.Success<ReturnType<typeof aTenant>>

export interface Seen {
  /** The status; 0: no answer while the test waited. */
  readonly status: number
  readonly millis: number
  readonly body: string
}

/** Longer than any limit of the service: a request without an answer by then counts as never answered. */
const usualWaitMillis = 60_000

/** Sends requests to one process on new connections. `waitMillis` 0: waits without a limit. */
export const client = (baseUrl: string, waitMillis = usualWaitMillis) => {
  const dispatcher = new Agent({ connections: 256, headersTimeout: waitMillis, bodyTimeout: waitMillis })
  const send = async (path: string, token: string, body?: unknown): Promise<Seen> => {
    const since = performance.now()
    const ended = (status: number, text: string) => ({ status, body: text, millis: performance.now() - since })
    try {
      const answer = await request(`${baseUrl}${path}`, {
        dispatcher,
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      return ended(answer.statusCode, await answer.body.text())
    } catch {
      return ended(0, "")
    }
  }
  let asked = 0
  return {
    /** A page that no cache has. */
    read: ({ token }: Tenant) => send(`/api/v1/products?limit=5&search=${++asked}`, token),
    fill: ({ storeId, token }: Tenant, id: EntityId, value: string) =>
      send("/api/v1/data-health/completeness-fills", token, {
        entity_type: "product",
        operations: [{ entity_id: id, store_id: storeId, field: "description_html", value }]
      }),
    get: (path: string, token = "") => send(path, token)
  }
}

/**
 * On a slow machine requests must not fill the service's queues, so at most this number of requests waits for answers.
 */
const maxUnanswered = 8

/** `count` requests, `apartMillis` or more apart. */
export const paced = async (
  count: number,
  apartMillis: number,
  send: (place: number) => Promise<Seen>,
  maxWaiting = maxUnanswered
) => {
  const sent: Array<Promise<Seen>> = []
  let unanswered = 0
  for (let place = 0; place < count; place++) {
    while (unanswered >= maxWaiting) await sleep(5)
    unanswered++
    sent.push(
      send(place).finally(() => {
        unanswered--
      })
    )
    await sleep(apartMillis)
  }
  return Promise.all(sent)
}

const quantile = (sorted: ReadonlyArray<number>, part: number) =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)

/** Prints the responses, and counts them. */
export const tally = (name: string, seen: ReadonlyArray<Seen>) => {
  const sorted = seen.map(({ millis }) => millis).sort((left, right) => left - right)
  const count = (test: (status: number) => boolean) => seen.filter(({ status }) => test(status)).length
  const counts = {
    requests: seen.length,
    ok: count((status) => status === 200),
    unavailable: count((status) => status === 503),
    unanswered: count((status) => status === 0)
  }
  const others = seen
    .filter(({ status }) => ![200, 503, 0].includes(status))
    .map(({ body, status }) => `${status} ${body}`)
  report(name, {
    ...counts,
    others: [...new Set(others)],
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    max: quantile(sorted, 1)
  })
  return counts
}

/** A separate connection of the test. */
export const openClient = (database: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const opened = new pg.Client({ connectionString: database })
      opened.on("error", () => {})
      await opened.connect()
      return opened
    }),
    (opened) => Effect.promise(() => opened.end())
  )

/**
 * Counts the sessions of the database that wait for a lock, on all nodes of a cluster. Reads pg_locks and not pg_stat_activity, which
 * does not change within a transaction after its first read.
 */
export const lockWaits = async (opened: pg.Client): Promise<number> => {
  const count = `SELECT count(*)::int AS waits FROM pg_locks waiting
    WHERE NOT granted AND EXISTS (
      SELECT FROM pg_locks held JOIN pg_database d ON d.oid = held.database
      WHERE held.pid = waiting.pid AND d.datname = current_database()
    )`
  const { rows } = await opened.query(
    isServerCluster
      ? `SELECT sum(result::int)::int AS waits FROM run_command_on_all_nodes($command$${count}$command$)`
      : count
  )
  return rows[0].waits
}

/** Waits until this number of sessions waits for a lock. */
export const untilLockWaits = (opened: pg.Client, count: number) =>
  Effect.promise(() => lockWaits(opened)).pipe(
    Effect.repeat({ until: (waits) => waits >= count, schedule: Schedule.spaced("20 millis") })
  )

/** A proxy to the server whose open connections can be made to hang, while new ones work. */
export const openProxy = (database: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const target = new URL(Redacted.value(database))
      const pairs: Array<{ hangs: boolean; readonly near: Socket; readonly far: Socket }> = []
      const server = createServer((near) => {
        const far = connect(Number(target.port || 5432), target.hostname)
        const pair = { hangs: false, near, far }
        pairs.push(pair)
        for (const [from, to] of [
          [near, far],
          [far, near]
        ] as const) {
          from.on("error", () => {})
          from.on("close", () => {
            if (!pair.hangs) to.destroy()
          })
          from.on("data", (data) => {
            if (!pair.hangs && !to.destroyed) to.write(data)
          })
        }
      })
      await once(server.listen(0, "127.0.0.1"), "listening")
      const url = new URL(target)
      url.hostname = "127.0.0.1"
      url.port = String((server.address() as AddressInfo).port)
      const open = () => pairs.filter(({ near, hangs }) => !near.destroyed && !hangs)
      return {
        url: url.href,
        count: () => open().length,
        /** Makes all open connections except this number hang. */
        hang: (butFor: number) => {
          const chosen = open().slice(butFor)
          for (const pair of chosen) pair.hangs = true
          return chosen.length
        },
        server,
        pairs
      }
    }),
    ({ pairs, server }) =>
      Effect.sync(() => {
        for (const { far, near } of pairs) {
          near.destroy()
          far.destroy()
        }
        server.close()
      })
  )
