import { SqlClient } from "@effect/sql"
import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Clock, Effect, Fiber, Redacted, Schedule } from "effect"
import { type AccountId, AccountId as AccountIdOf, EntityId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ApiKeys, actingAs, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { productsOnStores } from "../bench/harness/Catalog.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { hangLimitOfLongTest } from "../support/HangLimit.ts"
import { readNodes } from "../support/ReadNodes.ts"
import { query } from "../support/RunDatabases.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { aLoadedAccount, loaded, lostWrites, productTitles } from "./AccountLoad.ts"
import { aClient, base, recoveryMillis, untilIdle, type WorkerState, walking, working } from "./ClusterClients.ts"
import { aDropperOf, dropping, lostDrops } from "./ClusterDrops.ts"
import { anExporterOf, exporting } from "./ClusterExports.ts"
import { aSupplierOf, supplying } from "./ClusterImports.ts"
import { aMerchantOf, lostWork, trading } from "./ClusterMerchants.ts"
import { doneOf } from "./ClusterPages.ts"
import { report } from "./Dice.ts"
import { directWrites } from "./DirectWrites.ts"
import { acknowledgeEarly, canStart, type OwnCluster, ownCluster, servicesOn, settingsOf } from "./OwnCluster.ts"
import { judgePublishingOf } from "./PublishJudge.ts"

const setting = (name: string, usual: number, long: number) => Number(process.env[name] ?? amount(usual, long))

/** Products of the large account, number of small accounts, and minutes of kills. */
const products = setting("CATALOG_TEST_PRODUCTS", 2_000, 1_000_000)
const accounts = setting("CATALOG_TEST_ACCOUNTS", 20, 1_000)
const minutes = setting("CATALOG_TEST_MINUTES", 1, 30)

const productsOfSmall = 20
/** Accounts whose users change products on pages, import and export them, and schedule drops. */
const merchantCount = 3
const supplierCount = 2
const dropperCount = 3
const userCount = merchantCount + supplierCount + dropperCount
const processCount = 2
/** How long a worker is down, and the pause after each kill. */
const downMillis = 3_000
const pauseMillis = 5_000

if (!canStart)
  console.warn("The suite that kills processes of a cluster is SKIPPED: no Citus cluster can be started here.")

/** Fills the large account before the tables are distributed. Nothing waits to be published. */
const fillLarge = async (url: string) => {
  await productsOnStores(products).fill(url)
  for (const table of ["entity", "store_version"])
    await query(url, `UPDATE ${table} SET last_publish_status = 'published' WHERE last_publish_status = 'pending'`)
}

/** Accounts whose products are written, published and read, the large one first, and accounts whose users work on pages. */
const makeClients = (cluster: OwnCluster, workers: ReadonlyMap<string, WorkerState>) =>
  Effect.gen(function* () {
    const [large] = yield* Effect.promise(() => query(cluster.url, "SELECT id FROM account"))
    const accountId = AccountIdOf.make(String(large?.id))
    const key = yield* (yield* ApiKeys).create(accountId, { name: "Test", scopes: ["pim:read"], expiresAt: null })
    const largeTally = yield* loaded({
      accountId,
      actor: { _tag: "Cli", accountId },
      token: Redacted.value(key.token)
    })
    const small = yield* Effect.forEach(Array.from({ length: accounts + userCount }), (_, place) =>
      Effect.gen(function* () {
        const tally = yield* aLoadedAccount(`Merchant ${place}`)
        const ids = yield* Effect.replicateEffect(mintId(EntityId), productsOfSmall - 1)
        yield* (yield* CatalogChanges)
          .apply(
            ids.map((id) =>
              CatalogChange.CreateEntity({ id, kind: "product", parentId: null, values: { title: "w0" } })
            )
          )
          .pipe(actingAs(tally.actor))
        return { tally, ids: new Set([tally.entityId, ...ids]) }
      })
    )
    const nodes = yield* readNodes
    const workerOf = (id: AccountId) => {
      const worker = workers.get(nodes.find((node) => node.accounts.some((each) => each.id === id))?.address ?? "")
      return worker ?? assert.fail(`account ${id} is on no worker`)
    }
    const all = yield* Effect.forEach([{ tally: largeTally, ids: undefined }, ...small], ({ ids, tally }) =>
      aClient(tally, workerOf(tally.accountId), ids)
    )
    const users = all.slice(-userCount)
    const [merchants, others] = Arr.splitAt(users, merchantCount)
    const [suppliers, droppers] = Arr.splitAt(others, supplierCount)
    return {
      clients: all.slice(0, -userCount),
      merchants: yield* Effect.forEach(merchants, aMerchantOf),
      suppliers: yield* Effect.forEach(suppliers, (client) =>
        Effect.all({ supplier: aSupplierOf(client), exporter: anExporterOf(client) })
      ),
      droppers: yield* Effect.forEach(droppers, aDropperOf)
    }
  })

/** A process of the service that can be killed and started again. */
const aProcess = (cluster: OwnCluster) =>
  Effect.gen(function* () {
    const start = Effect.promise(async () => {
      const port = await freePort()
      const settings = {
        ...settingsOf(cluster),
        BASE_URL: base,
        HOST: "127.0.0.1",
        PORT: String(port)
      }
      return { port, server: await serveCatalog(settings) }
    })
    let running = yield* start
    const outputs = [running.server.output]
    yield* Effect.addFinalizer(() => Effect.promise(() => running.server.stop("SIGKILL")))
    const served = { port: running.port, isUp: true }
    return Object.assign(served, {
      /** The log entries about the request that a text names by its id. Without an id: those of the second that the text names. */
      loggedAbout: (text: string) => {
        const named = /req_[0-9a-f-]{36}/.exec(text)?.[0] ?? / at (\d\d:\d\d:\d\d):/.exec(text)?.[1]
        return named === undefined
          ? []
          : // An entry has several lines: its message, its cause, and the id of the request.
            outputs.flatMap(({ stderr }) =>
              stderr.split(/\n(?=\[\d\d:\d\d:\d\d\.\d+\] )/).filter((entry) => entry.includes(named))
            )
      },
      /** Why the processes could not use the database, one line for each refusal that they logged. */
      refusals: () =>
        outputs.flatMap(
          ({ stderr }) => stderr.match(/(?:The database is unavailable|A statement was cancelled)[^"\n]*/g) ?? []
        ),
      kill: Effect.promise(() => {
        served.isUp = false
        return running.server.stop("SIGKILL")
      }),
      start: Effect.map(start, (started) => {
        running = started
        outputs.push(started.server.output)
        served.port = started.port
        served.isUp = true
      })
    })
  })

/** Kills processes of the service and workers in turns until the time is over and the users have done enough. */
const killing = (
  cluster: OwnCluster,
  processes: ReadonlyArray<Effect.Effect.Success<ReturnType<typeof aProcess>>>,
  workers: ReadonlyMap<string, WorkerState>,
  isEnough: () => boolean
) =>
  Effect.gen(function* () {
    const recoveries: Array<number> = []
    const kills = { processes: 0, workers: 0 }
    const endAt = performance.now() + minutes * 60_000
    for (let turn = 0; performance.now() < endAt || !isEnough(); turn++) {
      const victim = processes[turn % processes.length]
      if (victim !== undefined) {
        yield* victim.kill
        kills.processes += 1
        yield* Effect.sleep(pauseMillis / 5)
        yield* victim.start
      }
      yield* Effect.sleep(pauseMillis)
      const node = 1 + (turn % workers.size)
      const worker = workers.get(cluster.addressOf(node))
      if (worker === undefined) return assert.fail(`there is no worker ${node}`)
      worker.isDown = true
      worker.refusedAt = undefined
      cluster.kill(node)
      kills.workers += 1
      yield* Effect.sleep(downMillis)
      yield* cluster.start(node)
      worker.upAt = performance.now()
      worker.isDown = false
      yield* Effect.sleep(recoveryMillis + 1_000)
      recoveries.push(Math.max(0, Math.round((worker.refusedAt ?? 0) - worker.upAt)))
    }
    return { kills, recoveries }
  })

/** What happened to the accounts while processes and workers were killed. */
const underKills = (cluster: OwnCluster) =>
  Effect.gen(function* () {
    const slowest = yield* Effect.forEach([0, 1, 2], (node) => directWrites(cluster.urlOf(node)))
    const workers = new Map(
      [1, 2].map((node): [string, WorkerState] => [
        cluster.addressOf(node),
        {
          isDown: false,
          upAt: Number.NEGATIVE_INFINITY,
          refusedAt: undefined,
          slowestSince: (moment) => Math.max(...[0, node].map((each) => slowest[each]?.(moment) ?? 0))
        }
      ])
    )
    const startedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
    const { clients, droppers, merchants, suppliers } = yield* makeClients(cluster, workers)
    const importers = suppliers.map(({ supplier }) => supplier)
    const exporters = suppliers.map(({ exporter }) => exporter)
    const users = [...merchants, ...importers, ...exporters, ...droppers]
    const processes = yield* Effect.all(Array.from({ length: processCount }, () => aProcess(cluster)))
    const pace = { pauseMillis: Math.max(200, clients.length * 50), startedAt }
    for (const client of clients) yield* Effect.forkScoped(working(processes, client, pace))
    for (const merchant of merchants) yield* Effect.forkScoped(trading(processes, merchant, pace.pauseMillis))
    for (const { exporter, supplier } of suppliers) {
      yield* Effect.forkScoped(supplying(processes, supplier, pace.pauseMillis))
      yield* Effect.forkScoped(exporting(processes, exporter, supplier, pace.pauseMillis))
    }
    for (const dropper of droppers) yield* Effect.forkScoped(dropping(processes, dropper, pace.pauseMillis))
    let isOver = false
    const [large] = clients
    assert(large !== undefined)
    const walker = yield* Effect.forkScoped(walking(processes, large, products + 1, () => isOver))

    // A user who found a fault may have stopped.
    const isEnough = () =>
      users.some(({ wrong }) => wrong.length > 0) || Object.values(doneOf(users)).every((count) => count >= minutes)
    const { kills, recoveries } = yield* killing(cluster, processes, workers, isEnough)
    isOver = true
    for (const client of [...clients, ...users]) client.isPaused = true
    yield* untilIdle([...clients, ...users])
    const walks = yield* Fiber.join(walker)

    const sql = yield* SqlClient.SqlClient
    yield* sql`SELECT FROM publication WHERE state = 'pending' LIMIT 1`.pipe(
      Effect.repeat({ until: (waiting) => waiting.length === 0, schedule: Schedule.spaced("200 millis") })
    )
    const reasons: Record<string, number> = {}
    for (const reason of processes.flatMap(({ refusals }) => refusals())) reasons[reason] = (reasons[reason] ?? 0) + 1
    return {
      clients,
      work: doneOf(users),
      refusedImports: importers.flatMap(({ refusals }) => refusals),
      kills,
      reasons,
      recoveries,
      walks,
      verdicts: yield* Effect.forEach(clients, ({ accountId }) => judgePublishingOf(accountId)),
      lost: [
        ...lostWrites(clients, yield* productTitles),
        ...(yield* lostWork(merchants)),
        ...(yield* lostDrops(droppers))
      ],
      wrong: [...clients, ...users]
        .flatMap(({ accountId, wrong }) => wrong.map((what) => `${accountId} ${what}`))
        .map((what) => [what, ...processes.flatMap(({ loggedAbout }) => loggedAbout(what))].join("\n"))
    }
  }).pipe(Effect.scoped, Effect.provide(servicesOn(cluster)))

describe.skipIf(!canStart)("a large account beside small ones on a cluster", () => {
  it.live(
    `lose nothing in ${minutes} minutes in which processes and workers are killed`,
    () =>
      Effect.gen(function* () {
        const cluster = yield* ownCluster(fillLarge)
        const found = yield* underKills(cluster)
        const { clients, kills, lost, reasons, recoveries, refusedImports, verdicts, walks, work, wrong } = found
        const sum = (count: (client: (typeof clients)[number]) => number) => clients.map(count).reduce((a, b) => a + b)
        const refused = sum(({ refusedReads, refusedWrites }) => refusedReads + refusedWrites)
        // On a machine that has no processor time for the service, requests wait too long for a connection, whatever node they need. Such
        // refusals say nothing about nodes. `WorkerDown` proves that statements for a dead node leave connections to the others.
        const refusedWhileUp = wrong.filter((what) => / refused(?:Reads|Writes) after /.test(what))
        const unexplained = refusedWhileUp.filter((what) => !what.includes("no connection was free"))
        report("A cluster whose processes are killed", {
          products,
          accounts,
          minutes,
          kills,
          writes: sum(({ writes }) => writes),
          reads: sum(({ reads }) => reads),
          walks,
          work,
          refusedImports,
          publishes: sum(({ published }) => published),
          publications: verdicts.reduce((count, { volume }) => count + volume.published, 0),
          refused,
          reasons,
          refusedWhileUp: refusedWhileUp.length,
          withoutAnswer: sum(({ lostConnections }) => lostConnections),
          conflicts: sum(({ conflicts }) => conflicts),
          recoveredAfterMillis: recoveries
        })
        assert.deepStrictEqual(lost, [])
        assert.deepStrictEqual(wrong.filter((what) => !refusedWhileUp.includes(what)).slice(0, 60), [])
        for (const { volume, ...contradictions } of verdicts) {
          assert.deepStrictEqual(contradictions, {
            duplicates: [],
            failedButLive: [],
            publishedButNotLive: [],
            pending: [],
            overtaken: [],
            different: []
          })
          assert.strictEqual(volume.failed, 0)
        }
        for (const { published, reads, writes } of clients) assert.isTrue(writes >= 3 && reads >= 3 && published >= 1)
        for (const [name, count] of Object.entries(work)) assert.isAtLeast(count, minutes, name)
        assert.deepStrictEqual(unexplained.slice(0, 20), [])
        assert.isAtLeast(walks, 1)
        assert.isAtLeast(Math.min(kills.processes, kills.workers), Math.ceil(minutes))
        assert.isAbove(refused, 0)
      }).pipe(Effect.scoped),
    hangLimitOfLongTest
  )

  it.live.runIf(runsPlanted)(
    "planted fault: workers that acknowledge before their disk has the commit lose writes, which reads find",
    () =>
      Effect.gen(function* () {
        const cluster = yield* ownCluster(fillLarge)
        for (const node of [1, 2]) yield* Effect.promise(() => acknowledgeEarly(cluster, node))
        const { lost, wrong } = yield* underKills(cluster)
        report("A cluster whose processes are killed, planted", { lost: lost.length, wrong: wrong.slice(0, 10) })
        assert.isAtLeast(wrong.filter((what) => / read w\d+ after w\d+ was acknowledged/.test(what)).length, 1)
      }).pipe(Effect.scoped),
    hangLimitOfLongTest
  )
})
