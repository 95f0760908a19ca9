import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Context, Effect, identity, Layer, Logger, Redacted, Ref, Schema } from "effect"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { readingAt } from "../../src/database/Replica.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { writeMetrics } from "../../src/telemetry/Exposition.ts"
import { actingAs, anAccount, anEntity, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { aConnectionTo, message, messageIn, send } from "../mcp/Connector.ts"
import { freePort } from "../support/FreePort.ts"
import { noServer, replicatedServer } from "../support/OwnServers.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { parseExposition, sumOf } from "../telemetry/Exposition.ts"
import { Dice, report, seed } from "./Dice.ts"
import { aTenant, client, paced, type Seen, serving, type Tenant, tally } from "./Stalls.ts"

if (noServer !== undefined) console.warn(`The suite of the read replica is SKIPPED: ${noServer}`)

/** Long enough for a read after a write to find the replica behind. */
const replayDelayMillis = 20

class Replicated extends Context.Tag("test/Replicated")<
  Replicated,
  Effect.Effect.Success<ReturnType<typeof replicatedServer>>
>() {}

const servicesOn = ({ readUrl, url }: { readonly url: string; readonly readUrl?: string }) =>
  Services.pipe(
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provideMerge(Migrations.layer),
    Layer.provideMerge(
      Database.layerServer({
        url: Redacted.make(url),
        readUrl: readUrl === undefined ? undefined : Redacted.make(readUrl),
        maxConnections: 12
      })
    ),
    Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
    Layer.orDie
  )

const outcomes = [
  "answered",
  "behind",
  "busy",
  "not_standby",
  "refused",
  "resting",
  "unanswered",
  "unreachable"
] as const
type Counts = Record<(typeof outcomes)[number], number>

/** How reads ended, by the text of the metrics. */
const countsIn = (text: string) =>
  Object.fromEntries(
    outcomes.map((outcome) => [outcome, sumOf(parseExposition(text), "catalog_replica_reads_total", { outcome })])
  ) as Counts

/** How reads ended since the last call. */
const makeSince = <E, R>(metrics: Effect.Effect<string, E, R>) =>
  Effect.map(Ref.make<Partial<Counts>>({}), (last) =>
    Effect.gen(function* () {
      const counts = countsIn(yield* metrics)
      const before = yield* Ref.getAndSet(last, counts)
      return Object.fromEntries(outcomes.map((each) => [each, counts[each] - (before[each] ?? 0)])) as Counts
    })
  )

/** A title says which writer wrote it, and in which of its transactions. */
const titleOf = (writer: number, turn: number) => `${writer} ${turn}`
const Page = Schema.parseJson(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ id: EntityId, title: Schema.String })),
    next_cursor: Schema.NullOr(Schema.String)
  })
)
const turnsIn = (rows: ReadonlyArray<{ readonly title: string }>) =>
  rows.map(({ title }) => {
    const [writer = 0, turn = 0] = title.split(" ").map(Number)
    return { writer, turn }
  })

const writers = 2
const productsEach = 10
const turns = amount(40, 400)

/**
 * Writers change all their products in each transaction, while readers read pages, walk, and read a product twice in one request.
 * `version`: the version that a request asks for, of the one that the primary has.
 */
