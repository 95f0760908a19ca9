import type pg from "pg"
import { Agent, request } from "undici"
import { HealthDimension } from "../../../src/health/Health.ts"
import { connected } from "../harness/Catalog.ts"
import { withCluster } from "../harness/Cluster.ts"
import { serviceParameters } from "../harness/Contenders.ts"
import { type HealthCatalog, openHealthCatalog } from "../harness/HealthCatalog.ts"
import { megabytesOf, ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** A smaller number is for trying the benchmark only: the targets apply to this number. */
const products = Number(process.env.BENCH_HEALTH_PRODUCTS ?? 100_000)
/** Whether scans are measured on a cluster instead of one server. */
const isOnCluster = process.env.BENCH_HEALTH_CLUSTER === "1"
const budget = "999999999"

/** The service on such a catalog, in a process of its own. */
interface Service {
  readonly catalog: HealthCatalog
  readonly pid: number | undefined
  /** Milliseconds until the complete answer has arrived. The answer must be 200. */
  readonly ask: (
    target: string,
    body?: unknown
  ) => Promise<{ readonly millis: number; readonly answer: Record<string, unknown> }>
}

const withService = async <A>(
  use: (service: Service) => Promise<A>,
  cluster?: string
): Promise<{ readonly result: A; readonly postgresVersion: string }> => {
  const catalog = await openHealthCatalog(products, cluster)
  const server = await ServerProcess.start(serviceParameters("serve"), {
    DATABASE_URL: catalog.url,
    RATE_LIMIT_PER_KEY: budget,
    RATE_LIMIT_PER_ACCOUNT: budget
  })
  const dispatcher = new Agent({ connections: 8, headersTimeout: 600_000, bodyTimeout: 600_000 })
  const ask: Service["ask"] = async (target, body) => {
    const startedAt = performance.now()
    const response = await request(`${server.url}/api/v1${target}`, {
      dispatcher,
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${catalog.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.body.text()
    const millis = performance.now() - startedAt
    if (response.statusCode !== 200) throw new Error(`${target} was answered ${response.statusCode}: ${text}`)
    return { millis, answer: JSON.parse(text) }
  }
  try {
    return {
      result: await use({ catalog, pid: server.pid, ask }),
      postgresVersion: catalog.postgresVersion
    }
  } finally {
    await dispatcher.close()
    await server.stop()
  }
}

const timed = async (work: () => Promise<unknown>) => {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** A row of the table with the ratios of all rounds. */
const lineOf = (name: string, ratios: ReadonlyArray<number>, atMost: number) => {
  const { max, median: middle, min } = spreadOf(ratios)
  return [name, ratio(middle), ratio(min), ratio(max), `≤ ${ratio(atMost)}`, middle <= atMost ? "yes" : "no"]
}
const head = ["", "median", "min", "max", "target", "met"]

const children = "LEFT JOIN entity c ON c.account_id = e.account_id AND c.parent_id = e.id"
const gallery = "LEFT JOIN entity_media g ON g.account_id = e.account_id AND g.entity_id = e.id"
/** The lower limit for reading the rows of a dimension: counting their join. */
const joinOf: Readonly<Record<HealthDimension, string>> = {
  sync: `${children} ${gallery}`,
  completeness: "",
  structure: children,
  divergence: "",
  media: gallery,
  translations: `
    JOIN translatable_field f ON f.account_id = v.account_id AND f.store_id = v.store_id AND f.entity_id = v.entity_id
    LEFT JOIN translation t ON t.account_id = f.account_id AND t.store_id = f.store_id AND t.entity_id = f.entity_id AND t.key = f.key`
}

const countJoin = (client: pg.Client, accountId: string, dimension: HealthDimension) =>
  client.query(
    `SELECT count(*) FROM store_version v
     JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
     JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id
     ${joinOf[dimension]}
     WHERE v.account_id = $1`,
    [accountId]
  )

const changesBetween = 1_000

/** Makes the next scan a full scan. */
const forgetBases = (client: pg.Client, accountId: string) =>
  client.query("UPDATE health_base SET fingerprint = '' WHERE account_id = $1", [accountId])

/**
 * Changes this number of products by single writes: each gets another title on its first store, a version and a note. The statements
 * are such that a cluster runs them too.
 */
const changeProducts = async (client: pg.Client, accountId: string, title: string) => {
  const { rows } = await client.query<{ readonly id: string; readonly store: string }>(
    `SELECT id, store_ids[1] AS store FROM entity WHERE account_id = $1 AND kind = 'product'
     ORDER BY md5(id::text || $2) LIMIT $3`,
    [accountId, title, changesBetween]
  )
  const ids = rows.map(({ id }) => id)
  const titles = rows.map((_, index) =>
    JSON.stringify({ title: { type: "single_line_text_field", value: `${title}${index + 1}` } })
  )
  await client.query("BEGIN")
  await client.query(
    `UPDATE store_version v SET pending_publish = true, overrides = v.overrides || p.title
     FROM unnest($2::uuid[], $3::uuid[], $4::jsonb[]) AS p (id, store, title)
     WHERE v.account_id = $1 AND v.entity_id = p.id AND v.store_id = p.store`,
    [accountId, ids, rows.map(({ store }) => store), titles]
  )
  await client.query("UPDATE entity SET pending_publish = true WHERE account_id = $1 AND id = ANY($2::uuid[])", [
    accountId,
    ids
  ])
  await client.query(
    `INSERT INTO change_note (account_id, version, last_seq, at, entities, skus, moved)
     SELECT a.account_id, a.version + p.n, -(a.version + p.n), $3::timestamptz, ARRAY[p.id], '{}', '[]'
     FROM account_state a CROSS JOIN unnest($2::uuid[]) WITH ORDINALITY AS p (id, n)
     WHERE a.account_id = $1`,
    [accountId, ids, new Date().toISOString()]
  )
  await client.query("UPDATE account_state SET version = version + $2 WHERE account_id = $1", [
    accountId,
    changesBetween
  ])
  await client.query("COMMIT")
}

const maxScanRatio = 8
const maxGrowthMegabytes = 50

/** Measures full scans and scans after changes. `count`: number of rounds. */
const measureScans =
  (count: number) =>
  async ({ ask, catalog, pid }: Service) => {
    await ask("/data-health")
    const before = megabytesOf(pid, "VmHWM")
    const figures = new Map<HealthDimension, Array<{ scan: number; join: number; rows: number; again: number }>>()
    await connected(catalog.url, async (client) => {
      for (let round = 0; round <= count; round++)
        for (const dimension of HealthDimension.literals) {
          const join = await timed(() => countJoin(client, catalog.accountId, dimension))
          await forgetBases(client, catalog.accountId)
          const { answer, millis } = await ask("/data-health/scans", { dimension })
          await changeProducts(client, catalog.accountId, `${dimension} ${round} `)
          const { millis: again } = await ask("/data-health/scans", { dimension })
          const { by_section } = answer.result as { readonly by_section: ReadonlyArray<{ readonly rows: number }> }
          const rows = by_section.reduce((sum, each) => sum + each.rows, 0)
          progress(
            `round ${round}, ${dimension}: scan ${whole(millis)} ms, join ${whole(join)} ms, ${whole(rows)} rows; after ${whole(changesBetween)} changes ${whole(again)} ms`
          )
          // The first round fills caches.
          if (round > 0)
            figures.set(dimension, [...(figures.get(dimension) ?? []), { scan: millis, join, rows, again }])
        }
    })
    const grown = megabytesOf(pid, "VmHWM") - before
    return [
      `${whole(products)} products of one variant on 3 stores with ${whole(products / 2)} media; ${count} rounds, each full scan after a count of the join that it reads, and an incremental scan after ${whole(changesBetween)} of the products changed. Memory is the most that the process held, less what it held at most before the first scan.`,
      table(
        ["", "full scan, ms", "after changes, ms", "join, ms", "rows written", ...head.slice(1)],
        [...figures].map(([dimension, all]) => {
          const [name = "", ...rest] = lineOf(
            dimension,
            all.map(({ join, scan }) => scan / join),
            maxScanRatio
          )
          return [
            name,
            whole(median(all.map(({ scan }) => scan))),
            whole(median(all.map(({ again }) => again))),
            whole(median(all.map(({ join }) => join))),
            whole(all[0]?.rows ?? 0),
            ...rest
          ]
        })
      ),
      `Memory gained: ${whole(grown)} MB (target < ${maxGrowthMegabytes}: ${grown < maxGrowthMegabytes ? "met" : "not met"}).`
    ].join("\n\n")
  }

/**
 * Compares a full scan with counting the join of the rows that it reads, and measures the incremental scan after a
 * change of a thousand products.
 */
export const healthScans: Scenario = {
  name: "health-scans",
  title: "Data health: scans",
  run: async ({ rounds }) => {
    const measure = (cluster?: string) => withService(measureScans(rounds), cluster)
    const measured = isOnCluster ? await withCluster(measure) : await measure()
    if (measured === undefined) throw new Error("No Citus cluster can be started here.")
    return { report: measured.result, postgresVersion: measured.postgresVersion }
  }
}

/** So small that the rows of one store fill more than a thousand pages with 100,000 products. */
const pageSize = 9
const pagesARound = 40

/** Compares page 10,000 (or the last page) with the first one. */
export const healthPages: Scenario = {
  name: "health-pages",
  title: "Data health: pages of issues",
  run: async ({ rounds: count }) => {
    const { postgresVersion, result } = await withService(async ({ ask, catalog }) => {
      const section = "completeness-recommended"
      const { answer } = await ask("/data-health/scans", { dimension: "completeness" })
      const { by_section } = answer.result as {
        readonly by_section: ReadonlyArray<{ readonly section: string; readonly rows: number }>
      }
      const rows = by_section.find((each) => each.section === section)?.rows ?? 0
      const [storeId] = catalog.storeIds
      const narrowings = [
        { name: "of the account", query: "", rows },
        { name: "of one store", query: `&store_id=${storeId}`, rows: Math.floor(rows / catalog.storeIds.length) }
      ]
      const lines: Array<ReadonlyArray<string>> = []
      await connected(catalog.url, async (client) => {
        for (const { name, query, rows } of narrowings) {
          const far = Math.min(10_000, Math.floor(rows / pageSize) - pagesARound)
          if (far < pagesARound) throw new Error(`${rows} rows are too few for pages that are far.`)
          const ratios: Array<number> = []
          for (let round = 0; round <= count; round++) {
            const ask40 = async (first: number) => {
              const millis: Array<number> = []
              for (let page = first; page < first + pagesARound; page++)
                millis.push(
                  (await ask(`/data-health/issues?section=${section}&page=${page}&page_size=${pageSize}${query}`))
                    .millis
                )
              return median(millis)
            }
            const near = await ask40(1)
            const away = await ask40(far)
            progress(`round ${round}, ${name}: page 1 ${near.toFixed(2)} ms, page ${far} ${away.toFixed(2)} ms`)
            if (round > 0) ratios.push(away / near)
            // A process caches answers for one version of the account, so the version is raised.
            await client.query("UPDATE account_state SET version = version + 1 WHERE account_id = $1", [
              catalog.accountId
            ])
          }
          lines.push(lineOf(`${name}, page ${whole(far)} / page 1`, ratios, 1.5))
        }
      })
      return [
        `${whole(rows)} rows, ${pageSize} a page; medians of ${pagesARound} pages from there on, each asked for once; ${count} rounds.`,
        table(head, lines)
      ].join("\n\n")
    })
    return { report: result, postgresVersion }
  }
}

const operationsEach = 500

/** The table changes of a batch written by hand: raised drafts with their search text, and history. */
const raiseByHand = async (
  client: pg.Client,
  accountId: string,
  field: string,
  value: string,
  ids: ReadonlyArray<string>
) => {
  await client.query(
    `WITH raised AS (UPDATE account_state SET version = version + 1 WHERE account_id = $1)
     UPDATE entity SET draft_revision = draft_revision + 1, pending_publish = true, search_text = search_text || $3
     WHERE account_id = $1 AND id = ANY($2::uuid[])`,
    [accountId, ids, `\n ${value.toLowerCase()}`]
  )
  await client.query(
    `INSERT INTO entity_history (account_id, entity_id, draft_revision, store_id, action, changes, actor_kind, sequence)
     SELECT v.account_id, v.entity_id, e.draft_revision, v.store_id, 'attributes',
            jsonb_build_array(jsonb_build_object('key', $3::text, 'old', '', 'new', $4::text)), 'cli',
            (SELECT coalesce(max(h.sequence), 0) FROM entity_history h WHERE h.account_id = $1 AND h.entity_id = v.entity_id)
              + row_number() OVER (PARTITION BY v.entity_id)
     FROM store_version v JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id
     WHERE v.account_id = $1 AND v.entity_id = ANY($2::uuid[]) AND v.overrides -> $3::text ->> 'value' = $4`,
    [accountId, ids, field, value]
  )
  await client.query("COMMIT")
}

/** The batch by hand, as a script would do it: lock in order, check, write, raise and record, each in one statement. */
const fillByHand = async (client: pg.Client, accountId: string, storeId: string, ids: ReadonlyArray<string>) => {
  await client.query("BEGIN")
  await client.query(
    "SELECT id FROM entity WHERE account_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE",
    [accountId, ids]
  )
  const { rows } = await client.query<{ readonly id: string }>(
    `SELECT e.id FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id AND v.store_id = $3
     WHERE e.account_id = $1 AND e.id = ANY($2::uuid[])
       AND coalesce(v.overrides #>> '{vendor,value}', e.attributes #>> '{vendor,value}', '') = ''`,
    [accountId, ids, storeId]
  )
  const empty = rows.map(({ id }) => id)
  await client.query(
    `UPDATE store_version SET pending_publish = true,
       overrides = overrides || jsonb_build_object('vendor', jsonb_build_object('type', 'single_line_text_field', 'value', 'Tarn'))
     WHERE account_id = $1 AND store_id = $3 AND entity_id = ANY($2::uuid[])`,
    [accountId, empty, storeId]
  )
  await raiseByHand(client, accountId, "vendor", "Tarn", empty)
  return empty.length
}

const reconcileByHand = async (client: pg.Client, accountId: string, ids: ReadonlyArray<string>) => {
  await client.query("BEGIN")
  await client.query(
    "SELECT id FROM entity WHERE account_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR NO KEY UPDATE",
    [accountId, ids]
  )
  const { rows } = await client.query<{ readonly id: string }>(
    `SELECT e.id FROM entity e JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
     WHERE e.account_id = $1 AND e.id = ANY($2::uuid[])
     GROUP BY e.id
     HAVING count(DISTINCT coalesce(v.overrides #>> '{title,value}', e.attributes #>> '{title,value}', '')) > 1`,
    [accountId, ids]
  )
  const divergent = rows.map(({ id }) => id)
  await client.query(
    `UPDATE store_version SET pending_publish = true,
       overrides = overrides || jsonb_build_object('title', jsonb_build_object('type', 'single_line_text_field', 'value', 'One'))
     WHERE account_id = $1 AND entity_id = ANY($2::uuid[])`,
    [accountId, divergent]
  )
  await raiseByHand(client, accountId, "title", "One", divergent)
  return divergent.length
}

const maxRemedyRatio = 3
const variantsAdded = 100
const maxVariantsRatio = 10

/** Gives each product more variants, each published on all stores. Triggers do not run, so the rows need no stamps. */
const addVariants = async (client: pg.Client, accountId: string, products: ReadonlyArray<string>) => {
  await client.query("BEGIN")
  await client.query("SET LOCAL session_replication_role = replica")
  await client.query(
    `WITH added AS (
       INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, last_publish_status, search_text)
       SELECT $1, gen_random_uuid(), 'variant', p.id, 1000 + n, jsonb_build_object(
                'sku', jsonb_build_object('type', 'single_line_text_field', 'value', 'MANY-' || n),
                'price', jsonb_build_object('type', 'money', 'value', '10.00')), 'published', ' many - ' || n
       FROM unnest($2::uuid[]) AS p (id) CROSS JOIN generate_series(1, ${variantsAdded}) AS n
       RETURNING id, attributes
     )
     INSERT INTO store_version (account_id, entity_id, store_id, overrides, accepted, last_publish_status, published_at)
     SELECT $1, a.id, s.id, '{}', jsonb_build_object('attributes', a.attributes), 'published', app_now()
     FROM added a CROSS JOIN store s WHERE s.account_id = $1`,
    [accountId, products]
  )
  await client.query("COMMIT")
}

/** Compares a batch with the same changes made by five SQL statements, and with one on products that have many variants. */
export const healthRemedies: Scenario = {
  name: "health-remedies",
  title: "Data health: remedies",
  run: async ({ rounds: count }) => {
    const { postgresVersion, result } = await withService(async ({ ask, catalog }) => {
      const { accountId, storeIds, url } = catalog
      const [storeId = ""] = storeIds
      const ratios = { fills: [] as Array<number>, reconciles: [] as Array<number> }
      const millis = { fills: [] as Array<number>, reconciles: [] as Array<number> }
      const ofManyVariants: Array<number> = []
      await connected(url, async (client) => {
        const { rows } = await client.query<{ readonly id: string }>(
          `SELECT id FROM entity WHERE account_id = $1 AND kind = 'product' AND change_seq % 100 NOT IN (5, 12) ORDER BY md5(id::text)`,
          [accountId]
        )
        const ids = rows.map(({ id }) => id)
        const emptyVendors = (some: ReadonlyArray<string>) =>
          client.query(
            `UPDATE store_version SET overrides = overrides || '{"vendor": {"type": "single_line_text_field", "value": ""}}'
             WHERE account_id = $1 AND store_id = $2 AND entity_id = ANY($3::uuid[])`,
            [accountId, storeId, some]
          )
        const ownTitles = (some: ReadonlyArray<string>) =>
          client.query(
            `UPDATE store_version SET overrides = overrides || jsonb_build_object('title', jsonb_build_object(
               'type', 'single_line_text_field', 'value', store_id::text))
             WHERE account_id = $1 AND entity_id = ANY($2::uuid[])`,
            [accountId, some]
          )
        const take = () => {
          const some = ids.splice(0, operationsEach)
          if (some.length < operationsEach) throw new Error("There are too few products for so many rounds.")
          return some
        }
        const fill = async (some: ReadonlyArray<string>) => {
          const operations = some.map((entity_id) => ({ entity_id, store_id: storeId, field: "vendor", value: "Tarn" }))
          const { answer, millis } = await ask("/data-health/completeness-fills", {
            entity_type: "product",
            operations
          })
          if (answer.filled !== operationsEach) throw new Error(`${answer.filled} were filled.`)
          return millis
        }
        for (let round = 0; round <= count; round++) {
          const [ours, theirs, disputed, alike, wide] = [take(), take(), take(), take(), take()]
          await emptyVendors([...ours, ...theirs, ...wide])
          await addVariants(client, accountId, wide)
          await ownTitles([...disputed, ...alike])
          const byHand = await timed(async () => {
            const filled = await fillByHand(client, accountId, storeId, theirs)
            if (filled !== operationsEach) throw new Error(`By hand ${filled} were filled.`)
          })
          const filled = await fill(ours)
          const filledWide = await fill(wide)
          const reconciledByHand = await timed(async () => {
            const patched = await reconcileByHand(client, accountId, alike)
            if (patched !== operationsEach) throw new Error(`By hand ${patched} were reconciled.`)
          })
          const reconciles = disputed.map((entity_id) => ({ entity_id, field: "title", value: "One" }))
          const reconciled = await ask("/data-health/divergence-reconciles", {
            entity_type: "product",
            operations: reconciles
          })
          if (reconciled.answer.patched !== operationsEach * storeIds.length)
            throw new Error(`${reconciled.answer.patched} versions were patched.`)
          progress(
            `round ${round}: fills ${whole(filled)} ms, by hand ${whole(byHand)} ms, of products with many variants ${whole(filledWide)} ms; reconciles ${whole(reconciled.millis)} ms, by hand ${whole(reconciledByHand)} ms`
          )
          if (round === 0) continue
          ratios.fills.push(filled / byHand)
          ofManyVariants.push(filledWide / filled)
          ratios.reconciles.push(reconciled.millis / reconciledByHand)
          millis.fills.push(filled)
          millis.reconciles.push(reconciled.millis)
        }
      })
      return [
        `${operationsEach} operations a batch over REST, of products on 3 stores, beside the same by hand, a statement each (lock, check, write, raise, record); ${count} rounds. Medians: fills ${whole(median(millis.fills))} ms, reconciles ${whole(median(millis.reconciles))} ms.`,
        table(head, [
          lineOf("fills / by hand", ratios.fills, maxRemedyRatio),
          lineOf("reconciles / by hand", ratios.reconciles, maxRemedyRatio),
          lineOf(`fills of products with ${variantsAdded} more variants / fills`, ofManyVariants, maxVariantsRatio)
        ])
      ].join("\n\n")
    })
    return { report: result, postgresVersion }
  }
}

const readsARound = 1_000

/** Compares reading the snapshots with reading one product. */
export const healthSnapshots: Scenario = {
  name: "health-snapshots",
  title: "Data health: snapshots",
  run: async ({ rounds: count }) => {
    const { postgresVersion, result } = await withService(async ({ ask, catalog }) => {
      for (const dimension of HealthDimension.literals) await ask("/data-health/scans", { dimension })
      const ids = await connected(catalog.url, async (client) => {
        const { rows } = await client.query<{ readonly id: string }>(
          "SELECT id FROM entity WHERE account_id = $1 AND kind = 'product' ORDER BY md5(id::text) LIMIT $2",
          [catalog.accountId, readsARound]
        )
        return rows.map(({ id }) => id)
      })
      let asked = 0
      // Each target is requested once, so no answer comes from the cache.
      const read = async (target: (n: number) => string) => {
        const millis = await timed(async () => {
          for (let n = 0; n < ids.length; n += 8)
            await Promise.all(ids.slice(n, n + 8).map((_, index) => ask(`${target(n + index)}&n=${asked++}`)))
        })
        return millis / ids.length
      }
      const ratios: Array<number> = []
      for (let round = 0; round <= count; round++) {
        const detail = await read((n) => `/products/${ids[n]}?x=1`)
        const snapshots = await read(() => "/data-health?x=1")
        progress(`round ${round}: snapshots ${snapshots.toFixed(3)} ms, a product ${detail.toFixed(3)} ms`)
        if (round > 0) ratios.push(snapshots / detail)
      }
      return [
        `${whole(readsARound)} reads a round over 8 connections, each of a target of its own; ${count} rounds.`,
        table(head, [lineOf("snapshots / a product's detail", ratios, 1)])
      ].join("\n\n")
    })
    return { report: result, postgresVersion }
  }
}
