import { SqlClient } from "@effect/sql"
import { Effect, Schedule } from "effect"
import { EntityId, JobId } from "../../src/model/Ids.ts"
import { textOf } from "../console/Merchant.ts"
import type { Answer } from "../mcp/Connector.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aBrowser } from "../oauth/PagesServer.ts"
import { ask, type Client, call, page, refuse, type ServedProcess, toServer } from "./ClusterClients.ts"

type Processes = ReadonlyArray<ServedProcess>
type Form = Readonly<Record<string, string>>

const works = ["set", "create", "delete", "unlink", "link", "undo"] as const
type Work = (typeof works)[number]

/** An account whose user works on pages. */
export interface Merchant extends Client {
  readonly cookie: string
  /** How often pages acknowledged each work. */
  readonly done: Record<Work, number>
  /** The acknowledged jobs. */
  readonly jobs: Set<JobId>
  /** The acknowledged products, those whose deletion was sent, and those whose deletion was acknowledged. */
  readonly created: Set<EntityId>
  readonly deleting: Set<EntityId>
  readonly deleted: Set<EntityId>
}

export const aMerchantOf = (client: Client) =>
  Effect.map(
    aBrowser(client.accountId, `${client.accountId}@example.com`),
    ({ cookie }): Merchant => ({
      ...client,
      cookie,
      done: { set: 0, create: 0, delete: 0, unlink: 0, link: 0, undo: 0 },
      jobs: new Set(),
      created: new Set(),
      deleting: new Set(),
      deleted: new Set()
    })
  )

/** Reads a page, or sends a form. Undefined: no answer, or refused; a page may also refuse what another job of the account excludes. */
const open = (processes: Processes, merchant: Merchant, path: string, form?: Form) =>
  Effect.gen(function* () {
    const sentAt = performance.now()
    const headers = { ...toServer, accept: "text/html", cookie: merchant.cookie }
    const answer = yield* ask(
      processes,
      merchant,
      form === undefined
        ? { method: "GET", path, headers }
        : {
            path,
            headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
            body: `${new URLSearchParams(form)}`
          }
    )
    if (answer === undefined) return undefined
    if (answer.status < 400) return answer
    if (answer.status === 503) refuse(merchant, form === undefined ? "refusedReads" : "refusedWrites", sentAt, answer)
    else if ([400, 404, 409, 423].includes(answer.status)) merchant.conflicts += 1
    else merchant.wrong.push(`${path} ${answer.status} ${answer.headers["x-request-id"]}: ${answer.text}`)
    return undefined
  })

/** Counts work that a page acknowledged by a redirect, an undo by its result, and notes the job to which the redirect leads. */
const acknowledge = (merchant: Merchant, work: Work, answer: Answer | undefined) => {
  if (answer === undefined || (work === "undo" ? !/ (?:is|are) undone\./.test(textOf(answer)) : answer.status !== 303))
    return false
  merchant.done[work] += 1
  const [, job] = /^\/jobs\/([0-9a-f-]{36})/.exec(answer.headers.location ?? "") ?? []
  if (job !== undefined) merchant.jobs.add(JobId.make(job))
  return true
}

/** Sends the form of a page. Undefined also if the page has none, for example because there is nothing to undo. */
const fill = (processes: Processes, merchant: Merchant, shown: Answer | undefined, action: string, more: Form) =>
  Effect.gen(function* () {
    if (shown?.status !== 200 || !shown.text.includes(`action="${action}"`)) return undefined
    return yield* open(processes, merchant, action, { ...sectionsOf(shown.text, action).hidden, ...more })
  })

/** Begins a job for a selection of products, after its review. */
const bulk = (processes: Processes, merchant: Merchant, action: string, ids: Iterable<EntityId>, more: Form) =>
  Effect.gen(function* () {
    const list = yield* open(processes, merchant, "/products")
    if (list === undefined) return undefined
    const ticked = Object.fromEntries([...ids].map((id) => [`publish-${id}`, "yes"]))
    const { csrf = "" } = sectionsOf(list.text, "/sign-out").hidden
    const form = { csrf, list: "product", query: "", ...ticked, ...more, do: "review" }
    const review = yield* open(processes, merchant, action, form)
    return yield* fill(processes, merchant, review, action, { do: "begin" })
  })

