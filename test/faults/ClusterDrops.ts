import { SqlClient } from "@effect/sql"
import { Clock, Effect } from "effect"
import { DropId, type EntityId, StoreId } from "../../src/model/Ids.ts"
import { actingAs } from "../../src/testing/index.ts"
import { csrfOf } from "../console/Merchant.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { orHangs } from "../support/HangLimit.ts"
import { ask, type Client, refuse, toServer } from "./ClusterClients.ts"
import { aPageUserOf, fill, inTurns, open, type PageUser, type Processes, patiently } from "./ClusterPages.ts"
import { judgeDrops, liveProducts } from "./DropsJudge.ts"

/** The products of a drop. On a busy machine the publishes of 60 take longer than the test. */
const productsOfDrop = 6
/** The time from the form of a drop to its start, and from there to its end. */
const untilStart = 4_000
const untilEnd = 6_000

/** An account whose user schedules drops. */
interface Dropper extends PageUser {
  readonly things: ReadonlyArray<EntityId>
  /** `scheduled`: the drops that a page or the API has acknowledged; `seen`: those whose values were in the shop while they were applied. */
  readonly done: Record<"scheduled" | "seen" | "reverted", number>
}

export const aDropperOf = (client: Client) =>
  Effect.gen(function* () {
    const user = yield* aPageUserOf(client)
    const things = yield* liveProducts(StoreId.make(client.storeId), productsOfDrop)
    const dropper: Dropper = { ...user, things, done: { scheduled: 0, seen: 0, reverted: 0 } }
    return dropper
  }).pipe(actingAs(client.actor), Effect.orDie)

/** The status of a drop; `none`: there is no such drop. Undefined: no answer, or 503. */
const statusOf = (processes: Processes, dropper: Dropper, id: DropId) =>
  Effect.gen(function* () {
    const sentAt = performance.now()
    const path = `/api/v1/drops/${id}`
    const answer = yield* ask(processes, dropper, { method: "GET", path, token: dropper.token, headers: toServer })
    if (answer === undefined) return undefined
    if (answer.status === 200) return (JSON.parse(answer.text) as { readonly status: string }).status
    if (answer.status === 404) return "none"
    if (answer.status === 503) refuse(dropper, "refusedReads", sentAt, answer)
    else dropper.wrong.push(`${path} ${answer.status} ${answer.text}`)
    return undefined
  })

/** The titles of the products in the shop, and how many have each. */
const inShop = ({ accountId, storeId, things }: Dropper) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly title: string; readonly count: number }>`
      SELECT regexp_replace(r.attributes #>> '{title,value}', '^Product \\d+$', 'Product') AS title, count(*)::integer AS count
      FROM demo_shop_record r
      WHERE r.account_id = ${accountId} AND r.store_id = ${storeId} AND ${sql.in("r.entity_id", things)}
      GROUP BY 1`
    return JSON.stringify(Object.fromEntries(rows.map(({ count, title }) => [title, count])))
  })

const localTime = (millis: number) => new Date(Math.ceil(millis / 1_000) * 1_000).toISOString().slice(0, 19)

/** Schedules a drop. The form is repeated while its answer is lost. Undefined: no drop was scheduled. */
const schedule = (processes: Processes, dropper: Dropper, title: string) =>
  Effect.gen(function* () {
    const list = yield* open(processes, dropper, "/drops")
    if (list === undefined) return undefined
    const now = yield* Clock.currentTimeMillis
    const review = yield* open(processes, dropper, "/drops/new", {
      form: {
        csrf: csrfOf(list),
        ...Object.fromEntries(dropper.things.map((id) => [`thing-${id}`, "yes"])),
        name: title,
        store_id: dropper.storeId,
        zone: "UTC",
        starts: localTime(now + untilStart),
        ends: localTime(now + untilStart + untilEnd),
        "set-product-title": title,
        do: "review"
      }
    })
    if (review === undefined) return undefined
    const id = DropId.make(sectionsOf(review.text, "/drops").hidden.id ?? "")
    for (;;) {
      const answer = yield* fill(processes, dropper, review, "/drops", {})
      if (answer?.status === 303) return id
      const status = yield* statusOf(processes, dropper, id)
      if (status !== undefined && status !== "none") return id
      // The form can be sent again until its start is over.
      if (status === "none" && (yield* Clock.currentTimeMillis) > now + untilStart + 1_000) return undefined
      yield* Effect.sleep("200 millis")
    }
  })

/** Schedules a drop, and follows it until its values are gone. */
const drop = (processes: Processes, dropper: Dropper, turn: number) => {
  let seen = "not scheduled yet"
  return Effect.gen(function* () {
    const title = `Sale ${turn}`
    const id = yield* schedule(processes, dropper, title)
    if (id === undefined) return
    dropper.done.scheduled += 1
    const whole = JSON.stringify({ [title]: dropper.things.length })
    let isSeen = false
    for (;;) {
      const status = yield* statusOf(processes, dropper, id)
      if (status !== undefined) seen = `${id} ${status} at ${new Date(yield* Clock.currentTimeMillis).toISOString()}`
      if (status === "reverted") break
      if (status === "failed" || status === "none")
        return void dropper.wrong.push(`drop ${id} is ${status} after its form was acknowledged`)
      if (status === "applied" && !isSeen) {
        const there = yield* patiently(inShop(dropper))
        // The end may have begun meanwhile.
        if (there === whole) isSeen = true
        else if ((yield* statusOf(processes, dropper, id)) === "applied")
          dropper.wrong.push(`drop ${id} is applied, and the shop has ${there}`)
      }
      yield* Effect.sleep("200 millis")
    }
    dropper.done.reverted += 1
    if (isSeen) dropper.done.seen += 1
    const left = yield* patiently(inShop(dropper))
    if (left !== JSON.stringify({ Product: dropper.things.length }))
      dropper.wrong.push(`drop ${id} is reverted, and the shop has ${left}`)
  }).pipe(orHangs(() => `A drop never ended: it was ${seen}.`))
}

/** Schedules drops until it is paused. */
export const dropping = (processes: Processes, dropper: Dropper, pauseMillis: number) =>
  inTurns(dropper, pauseMillis, (turn) => drop(processes, dropper, turn))

/** What contradicts the acknowledged drops: each was published once at its start and once at its end. */
export const lostDrops = (droppers: ReadonlyArray<Dropper>) =>
  Effect.forEach(droppers, ({ accountId, done, things }) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const judged = yield* judgeDrops(sql`account_id = ${accountId}`)
      const changes = done.scheduled * things.length
      const expected = {
        changes,
        effects: 2 * changes,
        early: 0,
        double: 0,
        missed: 0,
        reverted: done.scheduled,
        changed: 0
      }
      return JSON.stringify(judged) === JSON.stringify(expected)
        ? []
        : [`${accountId} drops ${JSON.stringify(judged)} instead of ${JSON.stringify(expected)}`]
    })
  ).pipe(
    Effect.map((lost) => lost.flat()),
    Effect.orDie
  )
