import { isDeepStrictEqual } from "node:util"
import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Schedule } from "effect"
import { StoreId } from "../../src/model/Ids.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, anEntity } from "../../src/testing/index.ts"
import { send } from "../mcp/Connector.ts"
import { catalogProcess, serveCatalog } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { readNodes } from "../support/ReadNodes.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { sumOf as gaugeOf } from "../telemetry/Exposition.ts"
import { scrape } from "../telemetry/Server.ts"
import {
  aLoadedAccount,
  lostWrites,
  pause,
  productTitles,
  reading,
  type Tally,
  until,
  untilMore,
  writing
} from "./AccountLoad.ts"
import { aClient, base, type Client, recoveryMillis, untilIdle, type WorkerState, working } from "./ClusterClients.ts"
import { report } from "./Dice.ts"
import { acknowledgeEarly, canStart, type OwnCluster, ownCluster, servicesOn, settingsOf } from "./OwnCluster.ts"

const accounts = 12
const rounds = amount(1, 10)
const enough = amount(20, 100)

if (!canStart) console.warn("The suite of dead workers is SKIPPED: no Citus cluster can be started here.")

/** Adds a publish of another product, which was requested an hour ago and waits for its next attempt. */
const addWaitingPublish = ({ accountId, actor, storeId }: Tally) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const entityId = yield* anEntity("product", { title: "waits" }).pipe(actingAs(actor))
    yield* sql`
      INSERT INTO publication (account_id, id, sequence, entity_id, store_id, draft_revision, brings, content, actor,
                               asked_at, next_attempt_at)
      VALUES (${accountId}, gen_random_uuid(), 1, ${entityId}, ${storeId}, 1, ARRAY[${entityId}::uuid], '{}', '{}',
              app_now() - interval '1 hour', app_now() + interval '1 day')`
  }).pipe(Effect.orDie)

/** Waits until the gauges show these nodes and accounts, and this many publishes that wait for their next attempt. */
const untilGauges = (
  metricsPort: number,
  expected: { readonly answering: number; readonly down: number; readonly accounts: number; readonly retry: number }
) =>
  scrape(metricsPort).pipe(
    Effect.map(({ families }) => ({
      answering: gaugeOf(families, "catalog_nodes", { state: "answering" }),
      down: gaugeOf(families, "catalog_nodes", { state: "down" }),
      accounts: gaugeOf(families, "catalog_node_waiting_accounts"),
      retry: gaugeOf(families, "catalog_publishes_pending", { wait: "retry" }),
      isCurrent: gaugeOf(families, "catalog_backlog_read") === 1,
      isAnHour: gaugeOf(families, "catalog_publish_oldest_age_seconds", { wait: "retry" }) >= 3_600
    })),
    Effect.repeat({
      until: (gauges) => isDeepStrictEqual(gauges, { ...expected, isCurrent: true, isAnHour: true }),
      schedule: Schedule.spaced("200 millis")
    })
  )

