import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { ExportId } from "../model/Ids.ts"
import { account, Refusal } from "./Refusal.ts"

/** A part of a file, as in `exports/Spool`. */
export const ExportPart = Schema.Struct({
  bytes: Schema.Uint8ArrayFromSelf,
  done: Schema.Int,
  total: Schema.Int,
  end: Schema.NullOr(Schema.Struct({ exportId: Schema.NullOr(ExportId), notes: Schema.Array(Schema.String) }))
})
export type ExportPart = typeof ExportPart.Type

export const ExportRpcs = RpcGroup.make(
  Rpc.make("exportJsonl", { payload: { account }, success: ExportPart, error: Refusal, stream: true }),
  /** ValidationFailed: `forPublish`, but the store has a platform. */
  Rpc.make("exportCsv", {
    payload: { account, store: Schema.String, forPublish: Schema.Boolean },
    success: ExportPart,
    error: Schema.Union(Refusal, NotFound, ValidationFailed),
    stream: true
  }),
  /** Begins a job that counts a complete export as published. ValidationFailed: another job works on the store. */
  Rpc.make("publishExport", {
    payload: { account, store: Schema.String, exportId: ExportId },
    success: Job,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  })
)
