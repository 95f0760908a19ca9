import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import { type BenchCatalog, catalog as command, connected, openCatalog } from "../harness/Catalog.ts"
import { type ContenderName, start } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import type { ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { spreadOf } from "../harness/Statistics.ts"
import { readPage } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 100_000
const limit = 50
/** Number of answers in a round. A smaller number is for trying the benchmark only. */
const answersARound = Number(process.env.BENCH_PUBLISHING_ANSWERS ?? 20_000)
const queued = 50
const delaySeconds = 30
const maxSlower = 0.2
const domain = "hangs.demo.example"
const ours: ContenderName = "ours"

/** Another account, with a store that hangs and products that wait to be published to it. */
const openHanging = async ({ url }: BenchCatalog) => {
  const created = JSON.parse(await command(url, "account", "create", "--name", `Hanging ${randomUUID()}`, "--json"))
  const accountId = String(created.account_id)
  const inAccount = ["--account", accountId, "--json"]
  const store = JSON.parse(await command(url, "store", "link", domain, "--platform", "demo", ...inAccount))
  const hang = ["--kind", "delay", "--delay", String(delaySeconds)]
  await command(url, "platform", "fail", "--store", domain, ...hang, ...inAccount)
  return { accountId, storeId: String(store.store_id) }
}

type Hanging = Awaited<ReturnType<typeof openHanging>>

/** New products on the store, each waiting for its first publish. A server requests these publishes when it starts. */
const queue = ({ url }: BenchCatalog, { accountId, storeId }: Hanging) =>
  connected(url, async (client) => {
    await client.query("BEGIN")
    await client.query(
      `WITH raised AS (
         UPDATE account_state
         SET version = version + 1, change_seq = change_seq + $3::int,
             last_changed_at = greatest(last_changed_at, app_now()) + $3::int * interval '1 microsecond'
         WHERE account_id = $1 RETURNING change_seq - $3::int AS seq, last_changed_at - $3::int * interval '1 microsecond' AS time
       ), made AS (
         INSERT INTO entity (account_id, id, kind, attributes, draft_revision, change_seq, canonical_changed_at, stamped_by,
                             pending_publish, last_publish_status, store_ids)
         SELECT $1, gen_random_uuid(), 'product',
                jsonb_build_object('title', jsonb_build_object('type', 'single_line_text_field', 'value', 'Product ' || n)),
                1, r.seq + n, r.time + n * interval '1 microsecond', pg_current_xact_id(), true, 'pending', ARRAY[$2::uuid]
         FROM raised r, generate_series(1, $3::int) n
         RETURNING id
       )
       INSERT INTO store_version (account_id, entity_id, store_id, last_publish_status)
       SELECT $1, id, $2, 'pending' FROM made`,
      [accountId, storeId, queued]
    )
    await client.query("COMMIT")
  })

/** Deletes all publishes of the account; attempts under way end with the server. */
const clear = ({ url }: BenchCatalog, { accountId }: Hanging) =>
  connected(url, async (client) => {
    await client.query("DELETE FROM publication WHERE account_id = $1", [accountId])
    await client.query("UPDATE store_version SET last_publish_status = 'never_published' WHERE account_id = $1", [
      accountId
    ])
  })

const statesOf = ({ url }: BenchCatalog, { accountId }: Hanging) =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly waiting: number; readonly claimed: number }>(
      `SELECT count(*) FILTER (WHERE state = 'pending')::int AS waiting, count(claim)::int AS claimed
       FROM publication WHERE account_id = $1`,
      [accountId]
    )
    return rows[0] ?? { waiting: 0, claimed: 0 }
  })

/** The number of reads of the first account that a server answers per second, whatever else it does. */
const measure = async (load: Load, catalog: BenchCatalog, server: ServerProcess) => {
  const target = `/api/v1/products?limit=${limit}`
  const { length } = await readPage(server.url, catalog.token, target)
  const order = {
    url: server.url,
    token: catalog.token,
    connections,
    headers: {},
    targets: Array.from({ length: answersARound }, () => target),
    status: 200,
    lengths: Array.from({ length: answersARound }, () => length)
  }
  const { answers, elapsedMillis } = await load.run(order)
  return (answers / elapsedMillis) * 1_000
}

/** Measures the same server without publishes, and while it publishes to a store that does not answer. */
const round = async (load: Load, catalog: BenchCatalog, hanging: Hanging) => {
  const beside = async (isHanging: boolean) => {
    await clear(catalog, hanging)
    if (isHanging) await queue(catalog, hanging)
    const server = await start(ours, catalog)
    try {
      // When all slots of the store are in use, the work of the server's start is over.
      for (;;) {
        const { claimed, waiting } = await statesOf(catalog, hanging)
        if (!isHanging || (claimed > 0 && waiting === queued)) break
        await setTimeout(50)
      }
      const answersPerSecond = await measure(load, catalog, server)
      const after = await statesOf(catalog, hanging)
      if (isHanging && after.waiting < queued - 10)
        throw new Error(`Only ${after.waiting} of ${queued} publications still waited at the end of a round.`)
      return answersPerSecond
    } finally {
      await server.stop()
    }
  }
  return { quiet: await beside(false), hanging: await beside(true) }
}

/** The loss of another account's reads while publishes wait for a store that hangs. */
export const publishingBeside: Scenario = {
  name: "publishing",
  title: "Reads beside a store that hangs",
  run: async ({ rounds: count }) => {
    const catalog = await openCatalog("catalog_bench", products)
    const hanging = await openHanging(catalog)
    const load = new Load()
    try {
      await round(load, catalog, hanging)
      const rounds: Array<Awaited<ReturnType<typeof round>>> = []
      for (let number = 1; number <= count; number++) {
        const done = await round(load, catalog, hanging)
        progress(`round ${number}: ${whole(done.quiet)} answers a second quiet, ${whole(done.hanging)} beside it`)
        rounds.push(done)
      }
      const row = (
        name: string,
        values: ReadonlyArray<number>,
        shown: (value: number) => string,
        ...more: Array<string>
      ) => {
        const { max, median, min } = spreadOf(values)
        return [name, ...[median, min, max].map(shown), ...more]
      }
      const lost = rounds.map((one) => 1 - one.hanging / one.quiet)
      const report = [
        `${whole(products)} products on 3 stores, one page of ${limit} rows, ${connections} connections; ${count} rounds of ${whole(answersARound)} answers each, alternating: the server with nothing to publish, and the server with ${queued} publishes of another account to a store that takes ${delaySeconds} s for every call.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            row(
              "quiet, answers/s",
              rounds.map(({ quiet }) => quiet),
              whole,
              "",
              ""
            ),
            row(
              "beside it, answers/s",
              rounds.map((one) => one.hanging),
              whole,
              "",
              ""
            ),
            row("share lost", lost, ratio, `< ${ratio(maxSlower)}`, spreadOf(lost).median < maxSlower ? "yes" : "no")
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      load.stop()
      await clear(catalog, hanging)
      await command(catalog.url, "platform", "repair", "--store", domain, "--account", hanging.accountId)
    }
  }
}
