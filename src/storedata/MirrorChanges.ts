import { Effect } from "effect"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { type ChangeGroup, changesOfAll } from "../drafts/FeedChanges.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { TranslatedKind } from "../platform/Translation.ts"
import type { TakenOver } from "./MirrorRepo.ts"

/** Lists the changes that the feed shows after an import changed definitions or translations of a store. */
export const makeDescribeTaken = Effect.map(
  DraftsRepo,
  (drafts) =>
    (accountId: AccountId, storeId: StoreId, { isDefined, translated }: TakenOver) =>
      Effect.map(
        drafts.read(accountId, [], translated),
        ({ kinds }): ReadonlyArray<ChangeGroup> => [
          ...changesOfAll("definitions.updated", "store", isDefined ? [storeId] : [], storeId),
          ...TranslatedKind.literals.flatMap((kind) =>
            changesOfAll(
              "translations.updated",
              kind,
              translated.filter((id) => kinds.get(id) === kind),
              storeId
            )
          )
        ]
      )
)