const race = (name: string, version: (primary: number) => number = identity) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const sql = yield* SqlClient.SqlClient
    const catalog = yield* Catalog
    const { apply } = yield* CatalogChanges
    const since = yield* makeSince(Effect.sync(writeMetrics))
    const ids = yield* Effect.forEach(Arr.range(0, writers - 1), (writer) =>
      Effect.forEach(Arr.range(1, productsEach), () => anEntity("product", { title: titleOf(writer, 0) }))
    ).pipe(actingAs(actor))
    /** The last turn of each writer that was acknowledged. */
    const done = ids.map(() => 0)
    let writing = writers
    yield* since

    const write = (writer: number) =>
      Effect.gen(function* () {
        const dice = new Dice(`${name}, writer ${writer}`)
        for (let turn = 1; turn <= turns; turn++) {
          yield* apply(
            (ids[writer] ?? []).map((entityId) =>
              CatalogChange.SetAttributes({ entityId, values: { title: titleOf(writer, turn) } })
            )
          )
          done[writer] = turn
          yield* Effect.sleep(dice.below(250))
        }
        writing -= 1
      })

    const found = { stale: 0, mixed: 0, back: 0, undone: 0, skipped: 0 }
    const volume = { pages: 0, walks: 0, pairs: 0 }

    const read = (reader: number) =>
      Effect.gen(function* () {
        const dice = new Dice(`${name}, reader ${reader}`)
        const seen = ids.map(() => 0)
        /** A request: it learns the account's version with its key, then reads. */
        const request = Effect.gen(function* () {
          const [state] = yield* sql<{ version: number }>`
            SELECT version FROM account_state WHERE account_id = ${accountId}`
          return readingAt(accountId, version(Number(state?.version)))
        })
        const page = (limit: number, cursor: string | null) =>
          Effect.gen(function* () {
            const acknowledged = [...done]
            const at = yield* request
            const listed = yield* at(catalog.list("product", { limit, ...(cursor !== null && { cursor }) }))
            const rows = yield* Schema.decode(Page)(listed.text)
            const marks = turnsIn(rows.data)
            volume.pages++
            if (marks.some(({ turn, writer }) => turn < (acknowledged[writer] ?? 0))) found.stale++
            if (marks.some(({ turn, writer }) => turn < (seen[writer] ?? 0))) found.back++
            for (const writer of ids.keys()) {
              const own = new Set(marks.filter((mark) => mark.writer === writer).map(({ turn }) => turn))
              if (own.size > 1) found.mixed++
              seen[writer] = Math.max(seen[writer] ?? 0, ...own)
            }
            return rows
          })
        while (writing > 0) {
          yield* page(250, null)
          const walked = new Set<EntityId>()
          let cursor: string | null = null
          do {
            const { data, next_cursor }: typeof Page.Type = yield* page(7, cursor)
            for (const { id } of data) walked.add(id)
            cursor = next_cursor
            yield* Effect.sleep(dice.below(10))
          } while (cursor !== null)
          volume.walks++
          if (walked.size < writers * productsEach) found.skipped++
          const id = dice.pick(dice.pick(ids))
          const at = yield* request
          const one = Effect.map(catalog.get("product", id), ({ title }) => turnsIn([{ title }])[0]?.turn ?? 0)
          const pause = Effect.sleep(dice.below(2 * replayDelayMillis))
          const [first, second] = yield* at(Effect.all([one, Effect.zipRight(pause, one)]))
          volume.pairs++
          if (second < first) found.undone++
        }
      })

    yield* Effect.all(
      [
        Effect.forEach(ids.keys(), write, { concurrency: "unbounded" }),
        Effect.forEach(Arr.range(1, 3), read, { concurrency: "unbounded" })
      ],
      { concurrency: "unbounded" }
    ).pipe(actingAs(actor))
    const counts = yield* since
    report(name, { found, ...volume, ...counts })
    return { found, volume, counts }
  })

const nothing = { stale: 0, mixed: 0, back: 0, undone: 0, skipped: 0 }

/** A process of the service that reads from the replica. `since`: how its reads ended since the last call. */
const aProcess = Effect.gen(function* () {
  const { readUrl, url } = yield* Replicated
  const port = yield* Effect.promise(freePort)
  const { baseUrl } = yield* serving(url, { DATABASE_READ_URL: readUrl, METRICS_PORT: String(port) })
  const metrics = Effect.promise(() => fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text()))
  const since = yield* makeSince(metrics)
  yield* since
  return { baseUrl, since, ...client(baseUrl) }
})

const reads = amount(60, 400)

/** The value that the tenant's product has on its store, by REST. */
const valueOf = ({ body }: Seen): string | undefined =>
  JSON.parse(body).attributes.find(({ key }: { readonly key: string }) => key === "description_html")?.value

const allOk = (name: string, seen: ReadonlyArray<Seen>, count: number) =>
  assert.strictEqual(tally(name, seen).ok, count, seen.find(({ status }) => status !== 200)?.body)

