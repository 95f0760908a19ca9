import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { account, Refusal } from "./Refusal.ts"

/** A part of a file. `done` of `total` entities or products were written when it was read. */
export const ExportPart = Schema.Struct({
  bytes: Schema.Uint8ArrayFromSelf,
  done: Schema.Int,
  total: Schema.Int
})
export type ExportPart = typeof ExportPart.Type

export const ExportRpcs = RpcGroup.make(
  Rpc.make("exportJsonl", { payload: { account }, success: ExportPart, error: Refusal, stream: true })
)
