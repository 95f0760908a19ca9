/**
 * Writes the title of one product after the other, as fast as a single writer can, until its stdin ends.
 * WRITER_DATABASE_URL and WRITER_ACCOUNT name the database and the account. Prints "ready" before the first write, and
 * one line for each write: its start (ms since 1970) and its duration (ms).
 */
import { Effect, Layer, Option, Redacted } from "effect"
import * as Database from "../../../src/database/Database.ts"
import { CatalogChange } from "../../../src/drafts/CatalogChange.ts"
import { CatalogChanges } from "../../../src/drafts/CatalogChanges.ts"
import { CurrentActor } from "../../../src/model/Actor.ts"
import { AccountId, EntityId } from "../../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { connected } from "./Catalog.ts"

const url = String(process.env.WRITER_DATABASE_URL)
const accountId = AccountId.make(String(process.env.WRITER_ACCOUNT))

let isOver = false
process.stdin
  .on("end", () => {
    isOver = true
  })
  .resume()

const idsOf = () =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly id: string }>(
      `SELECT id FROM entity WHERE account_id = $1 AND kind = 'product' ORDER BY md5(id::text) LIMIT 5000`,
      [accountId]
    )
    return rows.map(({ id }) => EntityId.make(id))
  })

const write = Effect.gen(function* () {
  const { apply } = yield* CatalogChanges
  const ids = yield* Effect.promise(idsOf)
  console.log("ready")
  for (let number = 0; !isOver; number++) {
    const entityId = ids[number % ids.length] ?? ids[0]
    if (entityId === undefined) return
    const start = Date.now()
    const before = performance.now()
    yield* apply([CatalogChange.SetAttributes({ entityId, values: { vendor: `Writer ${start}` } })])
    console.log(`${start} ${(performance.now() - before).toFixed(1)}`)
  }
})

const Live = Services.pipe(
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provide(Database.layer({ url: Option.some(Redacted.make(url)), dataDirectory: "", maxConnections: 2 }))
)

Effect.runPromise(
  write.pipe(Effect.provideService(CurrentActor, { _tag: "Cli", accountId }), Effect.provide(Live), Effect.scoped)
).then(() => process.exit(0))
