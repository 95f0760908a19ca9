import { Effect, type Option, Stream } from "effect"
import { ExportJobs } from "../exports/ExportJobs.ts"
import type { ExportSelection } from "../exports/ExportSelection.ts"
import { Exports } from "../exports/Exports.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { NotFound, ValidationFailed } from "../model/Errors.ts"
import { makeChooseAccount, makeForAccount } from "./ChosenAccount.ts"
import { ExportRpcs, type SelectionRpc } from "./ExportRpcs.ts"
import { makeFiltersOf } from "./FiltersOf.ts"
import { makeFindStore } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"

/** Refuses unknown ids in words. */
const named = <A, R>(kind: EntityKind, parts: Stream.Stream<A, NotFound | Refusal | ValidationFailed, R>) =>
  Stream.catchTag(
    parts,
    "NotFound",
    () => new Refusal({ message: `There is no ${kind} with one of these ids.`, code: errorCode.NotFound })
  )

export const ExportHandlers = ExportRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const exportJobs = yield* ExportJobs
    const exports = yield* Exports
    const forAccount = yield* makeForAccount
    const filtersOf = yield* makeFiltersOf
    const findStore = yield* makeFindStore

    const selectionOf = ({ ids, kind, ...filters }: NonNullable<SelectionRpc>) =>
      ids === null
        ? Effect.map(filtersOf(filters), (found): ExportSelection => ({ kind, filters: found }))
        : Effect.succeed<ExportSelection>({ kind, ids })

    const streamFor =
      (account: Option.Option<string>) =>
      <A, E>(stream: Stream.Stream<A, E, CurrentActor>) =>
        Stream.unwrap(
          Effect.map(chooseAccount(account), (accountId) =>
            Stream.provideService(stream, CurrentActor, { _tag: "Cli", accountId })
          )
        )

    return {
      exportJsonl: ({ account, selection }) =>
        streamFor(account)(
          selection === null
            ? exports.jsonl
            : named(selection.kind, Stream.unwrap(Effect.map(selectionOf(selection), exports.selectedJsonl)))
        ),
      exportCsv: ({ account, forPublish, selection, store }) =>
        streamFor(account)(
          Stream.unwrap(
            Effect.gen(function* () {
              const { id } = yield* findStore(store)
              return named(
                "product",
                exports.csv(id, forPublish, selection === null ? null : yield* selectionOf(selection))
              )
            })
          )
        ),
      publishExport: ({ account, exportId, store }) =>
        forAccount(account)(Effect.flatMap(findStore(store), ({ id }) => exportJobs.publish(id, exportId)))
    }
  })
)
