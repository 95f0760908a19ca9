import { Effect } from "effect"
import { ValidationFailed } from "../domain/Errors.ts"
import { ImportId } from "../domain/Ids.ts"
import { findsNothing, type ImportRun } from "../domain/Import.ts"
import type { ReportProgress } from "../services/ImportStaging.ts"
import { Imports } from "../services/Imports.ts"
import { type ImportEvent, ImportRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { idOf } from "./Named.ts"
import { type Report, reported } from "./Reported.ts"

/** Reports progress before the id of the import is known (null), or with it. */
type ReportOf = (id: ImportId | null) => ReportProgress

/** Progress, then the import as it is at the end. */
const importing = <E>(work: (reportOf: ReportOf) => Effect.Effect<ImportRun, E>) =>
  reported((report: Report<ImportEvent>) =>
    Effect.map(
      work((import_id) => (progress) => report({ _tag: "Progress", ...progress, import_id })),
      (run): ImportEvent => ({ _tag: "Done", run })
    )
  )

const importId = idOf(ImportId)

/** A store that is empty all of a sudden is more often a fault than a wish: nobody accepts that without having seen it. */
const emptied = ({ id, storeDomain, summary: { unlinked } }: ImportRun) =>
  ValidationFailed.at(
    "store",
    `${storeDomain} holds nothing any more, so ${unlinked} products, variants, collections and files would be taken from it. If that is right: catalog import accept ${id}; else: catalog import discard ${id}`
  )

export const ImportHandlers = ImportRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const imports = yield* Imports
    /** Whoever is interrupted from here on has to know which import goes on without them. */
    const accept = (id: ImportId, reportOf: ReportOf) =>
      Effect.zipRight(reportOf(id)({ step: "applying", done: 0, total: 0 }), imports.accept(id, reportOf(id)))
    return {
      importCsv: ({ accept: isAccepted, account, path, store }) =>
        importing((reportOf) =>
          imports.csv(path, store, reportOf(null)).pipe(
            Effect.flatMap((run) => (isAccepted ? accept(run.id, reportOf) : Effect.succeed(run))),
            forAccount(account)
          )
        ),
      refreshStore: ({ accept: isAccepted, account, store }) =>
        importing((reportOf) =>
          imports.refresh(store.trim().toLowerCase(), reportOf(null)).pipe(
            Effect.flatMap((run) =>
              isAccepted ? (findsNothing(run.summary) ? emptied(run) : accept(run.id, reportOf)) : Effect.succeed(run)
            ),
            forAccount(account)
          )
        ),
      listConflicts: ({ account, after, id, limit }) =>
        forAccount(account)(Effect.flatMap(importId(id), (known) => imports.conflicts(known, after, limit))),
      decideImport: ({ account, conflicts, decision, id }) =>
        forAccount(account)(
          Effect.map(
            Effect.flatMap(importId(id), (known) => imports.decide(known, conflicts, decision)),
            (decided) => ({ decided })
          )
        ),
      acceptImport: ({ account, id }) =>
        importing((reportOf) =>
          importId(id).pipe(
            Effect.flatMap((known) => imports.accept(known, reportOf(known))),
            forAccount(account)
          )
        ),
      discardImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.discard)),
      showImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.get)),
      listImports: ({ account }) => forAccount(account)(imports.list)
    }
  })
)
