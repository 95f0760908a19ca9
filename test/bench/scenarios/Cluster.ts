import { randomBytes, randomUUID } from "node:crypto"
import { Effect, Layer, Logger, ManagedRuntime, Redacted } from "effect"
import { AccessRepo } from "../../../src/access/AccessRepo.ts"
import { fromRandomBytes, lastFour } from "../../../src/access/ApiKeyToken.ts"
import { hashOf } from "../../../src/access/Secrets.ts"
import { layerWatch } from "../../../src/database/ClusterNodesRepo.ts"
import * as Database from "../../../src/database/Database.ts"
import { AccountId, EntityId } from "../../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { actingAs, CatalogChange, CatalogChanges } from "../../../src/testing/index.ts"
import { readNodes } from "../../support/ReadNodes.ts"
import { catalog, connected, postgresVersionOf, productsOnStores, recreate, urlOf } from "../harness/Catalog.ts"
import { distribute, withCluster } from "../harness/Cluster.ts"
import { ourSettings, serviceParameters } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { median, p99, spreadOf } from "../harness/Statistics.ts"
import { readPage, type WalkedPage, walk } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const database = "catalog_bench_beside_cluster"
const products = Number(process.env.BENCH_CLUSTER_PRODUCTS ?? 100_000)
const accounts = Number(process.env.BENCH_CLUSTER_ACCOUNTS ?? 1_000)
const productsOfSmall = 50
const limit = 50
const clients = 8
/** How often a round writes each product of one account. */
const writesOfEach = 8

const sides = ["plain", "cluster"] as const
type SideName = (typeof sides)[number]

/** An account with few products, and a key of it. */
interface SmallAccount {
  readonly accountId: AccountId
  readonly token: string
  readonly entityIds: ReadonlyArray<EntityId>
}

/** The accounts that every side has. */
const makeSmallAccounts = (): ReadonlyArray<SmallAccount> =>
  Array.from({ length: accounts }, () => ({
    accountId: AccountId.make(randomUUID()),
    token: fromRandomBytes((count) => randomBytes(count)),
    entityIds: Array.from({ length: productsOfSmall }, () => EntityId.make(randomUUID()))
  }))

/** Inserts the small accounts in one transaction. Their products are on three stores and were never published. */
const fillSmall = (url: string, small: ReadonlyArray<SmallAccount>): Promise<void> =>
  connected(url, async (client) => {
    const ids = small.map(({ accountId }) => accountId)
    await client.query("BEGIN")
    await client.query(
      "INSERT INTO account (id, name) SELECT id, 'Small ' || n FROM unnest($1::uuid[]) WITH ORDINALITY AS s (id, n)",
      [ids]
    )
    await client.query(
      `INSERT INTO account_state (account_id, version, change_seq, last_changed_at)
       SELECT id, $2::int, $2::int, timestamptz '2026-01-05 08:00Z' + $2::int * interval '1 s' FROM unnest($1::uuid[]) AS s (id)`,
      [ids, productsOfSmall]
    )
    await client.query("INSERT INTO import_lock (account_id) SELECT unnest($1::uuid[])", [ids])
    await client.query(
      `INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
       SELECT id, md5('store ' || s)::uuid, 'store-' || s || '.example', 'Store ' || s, 'none', 'en', '{en}', 'EUR'
       FROM unnest($1::uuid[]) AS a (id), generate_series(1, 3) s`,
      [ids]
    )
    await client.query(
      `INSERT INTO entity (account_id, id, kind, attributes, draft_revision, change_seq, canonical_changed_at, stamped_by,
                           created_at, pending_publish, store_ids, search_text)
       SELECT account_id, id, 'product',
              jsonb_build_object(
                'title', jsonb_build_object('type', 'single_line_text_field', 'value', 'Tent ' || n),
                'handle', jsonb_build_object('type', 'single_line_text_field', 'value', 'tent-' || n),
                'description_html', jsonb_build_object('type', 'html', 'value', '<p>' || repeat('A tent. ', 8) || '</p>')
              ),
              1, n, timestamptz '2026-01-05 08:00Z' + n * interval '1 s', pg_current_xact_id(),
              timestamptz '2026-01-05 08:00Z', true,
              (SELECT array_agg(md5('store ' || s)::uuid ORDER BY s) FROM generate_series(1, 3) s), ' tent ' || n
       FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS e (account_id, id, n)`,
      [
        small.flatMap(({ accountId, entityIds }) => entityIds.map(() => accountId)),
        small.flatMap(({ entityIds }) => entityIds),
        small.flatMap(({ entityIds }) => entityIds.map((_, place) => place + 1))
      ]
    )
    await client.query(
      `INSERT INTO store_version (account_id, entity_id, store_id)
       SELECT account_id, id, unnest(store_ids) FROM entity WHERE account_id = ANY($1::uuid[])`,
      [ids]
    )
    await client.query(
      `INSERT INTO api_key (account_id, id, hash, name, last_four, scopes)
       SELECT account_id, account_id, decode(hash, 'hex'), 'Benchmark', last_four, '{pim:read,pim:write}'
       FROM unnest($1::uuid[], $2::text[], $3::text[]) AS k (account_id, hash, last_four)`,
      [ids, small.map(({ token }) => hashOf(token)), small.map(({ token }) => lastFour(token))]
    )
    await client.query("COMMIT")
  })

