import { Effect } from "effect"
import { ValidationFailed } from "../domain/Errors.ts"
import { ImportId } from "../domain/Ids.ts"
import { findsNothing, type ImportRun } from "../domain/Import.ts"
import type { ImportProgress } from "../services/ImportStaging.ts"
import { Imports } from "../services/Imports.ts"
import { type ImportEvent, ImportRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { idOf, makeDomainNamed } from "./Named.ts"
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

/** A store that is empty all of a sudden is more often a fault than a wish: nobody accepts that without having seen it. */
const emptied = ({ id, storeDomain, summary: { unlinked } }: ImportRun) =>
  ValidationFailed.at(
    "store",
    `${storeDomain} holds nothing any more, so ${unlinked} products, variants, collections and files would be taken from it. If that is right: catalog import accept ${id}; else: catalog import discard ${id}`
  )

export const ImportHandlers = ImportRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const domainNamed = yield* makeDomainNamed
    const imports = yield* Imports
    return {
      importCsv: ({ accept, account, path, store }) =>
        importing((report) =>
          domainNamed(store).pipe(
            Effect.flatMap((domain) => imports.csv(path, domain, report)),
            Effect.flatMap((run) => (accept ? imports.accept(run.id, report) : Effect.succeed(run))),
            forAccount(account)
          )
        ),
      refreshStore: ({ accept, account, store }) =>
        importing((report) =>
          domainNamed(store).pipe(
            Effect.flatMap((domain) => imports.refresh(domain.trim().toLowerCase(), report)),
            Effect.flatMap((run) =>
              accept ? (findsNothing(run.summary) ? emptied(run) : imports.accept(run.id, report)) : Effect.succeed(run)
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
        importing((report) =>
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
