import { setTimeout as sleep } from "node:timers/promises"
import { SqlClient } from "@effect/sql"
import { Array as Arr, Effect, Layer, Logger, Redacted, Schema } from "effect"
import { Agent, request } from "undici"
import * as Database from "../../src/database/Database.ts"
import { type AccountId, EntityId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, anEntity, definedAs } from "../../src/testing/index.ts"
import * as CrashRecord from "../../test/faults/CrashRecord.ts"
import * as WalkJudge from "../../test/faults/WalkJudge.ts"

const productCount = 100
/** Empty fields of each product: a write fills one, on the product and on its store. */
const fieldCount = 250
const writers = 4
const walkers = 3
const pageSize = 20
/** Pause between the requests of a client. Two cores carry the whole cluster, the service and the clients. */
const pauseMillis = 40
/** Longer than any deadline of the service: a request without an answer by then was never answered. */
const answerMillis = 20_000

const keyOf = (number: number) => `custom.w${number}`

const openDatabase = (url: string) =>
  ServicesOnDatabase.pipe(
    Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 2 })),
    Layer.provide(Logger.remove(Logger.defaultLogger))
  )

/** An account with one store and products whose fields are empty, and its API key. */
const tenant = Effect.gen(function* () {
  const { accountId, actor, stores, token } = yield* anAccount({ domains: ["shop.example"] })
  const [store] = stores
  const products = yield* Effect.gen(function* () {
    const types = Arr.makeBy(fieldCount, (place) => [keyOf(place + 1), "single_line_text_field"] as const)
    yield* definedAs("product", Object.fromEntries(types))
    return yield* Effect.forEach(Arr.makeBy(productCount, String), (name) =>
      anEntity("product", { title: `Product ${name}` }, { on: [store] })
    )
  }).pipe(actingAs(actor))
  return { accountId, token, storeId: store.id, products }
})

const FoundRow = Schema.Struct({
  product: EntityId,
  title: Schema.String,
  updatedAt: Schema.String,
  canonical: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  override: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})

/** What the database has of every product, in the end. */
const findProducts = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* Schema.decodeUnknown(Schema.Array(FoundRow))(
      yield* sql`
        SELECT p.id AS product, p.title, rfc3339(p.canonical_changed_at) AS "updatedAt", p.attributes AS canonical,
               v.overrides AS override
        FROM entity p JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = p.id
        WHERE p.account_id = ${accountId} AND p.kind = 'product'`
    )
  })

/** Fields are filled in order: the number of the last one before the first that is empty or has a wrong value. */
const numberIn = (values: Readonly<Record<string, unknown>>): number => {
  const valueOf = (number: number) => (values[keyOf(number)] as { readonly value?: unknown } | undefined)?.value
  let number = 0
  while (valueOf(number + 1) === String(number + 1)) number++
  return number
}

export interface Seen {
  readonly kind: "write" | "read"
  /** Milliseconds of performance.now(). */
  readonly began: number
  readonly ended: number
  /** 0: there was no answer. */
  readonly status: number
  /** Undefined: a 200, or a 503 in the form of the API. */
  readonly wrong: string | undefined
}

/** What is wrong with an answer that is not a 200. */
const wrongIn = (status: number, requestId: unknown, text: string): string | undefined => {
  if (status === 200) return undefined
  if (status !== 503) return `${status} ${text}`
  try {
    const { code, message, request_id } = JSON.parse(text).error
    const isWhole = code === "unavailable" && typeof message === "string" && request_id === requestId
    return isWhole ? undefined : `503 ${text}`
  } catch {
    return `503 ${text}`
  }
}

interface Page {
  readonly data: ReadonlyArray<{
    readonly id: EntityId
    readonly title: string
    readonly draft_revision: number
    readonly updated_at: string
  }>
  readonly next_cursor: string | null
}

/** What one walker was handed. */
interface WalkRecord {
  readonly deliveries: Array<WalkJudge.Delivery>
  readonly begun: Map<number, ReadonlyArray<EntityId>>
}

export interface LoadVerdict extends CrashRecord.CrashVerdict, WalkJudge.WalkVerdict {
  readonly acknowledged: number
  readonly walks: number
}

/** Clients of one account: each writer fills field after field of its own products, each walker reads all pages again and again. */
export class Load {
  readonly seen: Array<Seen> = []
  private readonly said: Array<CrashRecord.Said> = []
  private readonly walked: ReadonlyArray<WalkRecord>
  private readonly agent = new Agent({
    connections: writers + walkers,
    headersTimeout: answerMillis,
    bodyTimeout: answerMillis
  })
  private readonly running: Promise<unknown>
  private readonly databaseUrl: string
  private readonly baseUrl: string
  private readonly account: Effect.Effect.Success<typeof tenant>
  private isOver = false

  private constructor(databaseUrl: string, baseUrl: string, account: Effect.Effect.Success<typeof tenant>) {
    this.databaseUrl = databaseUrl
    this.baseUrl = baseUrl
    this.account = account
    this.walked = Arr.makeBy(walkers, () => ({ deliveries: [], begun: new Map() }))
    this.running = Promise.all([
      ...Arr.makeBy(writers, (place) => this.write(place)),
      ...this.walked.map((record) => this.walk(record))
    ])
    // `stop` tells of a failure.
    this.running.catch(() => {})
  }

