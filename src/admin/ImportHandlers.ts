import { Effect } from "effect"
import type { Acceptance, ConflictDecision, ImportRun } from "../imports/Import.ts"
import type { ReportProgress } from "../imports/ImportStaging.ts"
import { Imports } from "../imports/Imports.ts"
import { ImportId } from "../model/Ids.ts"
import { type ImportEvent, ImportRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { makeFindDomain, parseId } from "./FindByName.ts"

/** Makes a progress reporter for an import. Its id is null while it is not known yet. */
type ReportOf = (id: ImportId | null) => ReportProgress

/** Streams progress events, then the import at its end. */
const importing = <E>(work: (reportOf: ReportOf) => Effect.Effect<ImportRun, E>) =>
  streamEvents((report: Report<ImportEvent>) =>
    Effect.map(
      work((import_id) => (progress) => report({ _tag: "Progress", ...progress, import_id })),
      (run): ImportEvent => ({ _tag: "Done", run })
    )
  )

const importId = parseId(ImportId)

interface Choices {
  readonly rest: ConflictDecision | null
  readonly remove: boolean
}

const acceptanceOf = ({ remove, rest }: Choices): Acceptance => ({ rest: rest ?? undefined, confirmsRemovals: remove })

export const ImportHandlers = ImportRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const findDomain = yield* makeFindDomain
    const imports = yield* Imports
    /** Reports the id before the work, so that a client that is interrupted later knows which import continues. */
    const accept = (id: ImportId, reportOf: ReportOf, choices: Choices) =>
      Effect.zipRight(
        reportOf(id)({ step: "applying", done: 0, total: 0 }),
        imports.accept(id, reportOf(id), acceptanceOf(choices))
      )
    return {
      importCsv: ({ accept: isAccepted, account, path, store, ...choices }) =>
        importing((reportOf) =>
          findDomain(store).pipe(
            Effect.flatMap((domain) => imports.csv(path, domain, reportOf(null))),
            Effect.flatMap((run) => (isAccepted ? accept(run.id, reportOf, choices) : Effect.succeed(run))),
            forAccount(account)
          )
        ),
      refreshStore: ({ accept: isAccepted, account, store, ...choices }) =>
        importing((reportOf) =>
          findDomain(store).pipe(
            Effect.flatMap((domain) => imports.refresh(domain.trim().toLowerCase(), reportOf(null))),
            Effect.flatMap((run) => (isAccepted ? accept(run.id, reportOf, choices) : Effect.succeed(run))),
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
        importing((reportOf) =>
          importId(id).pipe(
            Effect.flatMap((known) => imports.accept(known, reportOf(known), acceptanceOf(choices))),
            forAccount(account)
          )
        ),
      discardImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.discard)),
      showImport: ({ account, id }) => forAccount(account)(Effect.flatMap(importId(id), imports.get)),
      listImports: ({ account }) => forAccount(account)(imports.list)
    }
  })
)
