import { SqlClient } from "@effect/sql"
import { Effect, Schedule } from "effect"
import { EntityId, JobId } from "../../src/model/Ids.ts"
import { csrfOf, textOf } from "../console/Merchant.ts"
import type { Answer } from "../mcp/Connector.ts"
import { orHangs } from "../support/HangLimit.ts"
import { type Client, call, page } from "./ClusterClients.ts"
import {
  aPageUserOf,
  type Form,
  fill,
  inTurns,
  open,
  type PageUser,
  type Processes,
  patiently
} from "./ClusterPages.ts"

type Work = "set" | "create" | "delete" | "unlink" | "link" | "undo"

/** The values that a field may have: the last acknowledged one, and later ones whose requests had no answer. */
type Allowed = Set<string>

/** An account whose user changes, creates and deletes products, links a store, and undoes the writes of a connection. */
interface Merchant extends PageUser {
  /** How often pages acknowledged each work. */
  readonly done: Record<Work, number>
  /** The acknowledged jobs. */
  readonly jobs: Set<JobId>
  /** The acknowledged products, those whose deletion was sent, and those whose deletion was acknowledged. */
  readonly created: Set<EntityId>
  readonly deleting: Set<EntityId>
  readonly deleted: Set<EntityId>
  /** The vendors that bulk changes were to set, by whether they were acknowledged. */
  readonly vendors: Map<string, boolean>
  readonly vendor: Allowed
  /** The title that the connection writes, and the undo takes back. */
  readonly title: Allowed
}

export const aMerchantOf = (client: Client) =>
  Effect.map(
    aPageUserOf(client),
    (user): Merchant => ({
      ...user,
      done: { set: 0, create: 0, delete: 0, unlink: 0, link: 0, undo: 0 },
      jobs: new Set(),
      created: new Set(),
      deleting: new Set(),
      deleted: new Set(),
      vendors: new Map(),
      vendor: new Set(),
      title: new Set(["w0"])
    })
  )

/** Notes the value of a request after its answer: it replaces the earlier ones if it was acknowledged. */
const note = (allowed: Allowed, value: string, isAcknowledged: boolean) => {
  if (isAcknowledged) allowed.clear()
  allowed.add(value)
}

/** Counts work that a page acknowledged by a redirect, an undo by its result, and notes the job to which the redirect leads. */
const acknowledge = (merchant: Merchant, work: Work, answer: Answer | undefined) => {
  if (answer === undefined || (work === "undo" ? !/ (?:is|are) undone\./.test(textOf(answer)) : answer.status !== 303))
    return false
  merchant.done[work] += 1
  const [, job] = /^\/jobs\/([0-9a-f-]{36})/.exec(answer.headers.location ?? "") ?? []
  if (job !== undefined) merchant.jobs.add(JobId.make(job))
  return true
}

/** Begins a job for a selection of products, after its review. */
const bulk = (processes: Processes, merchant: Merchant, action: string, ids: Iterable<EntityId>, more: Form) =>
  Effect.gen(function* () {
    const list = yield* open(processes, merchant, "/products")
    if (list === undefined) return undefined
    const ticked = Object.fromEntries([...ids].map((id) => [`publish-${id}`, "yes"]))
    const form = { csrf: csrfOf(list), list: "product", query: "", ...ticked, ...more, do: "review" }
    const review = yield* open(processes, merchant, action, { form })
    return yield* fill(processes, merchant, review, action, { do: "begin" })
  })

/** Waits until the account has no open job. */
const untilJobsEnd = ({ accountId }: Merchant) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`SELECT FROM job WHERE account_id = ${accountId} AND kind <> 'health_scan' AND state IN ('queued', 'running') LIMIT 1`
  ).pipe(
    patiently,
    Effect.repeat({ until: (waiting) => waiting.length === 0, schedule: Schedule.spaced("200 millis") }),
    orHangs(() => `Account ${accountId} always has an open job.`)
  )

/** Sets the vendor of the products. Other jobs end before it and this one before others begin: it refuses products that change meanwhile. */
const set = (processes: Processes, merchant: Merchant, turn: number) =>
  Effect.gen(function* () {
    yield* untilJobsEnd(merchant)
    const value = `v${turn}`
    const change = { key: "vendor", store_id: "", value }
    const isAcknowledged = acknowledge(
      merchant,
      "set",
      yield* bulk(processes, merchant, "/selection/field", merchant.entityIds ?? [], change)
    )
    merchant.vendors.set(value, isAcknowledged)
    note(merchant.vendor, value, isAcknowledged)
    yield* untilJobsEnd(merchant)
  })

const createAndDelete = (processes: Processes, merchant: Merchant, turn: number) =>
  Effect.gen(function* () {
    const action = "/products/new"
    const answer = yield* fill(processes, merchant, yield* open(processes, merchant, action), action, {
      title: `Made ${turn}`
    })
    const [, made] = /id=([0-9a-f-]{36})/.exec(answer?.headers.location ?? "") ?? []
    if (!acknowledge(merchant, "create", answer) || made === undefined) return
    const id = EntityId.make(made)
    merchant.created.add(id)
    if (turn % 2 === 0) return
    merchant.deleting.add(id)
    if (acknowledge(merchant, "delete", yield* bulk(processes, merchant, "/selection/delete", [id], {})))
      merchant.deleted.add(id)
  })

