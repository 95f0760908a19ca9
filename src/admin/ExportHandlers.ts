import { Effect, type Option, Stream } from "effect"
import { ExportJobs } from "../exports/ExportJobs.ts"
import { Exports } from "../exports/Exports.ts"
import { CurrentActor } from "../model/Actor.ts"
import { makeChooseAccount, makeForAccount } from "./ChosenAccount.ts"
import { ExportRpcs } from "./ExportRpcs.ts"
import { makeFindStore } from "./FindByName.ts"

export const ExportHandlers = ExportRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const exportJobs = yield* ExportJobs
    const exports = yield* Exports
    const forAccount = yield* makeForAccount
    const findStore = yield* makeFindStore

    const streamFor =
      (account: Option.Option<string>) =>
      <A, E>(stream: Stream.Stream<A, E, CurrentActor>) =>
        Stream.unwrap(
          Effect.map(chooseAccount(account), (accountId) =>
            Stream.provideService(stream, CurrentActor, { _tag: "Cli", accountId })
          )
        )

    return {
      exportJsonl: ({ account }) => streamFor(account)(exports.jsonl),
      exportCsv: ({ account, forPublish, store }) =>
        streamFor(account)(Stream.unwrap(Effect.map(findStore(store), ({ id }) => exports.csv(id, forPublish)))),
      publishExport: ({ account, exportId, store }) =>
        forAccount(account)(Effect.flatMap(findStore(store), ({ id }) => exportJobs.publish(id, exportId)))
    }
  })
)