/**
 * Fills an empty database with the large account and the small ones, and distributes it if it is on the cluster.
 * Returns the key of the large account.
 */
const prepare = async (name: SideName, url: string, small: ReadonlyArray<SmallAccount>): Promise<string> => {
  progress(`Filling ${name}: an account of ${whole(products)} products, ${whole(accounts)} of ${productsOfSmall}`)
  await catalog(url, "migrate")
  const { account, fill } = productsOnStores(products)
  await fill(url)
  await fillSmall(url, small)
  if (name === "cluster") await distribute(url)
  const accountId = await connected(url, async (client) => {
    await client.query("VACUUM (ANALYZE)")
    await client.query("CHECKPOINT")
    const found = await client.query<{ readonly id: string }>("SELECT id FROM account WHERE name = $1", [account])
    return String(found.rows[0]?.id)
  })
  const minted = await catalog(url, "key", "create", "--account", accountId, "--name", "Benchmark", "--json")
  return (JSON.parse(minted) as { readonly key: string }).key
}

/** The service's programs on a database, in this process. */
const programsOn = (url: string) =>
  ManagedRuntime.make(
    Services.pipe(
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(
        layerWatch(Effect.provide(readNodes, Database.layerServer({ url: Redacted.make(url), maxConnections: 1 })))
      ),
      Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 2 * clients })),
      Layer.provide(Logger.remove(Logger.defaultLogger))
    )
  )

interface Side {
  readonly name: SideName
  readonly token: string
  readonly server: ServerProcess
  readonly programs: ReturnType<typeof programsOn>
}

type Programs = ManagedRuntime.ManagedRuntime.Context<Side["programs"]>

interface Times {
  readonly perSecond: number
  readonly medianMillis: number
  readonly p99Millis: number
}

/** Runs a program once for each item, on behalf of this number of clients. */
const timed = <A>(
  { programs }: Side,
  items: ReadonlyArray<A>,
  concurrency: number,
  program: (item: A) => Effect.Effect<unknown, unknown, Programs>
): Promise<Times> => {
  const millis: Array<number> = []
  const each = (item: A) =>
    Effect.suspend(() => {
      const startedAt = performance.now()
      return Effect.map(program(item), () => {
        millis.push(performance.now() - startedAt)
      })
    })
  const startedAt = performance.now()
  return programs.runPromise(Effect.forEach(items, each, { concurrency, discard: true })).then(() => ({
    perSecond: (items.length / (performance.now() - startedAt)) * 1_000,
    medianMillis: median(millis),
    p99Millis: p99(millis)
  }))
}

type Walked = Readonly<Record<SideName, ReadonlyArray<WalkedPage>>>

interface Measure {
  readonly title: string
  /** How the cluster compares with the single server. */
  readonly compare: (cluster: Times, plain: Times) => number
  readonly target?: { readonly atLeast: number } | { readonly atMost: number }
  readonly run: (side: Side) => Promise<Times>
}

const rates: Measure["compare"] = (cluster, plain) => cluster.perSecond / plain.perSecond
const durations: Measure["compare"] = (cluster, plain) => cluster.medianMillis / plain.medianMillis