/** Kills worker 1 under load and starts it again. Returns the accounts' results. */
const killWorker = (cluster: OwnCluster) =>
  Effect.gen(function* () {
    const tallies = yield* Effect.forEach(Array.from({ length: accounts }), (_, place) =>
      aLoadedAccount(`Merchant ${place}`)
    )
    const metricsPort = yield* Effect.promise(freePort)
    const server = yield* Effect.acquireRelease(
      Effect.promise(() => serveCatalog({ ...settingsOf(cluster), METRICS_PORT: String(metricsPort) })),
      ({ stop }) => Effect.promise(() => stop("SIGKILL"))
    )
    const nodes = yield* readNodes
    const waiting = new Set(nodes.find(({ address }) => address === cluster.addressOf(1))?.accounts.map(({ id }) => id))
    const [dead, healthy] = [
      tallies.filter(({ accountId }) => waiting.has(accountId)),
      tallies.filter(({ accountId }) => !waiting.has(accountId))
    ]
    assert.isAtLeast(Math.min(dead.length, healthy.length), 2, "both workers have accounts")
    for (const tally of [...dead.slice(0, 1), ...healthy.slice(0, 1)]) yield* addWaitingPublish(tally)
    const allAnswer = { answering: nodes.length, down: 0, accounts: 0, retry: 2 }
    yield* untilGauges(metricsPort, allAnswer)
    for (const tally of tallies) {
      yield* Effect.forkScoped(writing(tally))
      yield* Effect.forkScoped(reading(server.baseUrl, tally))
    }
    const recoveries: Array<number> = []
    const lost: Array<unknown> = []
    let published = 0
    for (let round = 0; round < rounds; round++) {
      yield* untilMore(tallies, enough)
      cluster.kill(1)
      const before = dead.map(({ refusedReads, refusedWrites }) => refusedReads + refusedWrites)
      yield* until(() =>
        dead.every((tally, place) => tally.refusedReads + tally.refusedWrites > (before[place] ?? 0) + 5)
      )
      yield* untilMore(healthy, enough)

      // Publishes of other accounts continue too.
      const repo = yield* PublicationsRepo
      for (const { actor, entityId, storeId } of healthy) {
        const { request } = yield* Publishing
        const answer = yield* request(entityId, StoreId.make(storeId), undefined, true).pipe(actingAs(actor))
        if ("publicationId" in answer) {
          const find = Effect.flatMap(Publishing, (publishing) => publishing.find([answer.publicationId])).pipe(
            actingAs(actor)
          )
          yield* Effect.repeat(find, { until: ([record]) => record?.state === "published" })
          published += 1
          // Planted fault: without hints a worker queries all accounts in one statement, which fails while a node is
          // down.
          const asksAll = repo.claim({ limit: 1, maxPerStore: 1, leaseSeconds: 0, only: [answer.publicationId] })
          assert.isTrue(Exit.isFailure(yield* Effect.exit(asksAll)))
        }
      }

      const status = yield* Effect.promise(() => catalogProcess(["status"], settingsOf(cluster)))
      assert.strictEqual(status.code, 0, status.stderr)
      assert.include(status.stdout, `Node ${cluster.addressOf(1)} does not answer: ${dead.length} accounts\n`)
      for (const { accountId } of dead) assert.include(status.stdout, `(${accountId})`)
      for (const { accountId } of healthy) assert.notInclude(status.stdout, accountId)
      const line = `Node ${cluster.addressOf(1)} does not answer: ${dead.length} accounts wait: Merchant`
      yield* until(() => server.output.stderr.includes(line))
      const accounts = dead.length
      yield* untilGauges(metricsPort, { answering: nodes.length - 1, down: 1, accounts, retry: 1 })

      // Writers stop until the titles are compared, because a later write would hide a lost one.
      yield* pause(dead)
      yield* cluster.start(1)
      const began = performance.now()
      lost.push(...lostWrites(dead, yield* Effect.eventually(productTitles)))
      for (const tally of dead) tally.isPaused = false
      yield* untilMore(dead, 1)
      recoveries.push(Math.round(performance.now() - began))
      yield* untilGauges(metricsPort, allAnswer)
    }
    yield* untilMore(tallies, enough)
    yield* until(() => server.output.stderr.includes(`Node ${cluster.addressOf(1)} answers again`))
    // A write that is acknowledged while the titles are read would look lost.
    yield* pause(tallies)
    return {
      tallies,
      // Reads that are under way when the server is stopped fail later.
      wrong: tallies.flatMap(({ wrong }) => wrong),
      dead,
      healthy,
      recoveries,
      published,
      lost: [...lost, ...lostWrites(tallies, yield* productTitles)]
    }
  }).pipe(Effect.scoped)

describe.skipIf(!canStart)("a worker that is killed", () => {
  it.live("delays only its accounts, loses nothing, and serves them again when it is back", () =>
    Effect.gen(function* () {
      const cluster = yield* ownCluster()
      yield* Effect.gen(function* () {
        const { dead, healthy, lost, published, recoveries, tallies, wrong } = yield* killWorker(cluster)
        const sum = (count: (tally: (typeof tallies)[number]) => number) => tallies.map(count).reduce((a, b) => a + b)
        report("A worker killed", {
          rounds,
          accounts: { dead: dead.length, healthy: healthy.length },
          writes: sum(({ writes }) => writes),
          reads: sum(({ reads }) => reads),
          refused: sum(({ refusedReads, refusedWrites }) => refusedReads + refusedWrites),
          published,
          recoveredAfterMillis: recoveries
        })
        assert.strictEqual(
          healthy.reduce((count, { refusedReads, refusedWrites }) => count + refusedReads + refusedWrites, 0),
          0
        )
        assert.deepStrictEqual(lost, [])
        assert.deepStrictEqual(wrong, [])
        for (const { reads, refusedReads, refusedWrites, writes } of dead)
          assert.isTrue(writes >= enough && reads >= enough && refusedReads > 0 && refusedWrites > 0)
        assert.isAtLeast(published, 2)
      }).pipe(Effect.provide(servicesOn(cluster)))
    }).pipe(Effect.scoped)
  )

  it.live("planted fault: a worker that acknowledges before its disk has the commit loses writes", () =>
    Effect.gen(function* () {
      const cluster = yield* ownCluster()
      yield* Effect.promise(() => acknowledgeEarly(cluster, 1))
      yield* Effect.gen(function* () {
        const { lost } = yield* killWorker(cluster)
        assert.isAtLeast(lost.length, 1)
      }).pipe(Effect.provide(servicesOn(cluster)))
    }).pipe(Effect.scoped)
  )
})

