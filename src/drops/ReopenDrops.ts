import { Effect, Layer } from "effect"
import { LinkHook } from "../stores/LinkHook.ts"
import { DropsRepo } from "./DropsRepo.ts"

/** Reopens the drops of a store that is linked again. */
export const layerReopenDrops = Layer.effect(
  LinkHook,
  Effect.map(DropsRepo, ({ reopen }) => ({ onLinkedAgain: reopen }))
)
