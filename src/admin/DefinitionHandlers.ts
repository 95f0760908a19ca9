import { Effect } from "effect"
import { OwnDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { Operations } from "../storedata/Operations.ts"
import { DefinitionRpcs } from "./AdminRpcs.ts"
import { makeForAccount } from "./ChosenAccount.ts"

export const DefinitionHandlers = DefinitionRpcs.toLayer(
  Effect.gen(function* () {
    const forAccount = yield* makeForAccount
    const definitions = yield* OwnDefinitions
    const operations = yield* Operations

    return {
      createDefinition: ({ account, definition }) => forAccount(account)(definitions.create(definition)),
      setDefinitionType: ({ account, key, owner, type }) =>
        forAccount(account)(definitions.setType({ owner_type: owner, key, type })),
      listDefinitions: ({ account, owner }) => forAccount(account)(operations.metafieldDefinitions(owner))
    }
  })
)
