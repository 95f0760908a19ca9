import { Effect } from "effect"
import { Catalog, type ListQuery } from "../catalog/Catalog.ts"
import { details } from "../catalog/Entity.ts"
import { Drafts } from "../drafts/Drafts.ts"
import type { AttributesUpdate } from "../drafts/DraftWrite.ts"
import { Drops } from "../drops/Drops.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { SalesChannels } from "../storedata/SalesChannels.ts"
import { StoreData } from "../storedata/StoreData.ts"
import { makeExplainAbsence, makeMustBeLinked } from "./Channels.ts"
import { makePublishMasters, type PublishRequest } from "./PublishMasters.ts"

interface OneMaster {
  readonly path: { readonly master_id: EntityId }
}

interface OneProjection {
  readonly path: { readonly master_id: EntityId; readonly channel_id: StoreId }
}

const wholeList = <A>(data: ReadonlyArray<A>) => ({ data, next_cursor: null })

interface ProjectionUpdate extends OneProjection {
  readonly payload: AttributesUpdate & { readonly add_to_channel?: boolean | undefined }
}

/** The refusal of a master whose kind does not have the requested data. */
const onlyKinds = (kind: EntityKind, what: string, kinds: string) =>
  ValidationFailed.at("master_id", `is a ${kind === "media" ? "media file" : kind}; only ${kinds} have ${what}`)

/** Renames `store_id` to `channel_id` in the issue of a variant that is added to a store before its product. */
const productFirst = ({ issues }: ValidationFailed) =>
  new ValidationFailed({
    issues: issues.map((issue) =>
      issue.path === "store_id"
        ? { path: "channel_id", message: issue.message.replace("is not on this store", "is not on this channel") }
        : issue
    )
  })

/** The programs of the connector's own endpoints, by endpoint name. They accept entities of any kind. */
export const makeConnectorPrograms = Effect.gen(function* () {
  const catalog = yield* Catalog
  const channels = yield* SalesChannels
  const drafts = yield* Drafts
  const drops = yield* Drops
  const storeData = yield* StoreData
  const publishMasters = yield* makePublishMasters
  const explainAbsence = yield* makeExplainAbsence
  const mustBeLinked = yield* makeMustBeLinked

  /** Replaces NotFound by NotOnStore if the master exists but is not on the channel. */
  const onChannel = ({ channel_id, master_id }: OneProjection["path"]) => explainAbsence(master_id, [channel_id])

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
    }) => Effect.zipLeft(catalog.list(master_type ?? null, query), mustBeLinked(query.store_id)),
    getMaster: ({ path }: OneMaster) => detail(path.master_id),
    getMasterWithProjections: ({ path }: OneMaster) =>
      // Reads the revision before the values. If a change comes between, a write with this revision is refused.
      Effect.flatMap(detail(path.master_id), (master) =>
        Effect.map(drafts.projections(path.master_id), (projections) => ({ ...master, projections }))
      ),
    getMasterRelated: ({ path, urlParams }: OneMaster & { readonly urlParams: ListQuery }) =>
      catalog.related(path.master_id, urlParams),
    listProjections: ({ path }: OneMaster) => Effect.map(drafts.projections(path.master_id), wholeList),
    getProjection: ({ path }: OneProjection) =>
      Effect.flatMap(drafts.projections(path.master_id, path.channel_id), ([projection]) =>
        // Not reachable: without a projection, the read fails.
        projection === undefined ? new NotFound() : Effect.succeed(projection)
      ).pipe(onChannel(path)),
    updateMasterAttributes: ({ path, payload }: OneMaster & { readonly payload: AttributesUpdate }) =>
      drafts.updateAttributes(path.master_id, payload),
    updateProjectionAttributes: ({ path, payload: { add_to_channel, ...update } }: ProjectionUpdate) =>
      drafts
        .updateVersionAttributes(path.master_id, path.channel_id, update, add_to_channel)
        .pipe(onChannel(path), Effect.catchTag("ValidationFailed", productFirst)),
    publishMaster: (request: PublishRequest) => {
      const { channel_ids, master_id } = request.payload
      return master_id === undefined || channel_ids === undefined
        ? publishMasters(request)
        : publishMasters(request).pipe(explainAbsence(master_id, channel_ids))
    },
    getMasterTranslations: ({ path: { master_id } }: OneMaster) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind !== "product" && kind !== "collection")
          return yield* onlyKinds(kind, "translations", "products and collections")
        const { data, translatable_fields } = yield* storeData.translations(kind, master_id)
        return { ...wholeList(data), translatable_fields }
      }),
    getMasterSalesChannels: ({ path: { channel_id, master_id } }: OneProjection) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind === "media") return yield* onlyKinds(kind, "sales channels", "products, variants and collections")
        return wholeList(
          yield* channels.ofEntity(kind, master_id, channel_id).pipe(onChannel({ channel_id, master_id }))
        )
      }),
    listMasterDrops: ({ path: { master_id } }: OneMaster) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind === "media") return yield* onlyKinds(kind, "drops", "products, variants and collections")
        return wholeList(yield* drops.ofEntity(kind, master_id))
      })
  }
})
