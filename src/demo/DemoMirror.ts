import { Effect } from "effect"
import { emptyNote } from "../drafts/ChangeNote.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { ChangeGroup } from "../drafts/FeedChanges.ts"
import { type AccountId, type EntityId, ImportId } from "../model/Ids.ts"
import { demoPlatformId } from "../platform/demo/DemoRecords.ts"
import { DemoShops } from "../platform/demo/DemoShops.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Mirror } from "../storedata/Mirror.ts"
import { makeDescribeTaken } from "../storedata/MirrorChanges.ts"
import type { DemoStores } from "./DemoCatalog.ts"
import { demoSections } from "./DemoSections.ts"

/**
 * Writes the markets, definitions and translations of the demo's shops, and copies them to the account as a refresh does. Runs
 * in the caller's transaction, after the products were created.
 */
export const makeDemoMirror = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const mirror = yield* Mirror
  const shops = yield* DemoShops
  const describeTaken = yield* makeDescribeTaken

  return (accountId: AccountId, stores: DemoStores) =>
    Effect.gen(function* () {
      const entities: Array<EntityId> = []
      const changes: Array<ChangeGroup> = []
      for (const { sections, store } of demoSections(stores, demoPlatformId)) {
        const { domain, id: storeId, platform } = store
        yield* shops.putSections({ accountId, storeId }, sections)
        const importId = yield* mintId(ImportId)
        yield* mirror.stage(accountId, importId, { accountId, storeId, domain, platform, credentials: {} })
        const applied = yield* mirror.apply(accountId, importId, storeId)
        entities.push(...applied.translated)
        changes.push(...(yield* describeTaken(accountId, storeId, applied)))
        yield* mirror.forget(accountId, importId)
      }
      yield* drafts.raise(accountId, undefined, { ...emptyNote, changes, entities })
    })
})