const set = (processes: Processes, merchant: Merchant, turn: number) =>
  Effect.map(
    bulk(processes, merchant, "/selection/field", merchant.entityIds ?? [], {
      key: "vendor",
      store_id: "",
      value: `v${turn}`
    }),
    (answer) => acknowledge(merchant, "set", answer)
  )

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

/** Writes by the connection, and undoes what it wrote. */
const writeAndUndo = (processes: Processes, merchant: Merchant, turn: number) =>
  Effect.gen(function* () {
    const found = yield* page(processes, merchant, "limit=250")
    const row = found?.data.find(({ id }) => id === merchant.entityId)
    if (row === undefined) return
    yield* call(processes, merchant, "update_master_attributes_v1", {
      master_id: merchant.entityId,
      draft_revision: row.draft_revision,
      attributes: [{ key: "title", value: `w${turn}` }]
    })
    const action = "/settings/connections/undo"
    const review = yield* open(processes, merchant, `${action}?id=${merchant.connectionId}&since=hour`)
    acknowledge(merchant, "undo", yield* fill(processes, merchant, review, action, {}))
  })

/** Works on pages until it is paused. */
export const trading = (processes: Processes, merchant: Merchant, pauseMillis: number) =>
  Effect.gen(function* () {
    for (let turn = 0; !merchant.isPaused; turn++) {
      merchant.isWriting = true
      yield* set(processes, merchant, turn)
      yield* createAndDelete(processes, merchant, turn)
      yield* unlinkOrLink(processes, merchant)
      yield* writeAndUndo(processes, merchant, turn)
      merchant.isWriting = false
      yield* Effect.sleep(pauseMillis)
    }
  }).pipe(
    Effect.catchAllDefect((defect) => Effect.sync(() => merchant.wrong.push(`the user stopped: ${defect}`))),
    Effect.ensuring(Effect.sync(() => (merchant.isWriting = false)))
  )

/** Waits until the jobs of merchants have ended. Returns what contradicts the answers of the pages. */
export const lostWork = (merchants: ReadonlyArray<Merchant>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(merchants, ({ accountId, created, deleted, deleting, jobs }) =>
      Effect.gen(function* () {
        yield* sql`
          SELECT FROM job WHERE account_id = ${accountId} AND kind <> 'health_scan' AND state IN ('queued', 'running') LIMIT 1`.pipe(
          Effect.repeat({ until: (waiting) => waiting.length === 0, schedule: Schedule.spaced("200 millis") })
        )
        const all = yield* sql<{ readonly id: JobId; readonly state: string; readonly problem: unknown }>`
          SELECT id, state, problem FROM job WHERE account_id = ${accountId} AND kind <> 'health_scan'`
        const products = yield* sql<{ readonly id: EntityId }>`SELECT id FROM entity WHERE account_id = ${accountId}`
        const existing = new Set(products.map(({ id }) => id))
        return [
          ...all.filter(({ state }) => state !== "done").map((job) => `job ${JSON.stringify(job)}`),
          ...[...jobs].filter((id) => !all.some((job) => job.id === id)).map((id) => `no job ${id}`),
          ...[...created].filter((id) => !existing.has(id) && !deleting.has(id)).map((id) => `no product ${id}`),
          ...[...deleted].filter((id) => existing.has(id)).map((id) => `product ${id} is not deleted`)
        ].map((what) => `${accountId} ${what}`)
      })
    )
  ).pipe(
    Effect.map((lost) => lost.flat()),
    Effect.orDie
  )

/** How often pages acknowledged each work, for all merchants together. */
export const workOf = (merchants: ReadonlyArray<Merchant>) =>
  Object.fromEntries(works.map((work) => [work, merchants.reduce((sum, { done }) => sum + done[work], 0)]))
