import { Effect } from "effect"
import type { CatalogChange, LockedCatalog } from "../drafts/CatalogChange.ts"
import { noteOf } from "../drafts/ChangeNote.ts"
import { isEmpty, planChanges } from "../drafts/ChangePlan.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import type { PublishEvent } from "../drafts/History.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { PublicationContent } from "./PublicationContent.ts"
import type { NewPublication } from "./PublicationsRepo.ts"

/** The history events of one publication, one for each of these entities. */
export const toPublishEvents = (
  {
    content,
    draftRevision,
    entityId,
    storeId
  }: Pick<NewPublication, "draftRevision" | "entityId" | "storeId"> & { readonly content: PublicationContent },
  entityIds: ReadonlyArray<EntityId>,
  action: PublishEvent["action"],
  error: PublishError | null = null
): ReadonlyArray<PublishEvent> =>
  entityIds.map((id) => ({
    entityId: id,
    draftRevision:
      content._tag === "Draft" && id !== entityId ? (content.revisions[id] ?? draftRevision) : draftRevision,
    storeId,
    action,
    error
  }))

/**
 * Saves changes of publish states, and by `saveRecords` the rows that belong to them. Runs in the caller's transaction, under
 * its locks. The account's version is raised last.
 */
export const makeSavePublishStates = Effect.map(
  DraftsRepo,
  (drafts) =>
    (
      accountId: AccountId,
      locked: LockedCatalog,
      changes: ReadonlyArray<CatalogChange>,
      saveRecords: Effect.Effect<void>
    ) =>
      Effect.gen(function* () {
        const plan = yield* planChanges(locked, changes)
        yield* drafts.save(accountId, plan)
        yield* saveRecords
        if (!isEmpty(plan)) yield* drafts.raise(accountId, undefined, noteOf(plan))
      })
)
