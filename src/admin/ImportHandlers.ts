import { Effect } from "effect"
import { ImportId } from "../domain/Ids.ts"
import type { Acceptance, ConflictDecision, ImportRun } from "../domain/Import.ts"
import type { ImportProgress } from "../services/ImportStaging.ts"
import { Imports } from "../services/Imports.ts"
import { type ImportEvent, ImportRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { idOf } from "./Named.ts"
import { type Report, reported } from "./Reported.ts"

/** Progress, then the import as it is at the end. */
const importing = <E>(work: (report: Report<ImportProgress>) => Effect.Effect<ImportRun, E>) =>
  reported((report: Report<ImportEvent>) =>
    Effect.map(
      work((progress) => report({ _tag: "Progress", ...progress })),
      (run): ImportEvent => ({ _tag: "Done", run })
    )
  )

const importId = idOf(ImportId)

const acceptanceOf = ({
  remove,
  rest
}: {
  readonly rest: ConflictDecision | null
  readonly remove: boolean
}): Acceptance => ({ rest: rest ?? undefined, confirmsRemovals: remove })

export const ImportHandlers = ImportRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const imports = yield* Imports
    return {
      importCsv: ({ accept, account, path, store, ...choices }) =>
        importing((report) =>
          imports.csv(path, store, report).pipe(
            Effect.flatMap((run) =>
              accept ? imports.accept(run.id, report, acceptanceOf(choices)) : Effect.succeed(run)
            ),
            forAccount(account)
          )
        ),
      refreshStore: ({ accept, account, store, ...choices }) =>
        importing((report) =>
          imports.refresh(store.trim().toLowerCase(), report).pipe(
            Effect.flatMap((run) =>
              accept ? imports.accept(run.id, report, acceptanceOf(choices)) : Effect.succeed(run)
            ),
            forAccount(account)
          )
        ),
      listConflicts: ({ account, after, id, limit }) =>
        forAccount(account)(Effect.flatMap(importId(id), (known) => imports.conflicts(known, after, limit))),
      listRemovals: ({ account, after, id, limit }) =>
        forAccount(account)(Effect.flatMap(importId(id), (known) => imports.removals(known, after, limit))),
      decideImport: ({ account, conflicts, decision, id }) =>
        forAccount(account)(
          Effect.map(
            Effect.flatMap(importId(id), (known) => imports.decide(known, conflicts, decision)),
            (decided) => ({ decided })
          )
        ),
      acceptImport: ({ account, id, ...choices }) =>
        importing((report) =>
          importId(id).pipe(
            Effect.flatMap((known) => imports.accept(known, report, acceptanceOf(choices))),
            forAccount(account)
          )
        ),
      discardImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.discard)),
      showImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.get)),
      listImports: ({ account }) => forAccount(account)(imports.list)
    }
  })
)
