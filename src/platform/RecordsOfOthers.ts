import { Context, Effect } from "effect"

/**
 * Which of these records of the store belong to other entities of the catalog. A publish looks for the record of a new entity by SKU and
 * handle too. It must not replace the record of another entity, which may have the same SKU or handle. Default: none.
 */
export class RecordsOfOthers extends Context.Reference<RecordsOfOthers>()("catalog/RecordsOfOthers", {
  defaultValue: (): {
    readonly among: (platformIds: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>
  } => ({ among: () => Effect.succeed(new Set<string>()) })
}) {}
