/**
 * A process that imports for several accounts, and dies by SIGKILL when each import has come to its named step and waits
 * there. IMPORT_DATABASE_URL names the database; IMPORT_DEATHS names the accounts, their steps and the occurrences of the
 * steps. IMPORT_FILE is a file for the store a.example, IMPORT_REFRESH the domain of a demo store; without both, the process
 * takes over unfinished imports. IMPORT_CARELESS plants a fault: items are marked as done in a transaction of their own.
 */

import { SqlClient } from "@effect/sql"
import { Config, Context, Effect, Layer, Option, Schema } from "effect"
import { LeaseHolder } from "../../src/database/LeaseHolder.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { CatalogChanges } from "../../src/drafts/CatalogChanges.ts"
import { DefinitionsRepo } from "../../src/drafts/DefinitionsRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { PulledRecordsRepo } from "../../src/imports/PulledRecordsRepo.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { layerOfflinePlatforms } from "../../src/platform/Platforms.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { Mirror } from "../../src/storedata/Mirror.ts"
import { MirrorRepo } from "../../src/storedata/MirrorRepo.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { endWithParent } from "./EndWithParent.ts"
import { dieAt, layerPatientServer, runUntilKilled, workUntilDeath } from "./OwnDeath.ts"

const Deaths = Schema.Array(Schema.Struct({ accountId: AccountId, step: Schema.String, occurrence: Schema.Number }))

const work = Effect.gen(function* () {
  const imports = yield* Imports
  const deaths = yield* Schema.Config("IMPORT_DEATHS", Schema.parseJson(Deaths))
  const file = Option.getOrUndefined(yield* Config.option(Config.string("IMPORT_FILE")))
  const refreshed = Option.getOrUndefined(yield* Config.option(Config.string("IMPORT_REFRESH")))
  const quiet = () => Effect.void
  const bring = Effect.gen(function* () {
    const { id } =
      file === undefined ? yield* imports.refresh(refreshed ?? "", quiet) : yield* imports.csv(file, "a.example", quiet)
    yield* imports.accept(id, quiet)
  })
  yield* workUntilDeath(deaths, ({ accountId }) =>
    file === undefined && refreshed === undefined
      ? Effect.asVoid(imports.resume(Option.some(accountId)))
      : Effect.provideService(bring, CurrentActor, { _tag: "Cli", accountId })
  )
})

const Deadly = Layer.succeed(FaultInjector, { at: dieAt })

const outside = <A>(statement: Effect.Effect<A>) =>
  Effect.mapInputContext(statement, (context: Context.Context<never>) =>
    Context.omit(SqlClient.TransactionConnection)(context as Context.Context<SqlClient.TransactionConnection>)
  )

const Careless = Layer.effect(
  ImportsRepo,
  Effect.map(ImportsRepo, (repo) => ({
    ...repo,
    // Otherwise its lock on the import would block the next statement.
    holds: (...lease: Parameters<typeof repo.holds>) => outside(repo.holds(...lease)),
    markDone: (...item: Parameters<typeof repo.markDone>) => outside(repo.markDone(...item))
  }))
).pipe(Layer.provide(ImportsRepo.layer))

const Marking = Layer.unwrapEffect(
  Effect.map(Config.withDefault(Config.boolean("IMPORT_CARELESS"), false), (careless) =>
    careless ? Careless : ImportsRepo.layer
  )
)

const DatabaseLive = layerPatientServer("IMPORT_DATABASE_URL", 12)

/**
 * The holder's name is that of another machine, where nobody can see that the process has ended, so its lease must
 * expire.
 */
const ElsewhereHolder = Layer.succeed(LeaseHolder, { name: `elsewhere ${process.pid}`, isGone: () => false })

endWithParent()

const Importing = Imports.layer.pipe(
  Layer.provide(Deadly),
  Layer.provide(
    Layer.mergeAll(CatalogChanges.layer, Jobs.layer, MetafieldDefinitions.layer, Mirror.layer, StoreAccess.layer)
  ),
  Layer.provide(SecretBox.layer),
  Layer.provide(
    Layer.mergeAll(
      layerOfflinePlatforms.pipe(Layer.provide(DemoShops.layer), Layer.provide(Transaction.layer)),
      DraftsRepo.layer,
      HistoryRepo.layer,
      ImportLockRepo.layer,
      JobsRepo.layer,
      Marking,
      MirrorRepo.layer,
      DefinitionsRepo.layer,
      PulledRecordsRepo.layer,
      StoresRepo.layer,
      Transaction.layer
    )
  ),
  Layer.provide(ElsewhereHolder),
  Layer.provide(DatabaseLive)
)

runUntilKilled(Effect.provide(work, Importing))
