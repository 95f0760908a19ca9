import { Context, Effect, Layer } from "effect"
import { CatalogRepo } from "./CatalogRepo.ts"
import { type CursorCodec, makeCursorCodec } from "./CursorCodec.ts"

/** Cursors for lists outside the catalog. They are signed with the same key as the catalog's cursors. */
export class Cursors extends Context.Tag("catalog/Cursors")<Cursors, CursorCodec>() {
  static readonly layer = Layer.effect(
    Cursors,
    Effect.flatMap(CatalogRepo, (repo) => Effect.map(repo.cursorKey, makeCursorCodec))
  )
}
