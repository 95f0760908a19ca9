import { Effect, Either } from "effect"
import type { GalleryEntry } from "../catalog/Aggregate.ts"
import type { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { Decision, LockedCatalog } from "./CatalogChange.ts"
import type { CatalogChanges } from "./CatalogChanges.ts"
import type { ReadExtent } from "./DraftsRepo.ts"
import { decideGallery, draftStateOf } from "./DraftWrite.ts"
import { PartsMoved } from "./StoreMembership.ts"
import type { JoinedEntry } from "./VariantPictures.ts"

export const mediaOf = (entries: ReadonlyArray<GalleryEntry>) => entries.map(({ mediaId }) => mediaId)

/** Writes one entity, and returns the state of its draft. `others`: entities that are written with it. */
export const makeWrite =
  (changes: CatalogChanges["Type"]) =>
  <E>(
    id: EntityId,
    decide: (locked: LockedCatalog) => Effect.Effect<Decision, E>,
    references: ReadonlyArray<EntityId> = [],
    others: ReadonlyArray<EntityId> = [],
    extent: ReadExtent = "summarized"
  ) =>
    Effect.flatMap(changes.applyDecided([id, ...others], decide, references, extent), (locked) =>
      draftStateOf(locked, id)
    )

export const makeUpdateGallery = (write: ReturnType<typeof makeWrite>) =>
  Effect.fn("Drafts.updateGallery")(
    (
      id: EntityId,
      draftRevision: number,
      entries: ReadonlyArray<GalleryEntry>,
      shown: ReadonlyArray<EntityId> = [],
      leaving: ReadonlyArray<JoinedEntry> = []
    ) =>
      Effect.suspend(() => {
        let joined: ReadonlyArray<JoinedEntry> = []
        const decide = (locked: LockedCatalog) =>
          Either.map(decideGallery(id, draftRevision, entries, leaving)(locked), (decision) => {
            joined = decision.joined
            return decision
          })
        const references = mediaOf(entries).filter((mediaId) => !shown.includes(mediaId))
        // What leaves the gallery of the product depends on its other variants.
        const extent = leaving.length === 0 ? "summarized" : "complete"
        return Effect.map(write(id, decide, references, shown, extent), (state) => ({ ...state, joined }))
      })
  )

/** A move of an entity to a store (`isThere` false), or off a store that it is on. `storeId` null: no move. */
interface Move {
  readonly storeId: StoreId | null
  readonly isThere: boolean
}

/** As `makeWrite`, for a write that needs other entities, which are read first: again if they changed until they were locked. */
export const makeWriteWithParts = (write: ReturnType<typeof makeWrite>) => {
  const writeWithParts = <E>(
    id: EntityId,
    parts: Effect.Effect<ReadonlyArray<EntityId>, never, CurrentActor>,
    decide: (locked: LockedCatalog) => Effect.Effect<Decision, E | PartsMoved>
  ): ReturnType<typeof write<E>> =>
    Effect.flatMap(parts, (others) => write(id, decide, [], others)).pipe(
      Effect.catchIf(
        (error) => error instanceof PartsMoved,
        () => writeWithParts(id, parts, decide)
      )
    )
  return writeWithParts
}

/** As `makeWrite`, for a write that moves the entity, a product with its variants and media. */
export const makeWriteMoved = (catalog: CatalogRepo["Type"], write: ReturnType<typeof makeWrite>) => {
  const writeWithParts = makeWriteWithParts(write)
  return <E>(
    id: EntityId,
    { isThere, storeId }: Move,
    decide: (locked: LockedCatalog) => Effect.Effect<Decision, E | PartsMoved>
  ) => {
    const parts =
      storeId === null
        ? Effect.succeed([])
        : Effect.flatMap(CurrentActor, ({ accountId }) => catalog.partsOnStore(accountId, storeId, [id], isThere))
    return writeWithParts(id, parts, decide)
  }
}

/** Moves and creations are based on no revision. So RevisionConflict is a defect. */
export const onAnyRevision = (changes: Decision["changes"]): Decision => ({ changes, basedOn: new Map() })
