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

/** Streams progress events, then the import at its end. */
const importing = <E, R>(work: (reportOf: ReportOf) => Effect.Effect<ImportRun, E, R>) =>
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
    const findDomain = yield* makeFindDomain
    const imports = yield* Imports
    /** Reads a source for the typed store. Also applies the import, if the command accepts it. */
    const importFor = <E>(
      { accept, store, ...choices }: Choices & { readonly accept: boolean; readonly store: string },
      read: (domain: string, report: ReportProgress) => Effect.Effect<ImportRun, E, CurrentActor>
    ) =>
      importing((reportOf) =>
        Effect.gen(function* () {
          const run = yield* read(yield* findDomain(store), reportOf(null))
          if (!accept) return run
          const report = reportOf(run.id)
          // Reports the id before the work, so that a client that is interrupted later knows which import continues.
          yield* report({ step: "applying", done: 0, total: 0 })
          return yield* imports.accept(run.id, report, acceptanceOf(choices))
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
      listImports: () => imports.list
    }
  })
)
