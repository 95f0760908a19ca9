import { Effect, type Option, Queue, Schema, Stream } from "effect"
import { CurrentActor } from "../domain/Actor.ts"
import { NotFound } from "../domain/Errors.ts"
import { ImportId } from "../domain/Ids.ts"
import type { ImportRun } from "../domain/Import.ts"
import { Accounts } from "../services/Accounts.ts"
import type { ImportProgress } from "../services/ImportComparison.ts"
import { Imports } from "../services/Imports.ts"
import { type ImportEvent, ImportRpcs, type Refusal } from "./AdminRpcs.ts"
import { chooseAccount } from "./ChosenAccount.ts"

/** Progress as it comes, the newest when the terminal is slow, then the import as it is at the end. */
const reported = <E>(
  work: (report: (progress: ImportProgress) => Effect.Effect<void>) => Effect.Effect<ImportRun, E>
) =>
  Stream.unwrap(
    Effect.map(Queue.sliding<ImportEvent>(4), (events) =>
      Stream.merge(
        Stream.fromQueue(events),
        Stream.fromEffect(
          Effect.map(
            work((progress) => Queue.offer(events, { _tag: "Progress", ...progress })),
            (run): ImportEvent => ({ _tag: "Done", run })
          )
        ),
        { haltStrategy: "right" }
      )
    )
  )

const importId = (text: string) => Effect.mapError(Schema.decode(ImportId)(text.toLowerCase()), () => new NotFound())

export const ImportHandlers = ImportRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const imports = yield* Imports
    const forAccount =
      (named: Option.Option<string>) =>
      <A, E>(work: Effect.Effect<A, E, CurrentActor>): Effect.Effect<A, E | Refusal> =>
        Effect.flatMap(chooseAccount(accounts, named), (accountId) =>
          Effect.provideService(work, CurrentActor, { _tag: "Cli", accountId })
        )
    return {
      importCsv: ({ accept, account, path, store }) =>
        reported((report) =>
          imports.csv(path, store, report).pipe(
            Effect.flatMap((run) => (accept ? imports.accept(run.id, report) : Effect.succeed(run))),
            forAccount(account)
          )
        ),
      acceptImport: ({ account, id }) =>
        reported((report) =>
          importId(id).pipe(
            Effect.flatMap((known) => imports.accept(known, report)),
            forAccount(account)
          )
        ),
      discardImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.discard)),
      showImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.get)),
      listImports: ({ account }) => forAccount(account)(imports.list)
    }
  })
)
