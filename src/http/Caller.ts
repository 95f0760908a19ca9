import { Context, Effect, Layer, Option } from "effect"
import { Authentication } from "../api/Authentication.ts"
import type { Actor } from "../domain/Actor.ts"

/** The bearer of the credential that the gate has let pass; none on a route that asks for none. */
export class Caller extends Context.Reference<Caller>()("catalog/Caller", {
  defaultValue: (): Option.Option<Actor> => Option.none()
}) {}

const passed = Effect.flatMap(
  Caller,
  Option.match({
    onNone: () => Effect.dieMessage("an authenticated endpoint ran without passing the gate"),
    onSome: (actor) => Effect.succeed(actor)
  })
)

/** The gate has looked the credential up, before the route was known: here its bearer becomes the actor. */
export const AuthenticationLive = Layer.succeed(Authentication, { ApiKey: () => passed })
