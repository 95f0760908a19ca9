import { type Context, Effect, Either, Option } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import type { StoreId } from "../model/Ids.ts"
import { giveWay } from "../runtime/Pause.ts"
import { type CatalogChange, idsOf, type LockedCatalog, ownersOf, type Plan } from "./CatalogChange.ts"
import { isEmpty, joinPlans, planChanges } from "./ChangePlan.ts"
import type { DraftsRepo } from "./DraftsRepo.ts"
import { layerChanges } from "./History.ts"
import type { Author, HistoryRepo } from "./HistoryRepo.ts"

/** A write that is based on a state in which none of its `owners` and `references` exists, and these stores are linked. */
export interface PlannedAhead extends ReturnType<typeof idsOf> {
  readonly write: Effect.Effect<void>
  readonly storeIds: ReadonlyArray<StoreId>
}

/** Whether the locked state is the one that the write is based on. */
export const isStill = ({ aggregates, kinds, storeIds }: LockedCatalog, ahead: PlannedAhead): boolean =>
  aggregates.size === 0 &&
  kinds.size === 0 &&
  storeIds.length === ahead.storeIds.length &&
  storeIds.every((id, index) => id === ahead.storeIds[index])

/** Whether changes write only entities that they create. */
const onlyCreates = (changes: ReadonlyArray<CatalogChange>): boolean => {
  const created = new Set(changes.flatMap((change) => (change._tag === "CreateEntity" ? [change.id] : [])))
  return changes.every((change) => ownersOf(change).every((id) => created.has(id)))
}

/** Plans of imports, whose statements are built before they run. */
export const makeImportedPlans = (
  drafts: Context.Tag.Service<DraftsRepo>,
  history: Context.Tag.Service<HistoryRepo>
) => {
  /** Builds the statements of a plan, and returns an effect that runs them in the import's transaction. */
  const prepare = (locked: LockedCatalog, plan: Plan, author: Author) =>
    Effect.flatMap(CurrentActor, ({ accountId }) =>
      isEmpty(plan)
        ? Effect.succeed(Effect.void)
        : Effect.map(drafts.prepareStamped(accountId, plan), (save) =>
            Effect.zipRight(
              save,
              history.record(accountId, author, layerChanges(plan, locked.revisions), locked.sequences)
            )
          )
    )

  return {
    prepare,
    planAhead: (groups: ReadonlyArray<ReadonlyArray<CatalogChange>>, author: Author) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        const none = yield* drafts.read(accountId, [], [])
        const kinds = new Map(none.kinds)
        const plans: Array<Plan> = []
        for (const changes of groups) {
          if (!onlyCreates(changes)) return Option.none<PlannedAhead>()
          const planned = planChanges({ ...none, kinds }, changes)
          if (Either.isLeft(planned)) return Option.none<PlannedAhead>()
          plans.push(planned.right)
          for (const { id, kind } of planned.right.created) kinds.set(id, kind)
          yield* giveWay
        }
        const write = yield* prepare(none, joinPlans(plans), author)
        return Option.some<PlannedAhead>({ ...idsOf(groups.flat()), write, storeIds: none.storeIds })
      })
  }
}
