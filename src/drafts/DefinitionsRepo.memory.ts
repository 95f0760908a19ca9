import { Effect, Layer, Option, Ref } from "effect"
import { MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { fits } from "../model/KeyRule.ts"
import { DefinitionsRepo } from "./DefinitionsRepo.ts"
import { metafieldDefinitions, metafieldRules } from "./MirroredDefinitions.memory.ts"

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerDefinitionsRepoMemory = Layer.effect(
  DefinitionsRepo,
  Effect.map(MemoryStore, (store) => ({
    find: (accountId, ownerType, namespace, key) =>
      Effect.map(Ref.get(store), (state) =>
        Option.fromNullable(
          metafieldDefinitions(state.get(accountId), null).find(
            (each) => each.owner_type === ownerType && each.namespace === namespace && each.key === key
          )
        )
      ),
    mistyped: (accountId, { key, kind, type }, after, limit) =>
      Effect.map(Ref.get(store), (state) =>
        [...(state.get(accountId)?.entities.values() ?? [])]
          .filter(
            ({ aggregate: { attributes, id, kind: entityKind, versions } }) =>
              entityKind === kind &&
              id > after &&
              [
                attributes,
                ...versions.flatMap(({ accepted, overrides }) => [overrides, accepted?.attributes ?? {}])
              ].some((layer) => {
                const stored = layer[key]
                return stored !== undefined && stored.type !== type && fits({ type }, stored.value)
              })
          )
          .map(({ aggregate }) => aggregate.id)
          .sort()
          .slice(0, limit)
      ),
    metafields: (accountId, stores) =>
      Effect.map(Ref.get(store), (state) => metafieldRules(state.get(accountId), stores)),
    define: (accountId, id, definition) =>
      updateAccount(store, accountId, (account) => {
        const { key, namespace, owner_type } = definition
        const name = `metafield_definition ${owner_type} ${namespace} ${key}`
        const recordId = account.recordIds.get(name) ?? id
        return {
          ...account,
          recordIds: new Map(account.recordIds).set(name, recordId),
          definitions: new Map(account.definitions).set(recordId, definition)
        }
      }),
    undefine: (accountId, ownerType, namespace, key) =>
      Effect.gen(function* () {
        const { definitions } = (yield* Ref.get(store)).get(accountId) ?? { definitions: new Map() }
        const found = [...definitions].find(
          ([, each]) => each.owner_type === ownerType && each.namespace === namespace && each.key === key
        )
        if (found === undefined) return Option.none()
        yield* updateAccount(store, accountId, (account) => ({
          ...account,
          definitions: new Map([...account.definitions].filter(([id]) => id !== found[0]))
        }))
        return Option.some(found[0])
      })
  }))
)
