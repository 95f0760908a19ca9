import { Effect, Layer, Option, Ref } from "effect"
import { MemoryStore } from "../database/MemoryStore.memory.ts"
import { metafieldDefinitions } from "../drafts/MirroredDefinitions.memory.ts"
import type { MetaobjectEntry } from "../model/Definition.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import * as Mirrored from "./MirroredRecords.memory.ts"
import { StoreDataRepo } from "./StoreDataRepo.ts"

const ofStores = (mirrored: Mirrored.OfAccount, stores: ReadonlyArray<StoreId> | null) =>
  stores === null ? mirrored : mirrored.filter(({ storeId }) => stores.includes(storeId))

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerStoreDataRepoMemory = Layer.effect(
  StoreDataRepo,
  Effect.map(MemoryStore, (store) => {
    const read = <A>(accountId: AccountId, use: (mirrored: Mirrored.OfAccount) => A) =>
      Effect.map(Ref.get(store), (state) => use(Mirrored.ofAccount(state.get(accountId))))
    return {
      markets: (accountId) => read(accountId, Mirrored.markets),
      market: (accountId, id) =>
        read(accountId, (mirrored) =>
          Option.fromNullable(Mirrored.markets(mirrored).find((market) => market.id === id))
        ),
      metafieldDefinitions: (accountId, stores, ownerType) =>
        Effect.map(Ref.get(store), (state) =>
          metafieldDefinitions(state.get(accountId), stores).filter(
            ({ owner_type }) => ownerType === null || owner_type === ownerType
          )
        ),
      metaobjectDefinitions: (accountId, stores) =>
        read(accountId, (mirrored) => Mirrored.metaobjectDefinitions(ofStores(mirrored, stores))),
      metaobjectEntries: (accountId, stores, definitionId) =>
        read(accountId, (all) => {
          const mirrored = ofStores(all, stores)
          return Option.map(
            Option.fromNullable(Mirrored.metaobjectDefinitions(mirrored).find(({ id }) => id === definitionId)),
            ({ type }) =>
              new JsonText<ReadonlyArray<MetaobjectEntry>>(JSON.stringify(Mirrored.metaobjectEntries(mirrored, type)))
          )
        }),
      translations: (accountId, kind, id) =>
        Effect.map(Ref.get(store), (state) => {
          const account = state.get(accountId)
          const entity = account?.entities.get(id)?.aggregate
          return entity?.kind === kind
            ? Option.some(Mirrored.translations(Mirrored.ofAccount(account), entity))
            : Option.none()
        })
    }
  })
)
