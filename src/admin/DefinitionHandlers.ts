import { Effect } from "effect"
import { OwnDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { Operations } from "../storedata/Operations.ts"
import { DefinitionRpcs } from "./AdminRpcs.ts"

export const DefinitionHandlers = DefinitionRpcs.toLayer(
  Effect.gen(function* () {
    const definitions = yield* OwnDefinitions
    const operations = yield* Operations

    return {
      createDefinition: ({ definition }) => definitions.create(definition),
      setDefinitionType: ({ key, owner, type }) => definitions.setType({ owner_type: owner, key, type }),
      listDefinitions: ({ owner }) => operations.metafieldDefinitions(owner)
    }
  })
)
