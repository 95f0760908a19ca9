/**
 * A process that imports for one account, and dies by SIGKILL at a named step. IMPORT_DATABASE_URL, IMPORT_ACCOUNT and
 * IMPORT_FILE (into the store a.example; without it the process takes over what is left) say what it does, IMPORT_STEP and
 * IMPORT_OCCURRENCE where it dies; IMPORT_CARELESS plants the wrong variant, which marks items done in a transaction of
 * its own.
 */
import { SqlClient } from "@effect/sql"
import { Config, Context, Effect, Layer, Option } from "effect"
import * as Database from "../../src/database/Database.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { CurrentActor } from "../../src/domain/Actor.ts"
import { AccountId } from "../../src/domain/Ids.ts"
import { DraftsRepo } from "../../src/repos/DraftsRepo.ts"
import { HistoryRepo } from "../../src/repos/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/repos/ImportLockRepo.ts"
import { ImportsRepo } from "../../src/repos/ImportsRepo.ts"
import { StoresRepo } from "../../src/repos/StoresRepo.ts"
import { CatalogChanges } from "../../src/services/CatalogChanges.ts"
import { FaultInjector } from "../../src/services/FaultInjector.ts"
import { Imports } from "../../src/services/Imports.ts"

const work = Effect.gen(function* () {
  const imports = yield* Imports
  const accountId = AccountId.make(yield* Config.string("IMPORT_ACCOUNT"))
  const file = yield* Config.option(Config.string("IMPORT_FILE"))
  const quiet = () => Effect.void
  yield* Option.match(file, {
    onNone: () => imports.resume(Option.some(accountId)),
    onSome: (path) =>
      Effect.flatMap(imports.csv(path, "a.example", quiet), ({ id }) => imports.accept(id, quiet)).pipe(
        Effect.provideService(CurrentActor, { _tag: "Cli", accountId })
      )
  })
})

const Deadly = Layer.effect(
  FaultInjector,
  Effect.gen(function* () {
    const deadly = yield* Config.string("IMPORT_STEP")
    const occurrence = yield* Config.integer("IMPORT_OCCURRENCE")
    let occurred = 0
    return {
      at: (step) =>
        Effect.suspend(() => {
          if (step !== deadly || ++occurred < occurrence) return Effect.void
          process.kill(process.pid, "SIGKILL")
          return Effect.never
        })
    }
  })
)

const Careless = Layer.effect(
  ImportsRepo,
  Effect.map(ImportsRepo, (repo) => ({
    ...repo,
    markDone: (...item: Parameters<typeof repo.markDone>) =>
      Effect.mapInputContext(repo.markDone(...item), (context: Context.Context<never>) =>
        Context.omit(SqlClient.TransactionConnection)(context as Context.Context<SqlClient.TransactionConnection>)
      )
  }))
).pipe(Layer.provide(ImportsRepo.layer))

const Marking = Layer.unwrapEffect(
  Effect.map(Config.withDefault(Config.boolean("IMPORT_CARELESS"), false), (careless) =>
    careless ? Careless : ImportsRepo.layer
  )
)

const DatabaseLive = Layer.unwrapEffect(
  Effect.map(Config.redacted("IMPORT_DATABASE_URL"), (url) => Database.layerServer({ url, maxConnections: 3 }))
)

// Whoever started this process and is gone cannot kill it any more.
process.stdin.on("end", () => process.exit(1)).resume()

const Importing = Imports.layer.pipe(
  Layer.provide(Deadly),
  Layer.provide(CatalogChanges.layer),
  Layer.provide(
    Layer.mergeAll(
      DraftsRepo.layer,
      HistoryRepo.layer,
      ImportLockRepo.layer,
      Marking,
      StoresRepo.layer,
      Transaction.layer
    )
  ),
  Layer.provide(DatabaseLive)
)

Effect.runFork(
  work.pipe(
    Effect.provide(Importing),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => Effect.sync((): void => process.exit(1)))
  )
)
