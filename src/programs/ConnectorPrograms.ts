import { Effect } from "effect"
import { Catalog, type ListQuery } from "../catalog/Catalog.ts"
import { details } from "../catalog/Entity.ts"
import { Drafts } from "../drafts/Drafts.ts"
import type { AttributesUpdate } from "../drafts/DraftWrite.ts"
import { Drops } from "../drops/Drops.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { Operations } from "../storedata/Operations.ts"
import { SalesChannels } from "../storedata/SalesChannels.ts"
import { makePublishMasters } from "./PublishMasters.ts"

interface OneMaster {
  readonly path: { readonly master_id: EntityId }
}

interface OneProjection {
  readonly path: { readonly master_id: EntityId; readonly channel_id: StoreId }
}

const bounded = <A>(data: ReadonlyArray<A>) => ({ data, next_cursor: null })

/** Refuses a master whose kind does not have the requested data. */
const onlyKinds = (kind: EntityKind, what: string, kinds: string) =>
  ValidationFailed.at("master_id", `is a ${kind === "media" ? "media file" : kind}; only ${kinds} have ${what}`)

/** The programs of the connector's own endpoints, by endpoint name. They accept entities of any kind. */
export const makeConnectorPrograms = Effect.gen(function* () {
  const catalog = yield* Catalog
  const channels = yield* SalesChannels
  const drafts = yield* Drafts
  const drops = yield* Drops
  const operations = yield* Operations
  const publishMasters = yield* makePublishMasters

  const detail = (id: EntityId) =>
    Effect.gen(function* () {
      const kind = yield* catalog.kindOf(id)
      return details[kind](yield* catalog.get(kind, id))
    })

  return {
    listMasters: ({
      urlParams: { master_type, ...query }
    }: {
      readonly urlParams: ListQuery & { readonly master_type?: EntityKind | undefined }
    }) => catalog.list(master_type ?? null, query),
    getMaster: ({ path }: OneMaster) => detail(path.master_id),
    getMasterWithProjections: ({ path }: OneMaster) =>
      // Reads the revision before the values: a write based on values of a later change is then refused.
      Effect.flatMap(detail(path.master_id), (master) =>
        Effect.map(drafts.projections(path.master_id), (projections) => ({ ...master, projections }))
      ),
    getMasterRelated: ({ path, urlParams }: OneMaster & { readonly urlParams: ListQuery }) =>
      catalog.related(path.master_id, urlParams),
    listProjections: ({ path }: OneMaster) => Effect.map(drafts.projections(path.master_id), bounded),
    getProjection: ({ path }: OneProjection) =>
      Effect.flatMap(drafts.projections(path.master_id, path.channel_id), ([projection]) =>
        // There is one, or the read would have failed.
        projection === undefined ? new NotFound() : Effect.succeed(projection)
      ),
    updateMasterAttributes: ({ path, payload }: OneMaster & { readonly payload: AttributesUpdate }) =>
      drafts.updateAttributes(path.master_id, payload),
    updateProjectionAttributes: ({ path, payload }: OneProjection & { readonly payload: AttributesUpdate }) =>
      drafts.updateVersionAttributes(path.master_id, path.channel_id, payload),
    publishMaster: publishMasters,
    getMasterTranslations: ({ path: { master_id } }: OneMaster) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind !== "product" && kind !== "collection")
          return yield* onlyKinds(kind, "translations", "products and collections")
        const { data, translatable_fields } = yield* operations.translations(kind, master_id)
        return { ...bounded(data), translatable_fields }
      }),
    getMasterSalesChannels: ({ path: { channel_id, master_id } }: OneProjection) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind === "media") return yield* onlyKinds(kind, "sales channels", "products, variants and collections")
        return bounded(yield* channels.ofEntity(kind, master_id, channel_id))
      }),
    listMasterDrops: ({ path: { master_id } }: OneMaster) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind === "media") return yield* onlyKinds(kind, "drops", "products, variants and collections")
        return bounded(yield* drops.ofEntity(kind, master_id))
      })
  }
})
