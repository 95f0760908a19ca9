import { Context, Effect, Layer } from "effect"
import { Authentication } from "../api/Authentication.ts"
import type { Actor } from "../domain/Actor.ts"

/** The bearer of the credential that the gate has let pass; absent on a route that asks for none. */
export class Caller extends Context.Reference<Caller>()("catalog/Caller", {
  defaultValue: (): Actor | undefined => undefined
}) {}

const passed = Effect.flatMap(Caller, (caller) =>
  caller === undefined ? Effect.dieMessage("an authenticated endpoint ran without passing the gate") : Effect.succeed(caller)
)

/** The gate has looked the credential up, before the route was known: here its bearer becomes the actor. */
export const AuthenticationLive = Layer.succeed(Authentication, { ApiKey: () => passed })

