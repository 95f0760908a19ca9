import { Rpc, RpcMiddleware } from "@effect/rpc"
import { Schema } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import { Refusal } from "./Refusal.ts"

/** Id of the account, as typed; not needed if there is only one. Refusal: the account is missing or unknown. */
const account = Schema.optionalWith(Schema.String, { as: "Option" })

/** The member of the payload that `ForAccount` and `ForAnyAccount` read. */
const AccountPayload = Schema.Struct({ account })
export type AccountPayload = typeof AccountPayload.Type

const asActor = { provides: CurrentActor, failure: Refusal } as const

/** Makes the command line the actor, in the account that the payload names. */
export class ForAccount extends RpcMiddleware.Tag<ForAccount>()("catalog/ForAccount", asActor) {}

/** Like `ForAccount`, also for an account that is being deleted. */
export class ForAnyAccount extends RpcMiddleware.Tag<ForAnyAccount>()("catalog/ForAnyAccount", asActor) {}

const makeAccountRpc =
  <Middleware extends RpcMiddleware.TagClassAny>(middleware: Middleware) =>
  <
    const Name extends string,
    Payload extends Schema.Struct.Fields,
    Success extends Schema.Schema.Any = typeof Schema.Void,
    Failure extends Schema.Schema.All = typeof Schema.Never,
    const IsStream extends boolean = false
  >(
    name: Name,
    payload: Payload,
    options: { readonly success?: Success; readonly error?: Failure; readonly stream?: IsStream }
  ) =>
    Rpc.make(name, {
      ...options,
      payload: { account, ...payload },
      error: Schema.Union(Refusal, options.error ?? Schema.Never)
    }).middleware(middleware)

/** A command for one account, which its handler gets as the actor. It can always fail with Refusal. */
export const accountRpc = makeAccountRpc(ForAccount)

/** Like `accountRpc`, also for an account that is being deleted. */
export const anyAccountRpc = makeAccountRpc(ForAnyAccount)

export const optionalText = Schema.optionalWith(Schema.String, { as: "Option" })

/** The filters of a list. `on`: only entities on this store. */
export const listFilters = {
  search: optionalText,
  vendor: optionalText,
  type: optionalText,
  tag: optionalText,
  on: optionalText
}

const ListFilters = Schema.Struct(listFilters)
export type ListFilters = typeof ListFilters.Type