describe.skipIf(noServer !== undefined)("reads from a replica", () => {
  layer(Layer.scoped(Replicated, replicatedServer(replayDelayMillis)), { excludeTestServices: true })((it) => {
    it.scoped("never go back or mix versions under writers", () =>
      Effect.gen(function* () {
        const services = yield* Layer.build(servicesOn(yield* Replicated))
        const { counts, found, volume } = yield* Effect.provide(race("Replica"), services)
        assert.deepStrictEqual(found, nothing, `seed ${seed}`)
        assert.isAtLeast(volume.walks, turns / 2)
        assert.isAtLeast(volume.pairs, turns / 2)
        // The replica answers and falls behind, both often.
        assert.isAtLeast(counts.answered, volume.pages / 5)
        assert.isAtLeast(counts.behind, volume.pages / 50)
      })
    )

    it.scoped.runIf(runsPlanted)("go back without the check of versions (planted fault)", () =>
      Effect.gen(function* () {
        const services = yield* Layer.build(servicesOn(yield* Replicated))
        const unchecked = yield* Effect.provide(
          race("Replica, no check (planted)", () => 0),
          services
        )
        assert.isAtLeast(unchecked.counts.answered, unchecked.volume.pages / 5)
        assert.isAbove(unchecked.found.stale, 0, `seed ${seed}`)
      })
    )

    it.scoped("use a replica whose replay is paused only for accounts that have not changed since, also over MCP", () =>
      Effect.gen(function* () {
        const { caughtUp, onReplica, url } = yield* Replicated
        const services = yield* Layer.build(servicesOn({ url }))
        const { baseUrl, fill, get, read, since } = yield* aProcess
        const [changed, unchanged] = yield* Effect.provide(Effect.all([aTenant(reads), aTenant(reads)]), services)
        const connect = ({ accountId }: Tenant) => aConnectionTo(baseUrl, accountId, "pim:read")
        const agents = yield* Effect.provide(Effect.all([connect(changed), connect(unchanged)]), services)
        const readAll = ({ ids, storeId, token }: Tenant) =>
          paced(reads, 0, (place) => get(`/api/v1/products/${ids[place]}/stores/${storeId}`, token))
        const call = (token: string) => {
          const { body, headers } = message("modern", "tools/call", { name: "list_products_v1", arguments: {} })
          return Effect.map(send(Number(new URL(baseUrl).port), { token, body, headers }), messageIn)
        }
        yield* caughtUp
        // The first connections to the replica can take longer than a read waits for it. The replica then rests for 5 s.
        const both = yield* Effect.promise(() => readAll(changed)).pipe(
          Effect.map((seen) => allOk("Replica, both", seen, reads)),
          Effect.zipRight(since),
          Effect.delay("500 millis"),
          Effect.repeat({ until: ({ answered }) => answered >= reads })
        )
        assert.strictEqual(both.behind, 0)

        yield* onReplica("SELECT pg_wal_replay_pause()")
        const written = yield* Effect.promise(() =>
          paced(reads, 0, (place) => fill(changed, changed.ids[place] ?? assert.fail(), `<p>${place}</p>`))
        )
        allOk("Replica, writes", written, reads)
        assert.strictEqual((yield* since).answered, 0)

        const news = yield* Effect.promise(() => readAll(changed))
        allOk("Replica, changed", news, reads)
        assert.deepStrictEqual(
          news.map(valueOf),
          news.map((_, place) => `<p>${place}</p>`)
        )
        const ofChanged = yield* since
        assert.strictEqual(ofChanged.behind, reads)
        assert.strictEqual(ofChanged.answered, 0)

        const olds = yield* Effect.promise(() => paced(reads, 0, () => read(unchanged)))
        allOk("Replica, unchanged", olds, reads)
        const ofUnchanged = yield* since
        assert.isAtLeast(ofUnchanged.answered, reads)
        assert.strictEqual(ofUnchanged.behind, 0)

        const [late, current] = yield* Effect.all(agents.map(({ token }) => call(token)))
        assert.strictEqual(late.result.structuredContent.data.length, 50)
        assert.strictEqual(current.result.structuredContent.data.length, 50)
        const ofAgents = yield* since
        assert.strictEqual(ofAgents.behind, 1)
        assert.isAtLeast(ofAgents.answered, 1)

        yield* onReplica("SELECT pg_wal_replay_resume()")
        yield* caughtUp
        const again = yield* Effect.promise(() => paced(reads, 0, () => read(changed)))
        allOk("Replica, caught up", again, reads)
        const resumed = yield* since
        assert.isAtLeast(resumed.answered, reads)
        assert.strictEqual(resumed.behind, 0)
      })
    )

    it.scoped("fail no request when the replica hangs, is killed, or is promoted", () =>
      Effect.gen(function* () {
        const { caughtUp, freeze, kill, promote, restart, thaw, url } = yield* Replicated
        const services = yield* Layer.build(servicesOn({ url }))
        const tenant = yield* Effect.provide(aTenant(5), services)
        const { read, since } = yield* aProcess
        const readSome = (name: string, apartMillis = 10) =>
          Effect.promise(() => paced(reads, apartMillis, () => read(tenant))).pipe(
            Effect.map((seen) => allOk(name, seen, reads))
          )
        /** Reads until the replica answers again. */
        const answersAgain = Effect.repeat(Effect.zipRight(readSome("Replica, again", 50), since), {
          until: ({ answered }) => answered > 0
        })
        yield* caughtUp
        yield* readSome("Replica, before")
        assert.isAtLeast((yield* since).answered, reads)

        yield* freeze
        yield* readSome("Replica, hangs")
        const frozen = yield* since
        assert.isAtLeast(frozen.unanswered, 1)
        assert.isAtLeast(frozen.resting, reads / 2)
        assert.strictEqual(frozen.answered, 0)
        yield* thaw
        yield* answersAgain

        yield* kill
        yield* readSome("Replica, killed")
        const killed = yield* since
        assert.isAtLeast(killed.unreachable + killed.unanswered, 1)
        assert.isAtLeast(killed.resting, reads / 2)
        assert.strictEqual(killed.answered, 0)
        yield* restart
        yield* answersAgain

        yield* promote
        yield* readSome("Replica, promoted")
        const promoted = yield* since
        assert.isAtLeast(promoted.not_standby, 1)
        assert.strictEqual(promoted.answered, 0)
      })
    )
  })
})