const unlinkOrLink = (processes: Processes, merchant: Merchant) =>
  Effect.gen(function* () {
    const action = merchant.done.unlink > merchant.done.link ? "/stores/link" : "/stores/unlink"
    const domain = `shop-${merchant.accountId.slice(0, 8)}.demo.example`
    const [query, more, work] =
      action === "/stores/link"
        ? (["?platform=demo", { platform: "demo", domain }, "link"] as const)
        : ([`?id=${merchant.storeId}`, {}, "unlink"] as const)
    const shown = yield* open(processes, merchant, `${action}${query}`)
    acknowledge(merchant, work, yield* fill(processes, merchant, shown, action, more))
  })

/** The row of the product that the connection writes. Its title must be one that the last requests left. */
const readTitle = (processes: Processes, merchant: Merchant) =>
  Effect.gen(function* () {
    const found = yield* page(processes, merchant, "limit=250")
    const row = found?.data.find(({ id }) => id === merchant.entityId)
    if (row !== undefined && !merchant.title.has(row.title))
      merchant.wrong.push(`title ${row.title} instead of ${[...merchant.title].join(" or ")}`)
    return row
  })

/** Writes by the connection, and undoes what it wrote. */
const writeAndUndo = (processes: Processes, merchant: Merchant, turn: number) =>
  Effect.gen(function* () {
    const row = yield* readTitle(processes, merchant)
    if (row === undefined) return
    const value = `w${turn + 1}`
    const written = yield* call(processes, merchant, "update_master_attributes_v1", {
      master_id: merchant.entityId,
      draft_revision: row.draft_revision,
      attributes: [{ key: "title", value }]
    })
    note(merchant.title, value, written !== "lost")
    const action = "/settings/connections/undo"
    const review = yield* open(processes, merchant, `${action}?id=${merchant.connectionId}&since=hour`)
    const undone = yield* fill(processes, merchant, review, action, {})
    note(merchant.title, "w0", acknowledge(merchant, "undo", undone))
    yield* readTitle(processes, merchant)
  })

/** Works on pages until it is paused. */
export const trading = (processes: Processes, merchant: Merchant, pauseMillis: number) =>
  inTurns(merchant, pauseMillis, (turn) =>
    Effect.all(
      [
        set(processes, merchant, turn),
        createAndDelete(processes, merchant, turn),
        unlinkOrLink(processes, merchant),
        writeAndUndo(processes, merchant, turn)
      ],
      { discard: true }
    )
  )

/** What contradicts the last acknowledged bulk change and undo, and bulk changes that did not set each product once or none. */
const lostValues = ({ accountId, entityId, entityIds, title, vendor, vendors }: Merchant) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = [...(entityIds ?? [])]
    const rows = yield* sql<{ readonly id: EntityId; readonly title: string; readonly vendor: string | null }>`
      SELECT e.id, e.attributes #>> '{title,value}' AS title, e.attributes #>> '{vendor,value}' AS vendor
      FROM entity e WHERE e.account_id = ${accountId} AND ${sql.in("e.id", ids)}`
    const history = yield* sql<{ readonly vendor: string; readonly times: number; readonly products: number }>`
      SELECT c.value ->> 'new' AS vendor, count(*)::integer AS times, count(DISTINCT h.entity_id)::integer AS products
      FROM entity_history h CROSS JOIN LATERAL jsonb_array_elements(h.changes) c
      WHERE h.account_id = ${accountId} AND c.value ->> 'key' = 'vendor' AND ${sql.in("h.entity_id", ids)}
      GROUP BY 1`
    const there = new Set(rows.map((row) => row.vendor ?? ""))
    const [left = ""] = there
    const written = rows.find(({ id }) => id === entityId)?.title ?? ""
    const once = (value: string, isAcknowledged: boolean) => {
      const found = history.find((row) => row.vendor === value)
      return found === undefined ? !isAcknowledged : found.times === ids.length && found.products === ids.length
    }
    return [
      ...(rows.length === ids.length ? [] : [`${rows.length} products of ${ids.length}`]),
      ...(there.size === 1 && vendor.has(left) ? [] : [`vendors ${[...there]} instead of ${[...vendor]}`]),
      ...(title.has(written) ? [] : [`title ${written} instead of ${[...title]}`]),
      ...[...vendors]
        .filter(([value, isAcknowledged]) => !once(value, isAcknowledged))
        .map(([value]) => `vendor ${value}: ${JSON.stringify(history.find((row) => row.vendor === value))}`)
    ]
  })

/** Waits until the jobs of merchants have ended. Returns what contradicts the answers of the pages. */
export const lostWork = (merchants: ReadonlyArray<Merchant>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(merchants, (merchant) =>
      Effect.gen(function* () {
        const { accountId, created, deleted, deleting, jobs } = merchant
        yield* untilJobsEnd(merchant)
        const all = yield* sql<{ readonly id: JobId; readonly state: string; readonly problem: unknown }>`
          SELECT id, state, problem FROM job WHERE account_id = ${accountId} AND kind <> 'health_scan'`
        const products = yield* sql<{ readonly id: EntityId }>`SELECT id FROM entity WHERE account_id = ${accountId}`
        const existing = new Set(products.map(({ id }) => id))
        return [
          ...all.filter(({ state }) => state !== "done").map((job) => `job ${JSON.stringify(job)}`),
          ...[...jobs].filter((id) => !all.some((job) => job.id === id)).map((id) => `no job ${id}`),
          ...[...created].filter((id) => !existing.has(id) && !deleting.has(id)).map((id) => `no product ${id}`),
          ...[...deleted].filter((id) => existing.has(id)).map((id) => `product ${id} is not deleted`),
          ...(yield* lostValues(merchant))
        ].map((what) => `${accountId} ${what}`)
      })
    )
  ).pipe(
    Effect.map((lost) => lost.flat()),
    Effect.orDie
  )
