import { Effect } from "effect"
import { Catalog, type ListQuery } from "../catalog/Catalog.ts"
import { details } from "../catalog/Entity.ts"
import { Drafts } from "../drafts/Drafts.ts"
import type { AttributesUpdate } from "../drafts/DraftWrite.ts"
import { Drops } from "../drops/Drops.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { NotFound, type PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { Operations } from "../storedata/Operations.ts"
import { SalesChannels } from "../storedata/SalesChannels.ts"
import { makeExplainAbsence, makeMustBeLinked } from "./Channels.ts"

interface OneMaster {
  readonly path: { readonly master_id: EntityId }
}

interface OneProjection {
  readonly path: { readonly master_id: EntityId; readonly channel_id: StoreId }
}

const bounded = <A>(data: ReadonlyArray<A>) => ({ data, next_cursor: null })

interface PublishedTo {
  readonly store_id: StoreId
  readonly outcome: "pending" | "nothing_to_publish" | "refused"
  readonly message?: string
}

interface ProjectionUpdate extends OneProjection {
  readonly payload: AttributesUpdate & { readonly add_to_channel?: boolean | undefined }
}

interface Publish extends OneMaster {
  readonly payload: { readonly draft_revision: number; readonly channel_ids?: ReadonlyArray<StoreId> | undefined }
}

/** Refuses a master whose kind does not have the requested data. */
const onlyKinds = (kind: EntityKind, what: string, kinds: string) =>
  ValidationFailed.at("master_id", `is a ${kind === "media" ? "media file" : kind}; only ${kinds} have ${what}`)

/** A variant is added to a channel only after its product. The issue names the store's argument as REST does. */
const productFirst = ({ issues }: ValidationFailed) =>
  new ValidationFailed({
    issues: issues.map((issue) =>
      issue.path === "store_id"
        ? { path: "channel_id", message: issue.message.replace("is not on this store", "is not on this channel") }
        : issue
    )
  })

/**
 * Why a channel was refused, and how to continue. It leaves out the issues' paths, which are places in a REST body.
 */
const reasonOf = (error: NotFound | ValidationFailed | PimLocked | RevisionConflict): string => {
  switch (error._tag) {
    case "ValidationFailed":
      return error.issues.map(({ message }) => message).join("; ")
    case "RevisionConflict":
      return `the master was changed meanwhile: its draft_revision is ${error.currentRevision}; call get_master_v1, and publish_master_v1 with it for this channel`
    default:
      return error.message
  }
}

/** The programs of the connector's own endpoints, by endpoint name. They accept entities of any kind. */
export const makeConnectorPrograms = Effect.gen(function* () {
  const catalog = yield* Catalog
  const channels = yield* SalesChannels
  const drafts = yield* Drafts
  const drops = yield* Drops
  const operations = yield* Operations
  const publishing = yield* Publishing
  const explainAbsence = yield* makeExplainAbsence
  const mustBeLinked = yield* makeMustBeLinked

  /** Tells a master that is not on the channel from one that does not exist. */
  const onChannel = ({ channel_id, master_id }: OneProjection["path"]) => explainAbsence(master_id, [channel_id])

  const detail = (id: EntityId) =>
    Effect.gen(function* () {
      const kind = yield* catalog.kindOf(id)
      return details[kind](yield* catalog.get(kind, id))
    })
  const versions = (id: EntityId) => Effect.flatMap(catalog.kindOf(id), (kind) => catalog.versions(kind, id))

  return {
    listMasters: ({
      urlParams: { master_type, ...query }
    }: {
      readonly urlParams: ListQuery & { readonly master_type?: EntityKind | undefined }
    }) => Effect.zipLeft(catalog.list(master_type ?? null, query), mustBeLinked(query.store_id)),
    getMaster: ({ path }: OneMaster) => detail(path.master_id),
    getMasterWithProjections: ({ path }: OneMaster) =>
      // Reads the revision before the values: a write based on values of a later change is then refused.
      Effect.flatMap(detail(path.master_id), (master) =>
        Effect.map(versions(path.master_id), (projections) => ({ ...master, projections }))
      ),
    getMasterRelated: ({ path, urlParams }: OneMaster & { readonly urlParams: ListQuery }) =>
      catalog.related(path.master_id, urlParams),
    listProjections: ({ path }: OneMaster) => Effect.map(versions(path.master_id), bounded),
    getProjection: ({ path }: OneProjection) =>
      Effect.flatMap(catalog.kindOf(path.master_id), (kind) =>
        catalog.version(kind, path.master_id, path.channel_id)
      ).pipe(onChannel(path)),
    updateMasterAttributes: ({ path, payload }: OneMaster & { readonly payload: AttributesUpdate }) =>
      drafts.updateAttributes(path.master_id, payload),
    updateProjectionAttributes: ({ path, payload: { add_to_channel, ...update } }: ProjectionUpdate) =>
      drafts
        .updateVersionAttributes(path.master_id, path.channel_id, update, add_to_channel)
        .pipe(onChannel(path), Effect.catchTag("ValidationFailed", productFirst)),
    publishMaster: ({ path: { master_id }, payload: { channel_ids, draft_revision } }: Publish) =>
      Effect.gen(function* () {
        const master = yield* detail(master_id)
        if (master.draft_revision !== draft_revision)
          return yield* new RevisionConflict({ entityId: master_id, currentRevision: master.draft_revision })
        const there = new Set(master.stores.map(({ store_id }) => store_id))
        if (channel_ids?.some((id) => !there.has(id)))
          return yield* explainAbsence(master_id, channel_ids)(Effect.fail(new NotFound()))
        const pending = master.stores.flatMap(({ pending_publish, store_id }) => (pending_publish ? [store_id] : []))
        const stores: Array<PublishedTo> = []
        for (const store_id of new Set(channel_ids ?? pending)) {
          const asked = yield* Effect.either(publishing.ask(master_id, store_id, draft_revision))
          if (asked._tag === "Right")
            stores.push({
              store_id,
              outcome: asked.right.outcome === "nothing_to_publish" ? "nothing_to_publish" : "pending"
            })
          // Requests for other channels may have succeeded: the result reports both.
          else if (asked.left._tag === "ValidationFailed" || stores.length > 0)
            stores.push({ store_id, outcome: "refused", message: reasonOf(asked.left) })
          else return yield* asked.left
        }
        if (stores.length > 0 && stores.every(({ outcome }) => outcome === "refused"))
          return yield* new ValidationFailed({
            issues: stores.map(({ message = "", store_id }) => ({
              path: "channel_ids",
              message: `${store_id} is refused: ${message}`
            }))
          })
        return { entity_id: master_id, draft_revision, stores }
      }),
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
        return bounded(yield* channels.ofEntity(kind, master_id, channel_id).pipe(onChannel({ channel_id, master_id })))
      }),
    listMasterDrops: ({ path: { master_id } }: OneMaster) =>
      Effect.gen(function* () {
        const kind = yield* catalog.kindOf(master_id)
        if (kind === "media") return yield* onlyKinds(kind, "drops", "products, variants and collections")
        return bounded(yield* drops.ofEntity(kind, master_id))
      })
  }
})