/** More clients on each node than the pool of requests has connections. */
const clientsOfHang = 26
/**
 * Maximum number of requests that an account of the other node may lose before the process knows that the node hangs, or that all of them
 * may lose if it cannot know.
 */
const maxRefusedBefore = 2
const withoutBreaker = { NODE_TIMEOUT_MS: "99999999", CONNECTION_SHARE_PER_NODE: "100", LOOKUP_TIMEOUT_MS: "99999999" }

const sumOf = (clients: ReadonlyArray<Client>, count: (client: Client) => number) =>
  clients.reduce((sum, client) => sum + count(client), 0)
const refusedOf = ({ refusedReads, refusedWrites }: Client) => refusedReads + refusedWrites
const servedOf = ({ reads, writes }: Client) => reads + writes

/** Waits until each of these clients has got this many more answers, refusals included. */
const untilAnswers = (clients: ReadonlyArray<Client>, count: number) =>
  Effect.suspend(() => {
    const before = clients.map((client) => servedOf(client) + refusedOf(client))
    return until(() =>
      clients.every((client, place) => servedOf(client) + refusedOf(client) >= (before[place] ?? 0) + count)
    )
  })

/** Waits until no publication of these accounts is pending. The clients must be paused. */
const untilPublished = (clients: ReadonlyArray<Client>) =>
  Effect.forEach(clients, ({ accountId }) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`SELECT FROM publication WHERE account_id = ${accountId} AND state = 'pending' LIMIT 1`
    ).pipe(Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("100 millis") }))
  )

interface Hang {
  readonly processes: "all" | "backends"
  readonly settings: Readonly<Record<string, string>>
}

/** Whether the service can know that the node hangs. It cannot while the checks of the node get new processes, which answer. */
const isNoticed = ({ processes, settings }: Hang) => processes === "all" && settings !== withoutBreaker

/** Stops processes of worker 1 under load by SIGSTOP, and continues them. Returns what the clients saw. */
const hangWorker = (cluster: OwnCluster, hang: Hang) =>
  Effect.gen(function* () {
    const startedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    const tallies = yield* Effect.forEach(Array.from({ length: clientsOfHang }), (_, place) =>
      aLoadedAccount(`Merchant ${place}`)
    )
    const port = yield* Effect.promise(freePort)
    const server = yield* Effect.acquireRelease(
      Effect.promise(() =>
        serveCatalog({
          ...settingsOf(cluster),
          ...hang.settings,
          BASE_URL: base,
          HOST: "127.0.0.1",
          PORT: String(port)
        })
      ),
      ({ stop }) => Effect.promise(() => stop("SIGKILL"))
    )
    const nodes = yield* readNodes
    const onHanging = new Set(
      nodes.find(({ address }) => address === cluster.addressOf(1))?.accounts.map(({ id }) => id)
    )
    const aWorker = (): WorkerState => ({ isDown: true, upAt: Number.NEGATIVE_INFINITY, refusedAt: undefined })
    const [hanging, other] = [aWorker(), aWorker()]
    const clients = yield* Effect.forEach(tallies, (tally) =>
      aClient(tally, onHanging.has(tally.accountId) ? hanging : other, new Set([tally.entityId]))
    )
    const waiting = clients.filter(({ worker }) => worker === hanging)
    const others = clients.filter(({ worker }) => worker === other)
    assert.isAtLeast(Math.min(waiting.length, others.length), 4, "both workers have accounts")
    for (const client of clients)
      yield* Effect.forkScoped(working([{ port, isUp: true }], client, { pauseMillis: 300, startedAt }))
    yield* untilMore(clients, 3)
    const refusedAtFirst = sumOf(clients, refusedOf)

    yield* Effect.acquireRelease(
      Effect.sync(() => cluster.signal(1, "SIGSTOP", hang.processes)),
      () => Effect.sync(() => cluster.signal(1, "SIGCONT"))
    )
    const line = `Node ${cluster.addressOf(1)} does not answer: ${waiting.length} accounts wait: Merchant`
    yield* until(() =>
      isNoticed(hang)
        ? server.output.stderr.includes(line)
        : sumOf(waiting, refusedOf) >= (hang.processes === "backends" ? 5 : 2 * waiting.length)
    )
    // From here on, a refusal of a request of the other node that is sent later is wrong.
    const refusedBefore = Math.max(...others.map(refusedOf))
    other.upAt = performance.now() - recoveryMillis
    other.isDown = false
    const before = { refused: waiting.map(refusedOf), served: sumOf(waiting, servedOf) }
    yield* untilAnswers(others, hang.settings === withoutBreaker ? 8 : 15)
    const refusedAtOnce = Math.min(...waiting.map((client, place) => refusedOf(client) - (before.refused[place] ?? 0)))
    const servedWhileHanging = sumOf(waiting, servedOf) - before.served

    const answer = yield* send(port, {
      method: "GET",
      path: "/api/v1/products?limit=1",
      token: waiting[0]?.token,
      headers: { host: new URL(base).host }
    })
    const text = answer.text.replace(/req_[0-9a-f-]{36}/, "req_")
    const refusal = { status: answer.status, retryAfter: answer.headers["retry-after"], text }

    // Publishes of the other node end while the node hangs.
    for (const client of others) client.isPaused = true
    yield* untilIdle(others)
    if (hang.settings !== withoutBreaker) yield* untilPublished(others)
    cluster.signal(1, "SIGCONT")
    hanging.upAt = performance.now()
    hanging.isDown = false
    yield* untilMore(waiting, 3)
    for (const client of clients) client.isPaused = true
    yield* untilIdle(clients)
    yield* untilPublished(clients)
    return {
      accounts: { waiting: waiting.length, others: others.length },
      volume: { writes: sumOf(clients, ({ writes }) => writes), reads: sumOf(clients, ({ reads }) => reads) },
      refusal,
      refusedAtFirst,
      refusedBefore,
      refusedAtOnce,
      refused: sumOf(waiting, refusedOf),
      refusedOthers: sumOf(others, refusedOf),
      servedWhileHanging,
      published: sumOf(others, ({ published }) => published),
      wrong: clients.flatMap(({ wrong }) => wrong),
      lost: lostWrites(clients, yield* productTitles)
    }
  }).pipe(Effect.scoped)

