import { SqlClient } from "@effect/sql"
import { Cause, Chunk, Effect, Exit, Option, Schedule } from "effect"
import { Workload } from "../../src/database/Deadlines.ts"
import { describe, isSqlError } from "../../src/database/SqlErrors.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import type { AccountId, EntityId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"

/** The requests of one account and their results. */
export interface Tally {
  readonly accountId: AccountId
  readonly actor: Actor
  readonly token: string
  readonly entityId: EntityId
  readonly storeId: string
  /** The numbers of the last acknowledged write and of the last write that was begun. */
  acknowledged: number
  begun: number
  writes: number
  reads: number
  /** The number of writes and reads that got 503. */
  refusedWrites: number
  refusedReads: number
  /** Whether the account pauses its writes. */
  isPaused: boolean
  isWriting: boolean
  /** Unexpected results. */
  readonly wrong: Array<string>
}

const tallyOf = (owner: Pick<Tally, "accountId" | "actor" | "token" | "storeId">, entityId: EntityId): Tally => ({
  ...owner,
  entityId,
  acknowledged: 0,
  begun: 0,
  writes: 0,
  reads: 0,
  refusedWrites: 0,
  refusedReads: 0,
  isPaused: false,
  isWriting: false,
  wrong: []
})

/** Another product of the account, which is written beside the first one. */
export const anotherProductOf = ({ accountId, actor, storeId, token }: Tally) =>
  Effect.map(anEntity("product", { title: "w0" }, { on: [] }), (entityId) =>
    tallyOf({ accountId, actor, token, storeId }, entityId)
  ).pipe(actingAs(actor), Effect.orDie)

/** Adds a product on a new demo store to an account. */
export const loaded = ({ accountId, actor, token }: Pick<Tally, "accountId" | "actor" | "token">) =>
  Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({
      domain: `shop-${accountId.slice(0, 8)}.demo.example`,
      platform: "demo"
    })
    const entityId = yield* anEntity("product", { title: "w0" }, { on: [store] })
    return tallyOf({ accountId, actor, token, storeId: store.id }, entityId)
  }).pipe(actingAs(actor), Effect.orDie)

/** An account with a product on a demo store. */
export const aLoadedAccount = (name: string) => Effect.flatMap(anAccount({ name }), loaded)

/** The defects of a cause as text. */
const wordsOf = (cause: Cause.Cause<unknown>) =>
  Cause.defects(cause)
    .pipe(Chunk.toReadonlyArray)
    .map((defect) => (isSqlError(defect) ? describe(defect) : String(defect)))
    .join("; ") || Cause.pretty(cause)

const isUnavailable = (cause: Cause.Cause<unknown>) =>
  Option.isSome(
    Cause.find(cause, (part) =>
      part._tag === "Die" && part.defect instanceof Unavailable ? Option.some(true) : Option.none()
    )
  )

/** Repeats a write with the next number until it is interrupted. */
export const repeating = <A, E, R>(tally: Tally, write: (number: number) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    if (tally.isPaused) return
    tally.isWriting = true
    tally.begun += 1
    const number = tally.begun
    const exit = yield* Effect.exit(write(number))
    if (Exit.isSuccess(exit)) {
      tally.acknowledged = number
      tally.writes += 1
    } else if (isUnavailable(exit.cause)) tally.refusedWrites += 1
    else tally.wrong.push(`write ${wordsOf(exit.cause)}`)
    tally.isWriting = false
  }).pipe(actingAs(tally.actor), Effect.zipRight(Effect.sleep("5 millis")), Effect.forever)

/** Writes numbered titles until it is interrupted. */
export const writing = (tally: Tally) =>
  repeating(tally, (number) =>
    Effect.flatMap(CatalogChanges, ({ apply }) =>
      apply([CatalogChange.SetAttributes({ entityId: tally.entityId, values: { title: `w${number}` } })])
    )
  )

const envelope = /^\{"error":\{"code":"unavailable","message":"[^"]+","request_id":"req_[0-9a-f-]+"\}\}$/

/** What is wrong with a page of products: without the account's product, or with another title than one between these writes. */
const wrongIn = (text: string, { begun, entityId }: Tally, acknowledged: number) => {
  const { data } = JSON.parse(text) as { readonly data: ReadonlyArray<{ readonly id: string; readonly title: string }> }
  const title = data.find(({ id }) => id === entityId)?.title
  const number = Number(title?.slice(1))
  return number >= acknowledged && number <= begun ? undefined : `read ${title} after w${acknowledged} was acknowledged`
}

/** Reads lists over HTTP until it is interrupted. Each must have the last write that was acknowledged before it was sent. */
export const reading = (baseUrl: string, tally: Tally) =>
  Effect.promise(async () => {
    const { acknowledged } = tally
    try {
      const response = await fetch(`${baseUrl}/api/v1/products?limit=10`, {
        headers: { authorization: `Bearer ${tally.token}` }
      })
      const text = await response.text()
      if (response.status === 200) {
        tally.reads += 1
        const wrong = wrongIn(text, tally, acknowledged)
        if (wrong !== undefined) tally.wrong.push(wrong)
      } else if (response.status === 503 && envelope.test(text)) tally.refusedReads += 1
      else tally.wrong.push(`read ${response.status} ${text}`)
    } catch (error) {
      tally.wrong.push(`read ${error}`)
    }
  }).pipe(Effect.zipRight(Effect.sleep("20 millis")), Effect.forever)

/** Waits until the condition holds. */
export const until = (holds: () => boolean) =>
  Effect.void.pipe(Effect.repeat({ until: () => holds(), schedule: Schedule.spaced("20 millis") }))

/** Waits until each of these accounts has written, and read if it reads, this many more times. */
export const untilMore = (tallies: ReadonlyArray<Tally>, count: number) =>
  Effect.suspend(() => {
    const before = tallies.map(({ reads, writes }) => ({ reads, writes }))
    return until(() =>
      tallies.every(
        ({ reads, writes }, place) =>
          writes >= (before[place]?.writes ?? 0) + count &&
          (reads === 0 || reads >= (before[place]?.reads ?? 0) + count)
      )
    )
  })

/** Stops the writes, and waits until those that were begun have ended. */
export const pause = (tallies: ReadonlyArray<Tally>) =>
  Effect.suspend(() => {
    for (const tally of tallies) tally.isPaused = true
    return until(() => tallies.every(({ isWriting }) => !isWriting))
  })

/** The titles of the products that are written, by id. */
export const productTitles = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string; title: string }>`SELECT id, title FROM entity WHERE title ~ '^w[0-9]+$'`
  return new Map(rows.map(({ id, title }) => [id, title]))
  // With 1,000,000 products this can take longer than a statement of the service may.
}).pipe(Effect.provideService(Workload, "migration"))

/** Unexpected results of the accounts. */
export const refusals = (tallies: ReadonlyArray<Tally>) => ({
  wrong: tallies.flatMap(({ wrong }) => wrong),
  refusedWrites: tallies.reduce((sum, { refusedWrites }) => sum + refusedWrites, 0),
  refusedReads: tallies.reduce((sum, { refusedReads }) => sum + refusedReads, 0)
})

/** Accounts whose title is older than the last acknowledged one, or newer than the last one begun. */
export const lostWrites = (tallies: ReadonlyArray<Tally>, titles: ReadonlyMap<string, string>) =>
  tallies.flatMap(({ accountId, acknowledged, begun, entityId }) => {
    const number = Number(titles.get(entityId)?.slice(1))
    return number >= acknowledged && number <= begun
      ? []
      : [{ accountId, acknowledged, begun, found: titles.get(entityId) }]
  })
