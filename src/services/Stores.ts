import { Context, Effect, Layer } from "effect"
import { CurrentActor } from "../domain/Actor.ts"
import type { Store } from "../domain/Store.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"

/** The stores linked to the account of whoever asks. */
export class Stores extends Context.Tag("catalog/Stores")<
  Stores,
  {
    /** By domain. */
    readonly list: Effect.Effect<ReadonlyArray<Store>, never, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Stores,
    Effect.map(StoresRepo, (repo) => ({
      list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId))
    }))
  )
}