  /** Makes an account of its own, and begins. */
  static async start(databaseUrl: string, baseUrl: string): Promise<Load> {
    const account = await Effect.runPromise(tenant.pipe(Effect.provide(openDatabase(databaseUrl))))
    return new Load(databaseUrl, baseUrl, account)
  }

  /** Acknowledged writes so far. */
  get acknowledged(): number {
    return this.said.filter(({ _tag }) => _tag === "Done").length
  }

  /** The first success of a kind that began after this time. */
  successAfter(kind: Seen["kind"], millis: number): Seen | undefined {
    return this.seen.find((one) => one.kind === kind && one.status === 200 && one.began > millis)
  }

  /** Ends the load, walks once more, and compares what clients know with what the database has. */
  async stop(): Promise<LoadVerdict> {
    this.isOver = true
    await this.running
    await Promise.all(this.walked.map((record) => this.walkOnce(record)))
    await this.agent.close()
    const { accountId } = this.account
    const rows = await Effect.runPromise(findProducts(accountId).pipe(Effect.provide(openDatabase(this.databaseUrl))))
    const found = rows.map(({ canonical, override, product }) => ({
      product,
      numbers: { product: numberIn(canonical), override: numberIn(override) }
    }))
    const crash = CrashRecord.judge(
      this.said,
      // A product without any write is not a bundle.
      found.filter(({ numbers }) => numbers.product > 0 || numbers.override > 0)
    )
    const truth = new Map(rows.map(({ product, title, updatedAt }) => [product, { title, updatedAt }]))
    const verdicts = this.walked.map((record) => WalkJudge.judge({ ...record, truth }))
    const all = (name: keyof WalkJudge.WalkVerdict) => verdicts.flatMap((verdict) => verdict[name])
    return {
      ...crash,
      skipped: all("skipped"),
      repeated: all("repeated"),
      stale: all("stale"),
      phantom: all("phantom"),
      acknowledged: this.acknowledged,
      walks: this.walked.reduce((sum, { begun }) => sum + begun.size, 0)
    }
  }

  private async send(kind: Seen["kind"], path: string, body?: unknown): Promise<string | undefined> {
    const began = performance.now()
    const note = (status: number, wrong: string | undefined) => {
      this.seen.push({ kind, began, ended: performance.now(), status, wrong })
    }
    try {
      const answer = await request(`${this.baseUrl}${path}`, {
        dispatcher: this.agent,
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${this.account.token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      const text = await answer.body.text()
      note(answer.statusCode, wrongIn(answer.statusCode, answer.headers["x-request-id"], text))
      return answer.statusCode === 200 ? text : undefined
    } catch (error) {
      note(0, String(error))
      return undefined
    }
  }

  /** The store's value first: a store without one inherits the product's, which would leave nothing to fill. */
  private fill(product: EntityId, number: number): Promise<string | undefined> {
    const operation = { entity_id: product, field: keyOf(number), value: String(number) }
    return this.send("write", "/api/v1/data-health/completeness-fills", {
      entity_type: "product",
      operations: [{ ...operation, store_id: this.account.storeId }, operation]
    })
  }

  private async write(place: number): Promise<void> {
    const products = this.account.products.filter((_, at) => at % writers === place)
    for (let number = 1; number <= fieldCount; number++)
      for (const product of products) {
        this.said.push({ _tag: "Begun", product, number })
        let answer: string | undefined
        while (answer === undefined) {
          if (this.isOver) return
          // A write that failed may have been done: the same fill again finds its value and is acknowledged.
          answer = await this.fill(product, number)
          await sleep(pauseMillis)
        }
        const { results } = JSON.parse(answer) as { readonly results: ReadonlyArray<{ readonly ok: boolean }> }
        if (results.length !== 2 || !results.every(({ ok }) => ok)) throw new Error(`A fill was refused: ${answer}`)
        this.said.push({ _tag: "Done", bundle: { product, number } })
      }
    throw new Error("The fields that a writer could fill are used up")
  }

  /** Reads all pages from the first one. */
  private async walkOnce(record: WalkRecord): Promise<void> {
    const walk = record.begun.size + 1
    let failures = 0
    for (let cursor: string | null = ""; cursor !== null; ) {
      const after: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const text = await this.send("read", `/api/v1/products?limit=${pageSize}${after}`)
      await sleep(pauseMillis)
      if (text === undefined) {
        // A page that failed is asked for again, at the same place of the walk.
        if (this.isOver && ++failures > 100) throw new Error("The last walk gets no answers")
        continue
      }
      const { data, next_cursor } = JSON.parse(text) as Page
      for (const { draft_revision, updated_at, ...row } of data)
        record.deliveries.push({ ...row, walk, revision: draft_revision, updatedAt: updated_at })
      cursor = next_cursor
    }
    record.begun.set(walk, this.account.products)
  }

  private async walk(record: WalkRecord): Promise<void> {
    while (!this.isOver) await this.walkOnce(record)
  }
}
