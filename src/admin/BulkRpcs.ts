import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AttributeEdit } from "../model/AttributeRules.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { listFilters, text } from "./ListFilters.ts"
import { account, Refusal } from "./Refusal.ts"

export const BulkRpcs = RpcGroup.make(
  /**
   * Begins a job that changes the drafts of all entities of a kind that the filters find. `store`: the store whose override `edit`
   * writes, or, without `edit`, the store to which the entities are added. `on`: only entities on this store. Refusal: no such store is
   * linked, or the filters find nothing. ValidationFailed: the field or the value is wrong, or the filters find too many.
   */
  Rpc.make("beginBulk", {
    payload: {
      account,
      kind: EntityKind,
      edit: Schema.NullOr(AttributeEdit),
      store: text,
      ...listFilters
    },
    success: Job,
    error: Schema.Union(Refusal, NotFound, ValidationFailed, PimLocked)
  })
)