let writes = 0
/** Gives a product a title that it never had. */
const write = ({ accountId, entityId }: { readonly accountId: AccountId; readonly entityId: EntityId }) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    apply([CatalogChange.SetAttributes({ entityId, values: { title: `Tent, write ${++writes}` } })])
  ).pipe(actingAs({ _tag: "Cli", accountId }))

const lookUp = ({ token }: SmallAccount) =>
  Effect.flatMap(AccessRepo, ({ findCredentials, findVersions }) =>
    Effect.tap(findCredentials([hashOf(token)]), (found) =>
      findVersions?.find([...found.values()].map(({ accountId }) => accountId))
    )
  ).pipe(Effect.filterOrDieMessage((found) => found.size === 1, "The key was not found."))

const measuresOf = (load: Load, walked: Walked, small: ReadonlyArray<SmallAccount>): ReadonlyArray<Measure> => {
  const smallTargets = [limit, limit - 10].flatMap((rows) => small.map(() => `/api/v1/products?limit=${rows}`))
  const smallTokens = [limit, limit - 10].flatMap(() => small.map(({ token }) => token))
  const pages = async (
    { server, token }: Side,
    order: Pick<Parameters<Load["run"]>[0], "targets" | "lengths" | "tokens">
  ): Promise<Times> => {
    const result = await load.run({ url: server.url, token, connections: clients, headers: {}, status: 200, ...order })
    return { ...result, perSecond: (result.answers / result.elapsedMillis) * 1_000 }
  }
  const ofOne = small
    .slice(0, 1)
    .flatMap(({ accountId, entityIds }) =>
      Array.from({ length: writesOfEach }, () => entityIds.map((entityId) => ({ accountId, entityId }))).flat()
    )
  const ofEach = small.flatMap(({ accountId, entityIds }) =>
    entityIds.slice(1, 2).map((entityId) => ({ accountId, entityId }))
  )
  return [
    {
      title: "pages of one account",
      compare: rates,
      target: { atLeast: 0.8 },
      run: (side) =>
        pages(side, {
          targets: walked[side.name].map(({ target }) => target),
          lengths: walked[side.name].map(({ length }) => length)
        })
    },
    {
      title: `pages of ${whole(accounts)} accounts`,
      compare: rates,
      target: { atLeast: 0.8 },
      // Drafts are written in these accounts, so the lengths of their pages change.
      run: (side) => pages(side, { targets: smallTargets, tokens: smallTokens })
    },
    {
      title: "draft writes in one account",
      compare: rates,
      target: { atLeast: 0.6 },
      run: (side) => timed(side, ofOne, clients, write)
    },
    {
      title: `draft writes in ${whole(accounts)} accounts`,
      compare: rates,
      target: { atLeast: 0.6 },
      run: (side) => timed(side, ofEach, clients, write)
    },
    {
      title: "look-up of a key, 1 client",
      compare: durations,
      target: { atMost: 3 },
      run: (side) => timed(side, small, 1, lookUp)
    },
    {
      title: `look-up of a key, ${clients} clients`,
      compare: rates,
      run: (side) => timed(side, small, clients, lookUp)
    }
  ]
}

/** The pages of the large account on both sides, whose cursors differ. The rows of all accounts must be the same. */
const walkSides = async (
  both: Readonly<Record<SideName, Side>>,
  small: ReadonlyArray<SmallAccount>
): Promise<Walked> => {
  progress("Walking: both must give the same rows")
  const rowsOf = async ({ server, token }: Side) => ({
    large: await walk(server.url, token, { limit, lead: limit, rows: products }),
    small: await Promise.all(
      small.slice(0, 100).map((each) => readPage(server.url, each.token, `/api/v1/products?limit=${limit}`))
    )
  })
  const [plain, cluster] = [await rowsOf(both.plain), await rowsOf(both.cluster)]
  const differs = [...cluster.large, ...cluster.small].some(
    ({ rows }, place) => rows !== [...plain.large, ...plain.small][place]?.rows
  )
  if (differs) throw new Error("The cluster has other rows than the single server.")
  return { plain: plain.large, cluster: cluster.large }
}

type Round = Readonly<Record<SideName, Times>>

