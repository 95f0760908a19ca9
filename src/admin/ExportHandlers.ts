import { Effect, Stream } from "effect"
import { ExportJobs } from "../exports/ExportJobs.ts"
import type { ExportSelection } from "../exports/ExportSelection.ts"
import { Exports } from "../exports/Exports.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { NotFound, ValidationFailed } from "../model/Errors.ts"
import { ExportRpcs, type SelectionRpc } from "./AdminRpcs.ts"
import { makeFiltersOf, makeFindStore } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"

/** Refuses unknown ids in words. */
const withKind = <A, R>(kind: EntityKind, parts: Stream.Stream<A, NotFound | Refusal | ValidationFailed, R>) =>
  Stream.catchTag(
    parts,
    "NotFound",
    () => new Refusal({ message: `There is no ${kind} with one of these ids.`, code: errorCode.NotFound })
  )

export const ExportHandlers = ExportRpcs.toLayer(
  Effect.gen(function* () {
    const exportJobs = yield* ExportJobs
    const exports = yield* Exports
    const filtersOf = yield* makeFiltersOf
    const findStore = yield* makeFindStore

    const selectionOf = ({ ids, kind, ...filters }: NonNullable<SelectionRpc>) =>
      ids === null
        ? Effect.map(filtersOf(filters), (found): ExportSelection => ({ kind, filters: found }))
        : Effect.succeed<ExportSelection>({ kind, ids })

    return {
      exportJsonl: ({ selection }) =>
        selection === null
          ? exports.jsonl
          : withKind(selection.kind, Stream.unwrap(Effect.map(selectionOf(selection), exports.selectedJsonl))),
      exportCsv: ({ forPublish, selection, store }) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const { id } = yield* findStore(store)
            const selected = selection === null ? null : yield* selectionOf(selection)
            return withKind("product", exports.csv(id, forPublish, selected))
          })
        ),
      publishExport: ({ exportId, store }) =>
        Effect.flatMap(findStore(store), ({ id }) => exportJobs.publish(id, exportId))
    }
  })
)
