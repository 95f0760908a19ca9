/**
 * A process that keeps a copy of an account by the feed, in the file FEED_FILE, until it is killed. FEED_DATABASE_URL
 * is the database, FEED_ACCOUNT the account. FEED_CARELESS plants a fault: the cursor is saved before the entities.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { Config, Effect, Layer, Redacted, Schedule } from "effect"
import * as Database from "../../src/database/Database.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs } from "../../src/testing/index.ts"
import { type Copy, copyAll, feedPage, follow } from "../support/FeedMirror.ts"
import { endWithParent } from "./EndWithParent.ts"

const limit = 20

const keepCopy = Effect.gen(function* () {
  const file = yield* Config.string("FEED_FILE")
  const isCareless = yield* Config.boolean("FEED_CARELESS").pipe(Config.withDefault(false))
  const accountId = AccountId.make(yield* Config.string("FEED_ACCOUNT"))
  const save = (copy: Copy) =>
    Effect.sync(() => {
      writeFileSync(`${file}.new`, JSON.stringify(copy))
      renameSync(`${file}.new`, file)
    })
  const saved = Effect.try((): Copy => JSON.parse(readFileSync(file, "utf8")))
  yield* Effect.gen(function* () {
    const copy = yield* Effect.orElse(saved, () => Effect.tap(copyAll, save))
    process.stdout.write("following\n")
    const ahead = Effect.gen(function* () {
      const { next_cursor } = yield* feedPage(copy.cursor, limit)
      yield* save({ ...copy, cursor: next_cursor })
    })
    yield* Effect.repeat(
      Effect.zipRight(isCareless ? ahead : Effect.void, follow(copy, limit, save)),
      Schedule.spaced("5 millis")
    )
  }).pipe(actingAs({ _tag: "Cli", accountId }))
})

endWithParent()

const DatabaseLive = Layer.unwrapEffect(
  Effect.map(Config.string("FEED_DATABASE_URL"), (url) =>
    Database.layerServer({ url: Redacted.make(url), maxConnections: 3 })
  )
)

Effect.runFork(
  keepCopy.pipe(
    Effect.provide(Services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provide(DatabaseLive))),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => Effect.sync((): void => process.exit(1)))
  )
)
