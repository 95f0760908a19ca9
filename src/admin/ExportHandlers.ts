import { Effect, Stream } from "effect"
import { Exports } from "../exports/Exports.ts"
import { CurrentActor } from "../model/Actor.ts"
import { makeChooseAccount } from "./ChosenAccount.ts"
import { ExportRpcs } from "./ExportRpcs.ts"

export const ExportHandlers = ExportRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const exports = yield* Exports
    return {
      exportJsonl: ({ account }) =>
        Stream.unwrap(
          Effect.map(chooseAccount(account), (accountId) =>
            Stream.provideService(exports.jsonl, CurrentActor, { _tag: "Cli", accountId })
          )
        )
    }
  })
)