const reportOf = (measures: ReadonlyArray<Measure>, rounds: ReadonlyMap<Measure, ReadonlyArray<Round>>) => {
  const of = (measure: Measure, name: SideName, value: (times: Times) => number) =>
    median((rounds.get(measure) ?? []).map((round) => value(round[name])))
  return [
    table(
      [
        "median of the rounds",
        ...["a second", "median, ms", "p99, ms"].flatMap((unit) => sides.map((name) => `${name}, ${unit}`))
      ],
      measures.map((measure) => [
        measure.title,
        ...sides.map((name) => whole(of(measure, name, ({ perSecond }) => perSecond))),
        ...sides.map((name) => ratio(of(measure, name, ({ medianMillis }) => medianMillis))),
        ...sides.map((name) => ratio(of(measure, name, ({ p99Millis }) => p99Millis)))
      ])
    ),
    table(
      ["cluster / plain within a round", "of", "median", "min", "max", "target", "met"],
      measures.map((measure) => {
        const { compare, target, title } = measure
        const spread = spreadOf((rounds.get(measure) ?? []).map(({ cluster, plain }) => compare(cluster, plain)))
        const [shown, isMet] =
          target === undefined
            ? ["", ""]
            : "atLeast" in target
              ? [`≥ ${ratio(target.atLeast)}`, spread.median >= target.atLeast ? "yes" : "no"]
              : [`≤ ${ratio(target.atMost)}`, spread.median <= target.atMost ? "yes" : "no"]
        return [
          title,
          compare === rates ? "rate" : "time",
          ...[spread.median, spread.min, spread.max].map(ratio),
          shown,
          isMet
        ]
      })
    )
  ].join("\n\n")
}

/** The settings of a server that affect the comparison. */
const settingsOf = (url: string) =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly text: string }>(
      `SELECT string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name) AS text FROM pg_settings
       WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'wal_level')`
    )
    return rows[0]?.text
  })

const compareSides = async (urls: Readonly<Record<SideName, string>>, count: number): Promise<string> => {
  const small = makeSmallAccounts()
  const load = new Load()
  const opened: Array<Side> = []
  const open = async (name: SideName) => {
    const url = urls[name]
    const token = await prepare(name, url, small)
    const catalogOf = { url, token, accountId: "", products, postgresVersion: "" }
    const server = await ServerProcess.start(serviceParameters("serve"), ourSettings(catalogOf))
    const side = { name, token, server, programs: programsOn(url) }
    opened.push(side)
    return side
  }
  try {
    const both = { plain: await open("plain"), cluster: await open("cluster") }
    const measures = measuresOf(load, await walkSides(both, small), small)
    const rounds = new Map(measures.map((measure): [Measure, Array<Round>] => [measure, []]))
    for (let number = 0; number <= count; number++)
      for (const measure of measures) {
        const isPlainFirst = number % 2 === 0
        const first = await measure.run(isPlainFirst ? both.plain : both.cluster)
        const second = await measure.run(isPlainFirst ? both.cluster : both.plain)
        const [plain, cluster] = isPlainFirst ? [first, second] : [second, first]
        progress(
          `round ${number}, ${measure.title}: ${whole(plain.perSecond)} a second plain, ${whole(cluster.perSecond)} on the cluster`
        )
        // The first round warms up.
        if (number > 0) rounds.get(measure)?.push({ cluster, plain })
      }
    return [
      `One account of ${whole(products)} products and ${whole(accounts)} accounts of ${productsOfSmall} products, all on 3 stores, beside each other on a Citus cluster and on a single server (plain); ${clients} clients, pages of ${limit} rows; ${count} rounds, in turns. Pages go over HTTP; writes and look-ups are calls of the service's programs in the process of the benchmark.`,
      `Plain: ${await settingsOf(urls.plain)}. Coordinator: ${await settingsOf(urls.cluster)}.`,
      reportOf(measures, rounds)
    ].join("\n\n")
  } finally {
    await Promise.all(opened.map(({ server }) => server.stop()))
    await Promise.all(opened.map(({ programs }) => programs.dispose()))
    load.stop()
  }
}

/** Compares a Citus cluster on this machine with a single server that has the same rows. */
export const cluster: Scenario = {
  name: "cluster",
  title: "A cluster beside one server",
  run: async ({ rounds }) => {
    const plain = urlOf(database)
    const report = await withCluster(async (url) => {
      await recreate(database)
      return await compareSides({ plain, cluster: url }, rounds)
    })
    return {
      report: report ?? "Not measured: no Citus cluster can be started here.",
      postgresVersion: await postgresVersionOf(report === undefined ? urlOf("postgres") : plain)
    }
  }
}