describe.skipIf(!canStart)("a worker that hangs", () => {
  it.live("delays only its accounts, which get 503 at once, and serves them again when it continues", () =>
    Effect.gen(function* () {
      const cluster = yield* ownCluster()
      const result = yield* hangWorker(cluster, { processes: "all", settings: {} }).pipe(
        Effect.provide(servicesOn(cluster))
      )
      const { lost, refusal, wrong, ...counts } = result
      report("A worker hanging", counts)
      assert.deepStrictEqual(wrong.slice(0, 10), [])
      assert.deepStrictEqual(lost, [])
      const message = "The service cannot reach its database at the moment; retry with exponential backoff."
      assert.deepStrictEqual(refusal, {
        status: 503,
        retryAfter: undefined,
        text: JSON.stringify({ error: { code: "unavailable", message, request_id: "req_" } })
      })
      assert.strictEqual(counts.refusedAtFirst, 0)
      assert.isAtMost(counts.refusedBefore, maxRefusedBefore)
      assert.strictEqual(counts.servedWhileHanging, 0)
      // Requests that wait for a deadline would be far fewer than those that the other node answers meanwhile.
      assert.isAtLeast(counts.refusedAtOnce, 6)
      assert.isAtLeast(counts.published, counts.accounts.others)
    }).pipe(Effect.scoped)
  )

  it.live("delays only its accounts while its postmaster accepts connections, and loses nothing", () =>
    Effect.gen(function* () {
      const cluster = yield* ownCluster()
      const hang: Hang = { processes: "backends", settings: {} }
      const result = yield* hangWorker(cluster, hang).pipe(Effect.provide(servicesOn(cluster)))
      const { lost, refusal, wrong, ...counts } = result
      report("The backends of a worker hanging", { ...counts, status: refusal.status })
      assert.deepStrictEqual(wrong.slice(0, 10), [])
      assert.deepStrictEqual(lost, [])
      assert.strictEqual(counts.refusedAtFirst, 0)
      assert.isAtMost(counts.refusedOthers, maxRefusedBefore)
      assert.isAtLeast(counts.published, counts.accounts.others)
    }).pipe(Effect.scoped)
  )

  for (const processes of ["all", "backends"] as const)
    it.live.runIf(processes === "all" || runsPlanted)(
      `planted fault: without checks of the nodes, limit and deadline of look-ups, other accounts wait (${processes})`,
      () =>
        Effect.gen(function* () {
          const cluster = yield* ownCluster()
          const { refusedOthers, wrong } = yield* hangWorker(cluster, { processes, settings: withoutBreaker }).pipe(
            Effect.provide(servicesOn(cluster))
          )
          if (processes === "all") assert.isAtLeast(wrong.filter((what) => what.startsWith("refused")).length, 3)
          else assert.isAbove(refusedOthers, maxRefusedBefore)
        }).pipe(Effect.scoped)
    )
})
