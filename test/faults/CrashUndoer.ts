/**
 * A process that undoes the writes of a connection, and dies by SIGKILL after its first committed transaction.
 * UNDO_DATABASE_URL, UNDO_ACCOUNT, UNDO_CONNECTION, UNDO_SINCE and UNDO_UNTIL describe the undo.
 */

import { Config, Effect, Layer, Option, Redacted, Schema } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { firstPart, Undo } from "../../src/connections/Undo.ts"
import { UndoRepo } from "../../src/connections/UndoRepo.ts"
import * as Database from "../../src/database/Database.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { AccountId, ConnectionId } from "../../src/model/Ids.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { endWithParent } from "./EndWithParent.ts"

const work = Effect.gen(function* () {
  const undo = yield* Undo
  const accountId = AccountId.make(yield* Config.string("UNDO_ACCOUNT"))
  const connectionId = ConnectionId.make(yield* Config.string("UNDO_CONNECTION"))
  const since = yield* Schema.decode(Timestamp)(yield* Config.string("UNDO_SINCE"))
  const until = yield* Schema.decode(Timestamp)(yield* Config.string("UNDO_UNTIL"))
  yield* Effect.provideService(undo.run(connectionId, { since, until }, firstPart), CurrentActor, {
    _tag: "Cli",
    accountId
  })
})

const Deadly = Layer.succeed(FaultInjector, {
  at: () =>
    Effect.suspend(() => {
      process.kill(process.pid, "SIGKILL")
      return Effect.never
    })
})

const DatabaseLive = Layer.unwrapEffect(
  Effect.map(Config.string("UNDO_DATABASE_URL"), (url) =>
    Database.layer({ url: Option.some(Redacted.make(url)), dataDirectory: "", maxConnections: 2 })
  )
)

endWithParent()

const Undoing = Undo.layer.pipe(
  Layer.provideMerge(CatalogChanges.layer),
  Layer.provide(MetafieldDefinitions.layer),
  Layer.provide(Deadly),
  Layer.provide(
    Layer.mergeAll(
      CatalogRepo.layer,
      DefinitionsRepo.layer,
      DraftsRepo.layer,
      HistoryRepo.layer,
      ImportLockRepo.layer,
      Transaction.layer,
      UndoRepo.layer
    )
  ),
  Layer.provide(DatabaseLive)
)

const end = Effect.sync((): void => process.exit(1))

Effect.runFork(
  work.pipe(
    Effect.provide(Undoing),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => end)
  )
)
