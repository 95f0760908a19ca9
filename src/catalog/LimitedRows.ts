import { type Context, Effect } from "effect"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import type { CatalogRepo } from "./CatalogRepo.ts"
import { matches, type Needle } from "./SearchText.ts"

/** The members of a list row that depend on stores. */
interface StateOfRow {
  readonly id: EntityId
  readonly pending_publish: boolean
  readonly last_publish_status: string
}

const rowsIn = (rows: string) => JSON.parse(`[${rows}]`) as ReadonlyArray<StateOfRow>

/** The ids of list rows. `rows`: JSON text, comma-separated, without brackets. */
export const idsIn = (rows: string): ReadonlyArray<EntityId> => rowsIn(rows).map(({ id }) => id)

/**
 * Limits list rows, as JSON text without brackets, to the stores that the caller can use: the publish state is that of these
 * stores, and rows are left out that are on other stores only, or that the needles match only by a value of another store.
 * Returns a function, so that several lists share one query. `lists`: all rows that it will be called with.
 */
export const makeLimitRows =
  (repo: Pick<Context.Tag.Service<CatalogRepo>, "limitedTo">) =>
  (
    accountId: AccountId,
    lists: ReadonlyArray<string>,
    needles: ReadonlyArray<Needle> = []
  ): Effect.Effect<(rows: string) => string> =>
    Effect.gen(function* () {
      const { stores } = yield* CurrentBounds
      if (stores === null) return (rows) => rows
      const limited = yield* repo.limitedTo(accountId, stores, lists.flatMap(idsIn))
      return (rows) =>
        rowsIn(rows)
          .flatMap((row) => {
            const aggregate = limited.get(row.id)
            if (aggregate === undefined || !matches(aggregate.searchText, needles)) return []
            return [
              JSON.stringify({
                ...row,
                pending_publish: aggregate.pendingPublish,
                last_publish_status: aggregate.lastPublishStatus
              })
            ]
          })
          .join(",")
    })
