import { Effect } from "effect"
import type { Acceptance, ConflictDecision, ImportRun } from "../imports/Import.ts"
import type { ReportProgress } from "../imports/ImportStaging.ts"
import { Imports } from "../imports/Imports.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { ImportId } from "../model/Ids.ts"
import { type ImportEvent, ImportRpcs } from "./AdminRpcs.ts"
import { type Report, streamEvents } from "./EventStream.ts"
import { makeFindDomain, parseId } from "./FindByName.ts"

/** Makes a progress reporter for an import. Its id is null while it is not known yet. */
type ReportOf = (id: ImportId | null) => ReportProgress

const reporterOf =
  (send: Report<ImportEvent>): ReportOf =>
  (import_id) =>
  (progress) =>
    send({ _tag: "Progress", ...progress, import_id })

/** Streams progress events, then the import at its end. */
const importing = <E, R>(work: (reportOf: ReportOf, delivererOf: ReportOf) => Effect.Effect<ImportRun, E, R>) =>
  streamEvents((report: Report<ImportEvent>, deliver: Report<ImportEvent>) =>
    Effect.map(work(reporterOf(report), reporterOf(deliver)), (run): ImportEvent => ({ _tag: "Done", run }))
  )

const importId = parseId(ImportId)

interface Choices {
  readonly rest: ConflictDecision | null
  readonly remove: boolean
}

const acceptanceOf = ({ remove, rest }: Choices): Acceptance => ({ rest: rest ?? undefined, confirmsRemovals: remove })

export const ImportHandlers = ImportRpcs.toLayer(
  Effect.gen(function* () {
    const findDomain = yield* makeFindDomain
    const imports = yield* Imports
    /** Reads a source for the typed store. Also applies the import, if the command accepts it. */
    const importFor = <E>(
      { accept, store, ...choices }: Choices & { readonly accept: boolean; readonly store: string },
      read: (domain: string, report: ReportProgress) => Effect.Effect<ImportRun, E, CurrentActor>
    ) =>
      importing((reportOf, delivererOf) =>
        Effect.gen(function* () {
          const run = yield* read(yield* findDomain(store), reportOf(null))
          if (!accept) return run
          // The client has the id before the work begins, so that after an interruption it knows which import continues.
          yield* delivererOf(run.id)({ step: "applying", done: 0, total: 0 })
          return yield* imports.accept(run.id, reportOf(run.id), acceptanceOf(choices))
        })
      )
    return {
      importCsv: (request) => importFor(request, (domain, report) => imports.csv(request.path, domain, report)),
      refreshStore: (request) =>
        importFor(request, (domain, report) => imports.refresh(domain.trim().toLowerCase(), report)),
      listConflicts: ({ after, id, limit }) =>
        Effect.flatMap(importId(id), (parsed) => imports.conflicts(parsed, after, limit)),
      listRemovals: ({ after, id, limit }) =>
        Effect.flatMap(importId(id), (parsed) => imports.removals(parsed, after, limit)),
      decideImport: ({ conflicts, decision, id }) =>
        Effect.map(
          Effect.flatMap(importId(id), (parsed) => imports.decide(parsed, conflicts, decision)),
          (decided) => ({ decided })
        ),
      acceptImport: ({ id, ...choices }) =>
        importing((reportOf) =>
          importId(id).pipe(Effect.flatMap((parsed) => imports.accept(parsed, reportOf(parsed), acceptanceOf(choices))))
        ),
      discardImport: ({ id }) => Effect.flatMap(importId(id), imports.discard),
      showImport: ({ id }) => Effect.flatMap(importId(id), imports.get),
      listImports: () => imports.list,
      findLockingImport: () => imports.holder
    }
  })
)
