import { RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AttributeEdit } from "../model/AttributeRules.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { accountRpc } from "./AccountRpc.ts"
import { listFilters, optionalText } from "./ListFilters.ts"

export const BulkRpcs = RpcGroup.make(
  /**
   * Begins a job that changes the drafts of all entities of a kind that the filters find. `store`: the store whose override `edit`
   * writes, or, without `edit`, the store to which the entities are added. `on`: only entities on this store. Refusal: no such store is
   * linked, or the filters find nothing. ValidationFailed: the field or the value is wrong, or the filters find too many.
   */
  accountRpc(
    "beginBulk",
    { kind: EntityKind, edit: Schema.NullOr(AttributeEdit), store: optionalText, ...listFilters },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  )
)
