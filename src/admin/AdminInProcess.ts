import { RpcTest } from "@effect/rpc"
import { Layer } from "effect"
import { AdminClient } from "./AdminClient.ts"
import { AdminHandlers } from "./AdminHandlers.ts"
import { AdminRpcs } from "./AdminRpcs.ts"

/** Runs commands in this process, without encoding them. A file of its own: the handlers load all services. */
export const layer = Layer.scoped(AdminClient, RpcTest.makeClient(AdminRpcs)).pipe(Layer.provide(AdminHandlers))
