import { RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, ExportId } from "../model/Ids.ts"
import { accountRpc } from "./AccountRpc.ts"
import { listFilters } from "./ListFilters.ts"

/** A part of a file, as in `exports/Spool`. */
export const ExportPart = Schema.Struct({
  bytes: Schema.Uint8ArrayFromSelf,
  done: Schema.Int,
  total: Schema.Int,
  end: Schema.NullOr(Schema.Struct({ exportId: Schema.NullOr(ExportId), notes: Schema.Array(Schema.String) }))
})
export type ExportPart = typeof ExportPart.Type

/**
 * The selected entities: those with these ids, or those of the kind that the filters find. Null: the whole catalog, or all products of
 * the store.
 */
const selection = Schema.NullOr(
  Schema.Struct({ kind: EntityKind, ids: Schema.NullOr(Schema.Array(EntityId)), ...listFilters })
)
export type SelectionRpc = (typeof selection)["Type"]

export const ExportRpcs = RpcGroup.make(
  /** Refusal: also an unknown id. ValidationFailed: the filters find nothing or too many. */
  accountRpc("exportJsonl", { selection }, { success: ExportPart, error: ValidationFailed, stream: true }),
  /** As for `exportJsonl`. ValidationFailed: also `forPublish`, but the store has a platform. */
  accountRpc(
    "exportCsv",
    { selection, store: Schema.String, forPublish: Schema.Boolean },
    { success: ExportPart, error: ValidationFailed, stream: true }
  ),
  /** Begins a job that counts a complete export as published. ValidationFailed: another job works on the store. */
  accountRpc(
    "publishExport",
    { store: Schema.String, exportId: ExportId },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed) }
  )
)
