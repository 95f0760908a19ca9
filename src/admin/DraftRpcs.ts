import { RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Draft, DraftState } from "../drafts/DraftWrite.ts"
import { HistoryEntry } from "../drafts/History.ts"
import { Drop, NewDrop } from "../drops/Drop.ts"
import { Job } from "../jobs/Job.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AttributeEdit } from "../model/AttributeRules.ts"
import { MetafieldDefinition, NewDefinition, OwnerType } from "../model/Definition.ts"
import { NotFound, PimLocked, RevisionConflict, ValidationFailed } from "../model/Errors.ts"
import { EntityId } from "../model/Ids.ts"
import { accountRpc, listFilters, optionalText } from "./AccountRpc.ts"

/** Texts as typed: `entity` is an id, handle or SKU, and `store` a domain or id. */
export const aboutDraft = { entity: Schema.String }

const Defined = Schema.Struct({
  definition: MetafieldDefinition,
  /** Number of entities whose values of this key got the definition's type. */
  retyped: Schema.Int
})

/** A bulk change (`BulkChange`) whose store is a domain or id as typed. */
const NamedChange = Schema.Union(
  Schema.TaggedStruct("SetField", { ...AttributeEdit.fields, store: optionalText }),
  Schema.TaggedStruct("AddToStore", { store: Schema.String }),
  Schema.TaggedStruct("RemoveFromStore", { store: Schema.String }),
  Schema.TaggedStruct("Delete", { withMedia: Schema.optionalWith(Schema.Boolean, { exact: true }) })
)
export type NamedChange = typeof NamedChange.Type

const aboutDrop = { id: Schema.String }

/**
 * Commands about drafts, metafield definitions and drops. Refusal: no such store is linked. NotFound: the account has no such entity
 * or drop, or the entity is not on the store.
 */
export const DraftRpcs = RpcGroup.make(
  /** Reads the canonical values or, with `store`, the values on that store. */
  accountRpc("showDraft", { ...aboutDraft, store: optionalText }, { success: Draft, error: NotFound }),
  /** Writes values. `revision`: the draft revision on which they are based. */
  accountRpc(
    "setDraft",
    { ...aboutDraft, store: optionalText, revision: Schema.Int, attributes: Schema.Array(AttributeEdit) },
    { success: DraftState, error: Schema.Union(NotFound, ValidationFailed, PimLocked, RevisionConflict) }
  ),
  /** Adds an entity to a store. ValidationFailed: it is on the store already, or it is a variant whose product is not. */
  accountRpc(
    "addStoreVersion",
    { ...aboutDraft, store: Schema.String },
    { success: DraftState, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  ),
  /**
   * Takes an entity off a store. ValidationFailed: it, or a variant of the product, was published there or is being published, or a gallery
   * shows the media file there.
   */
  accountRpc(
    "removeStoreVersion",
    { ...aboutDraft, store: Schema.String },
    { success: DraftState, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  ),
  /** The history of an entity, newest first. `limit`: at most 250. */
  accountRpc(
    "showHistory",
    { ...aboutDraft, limit: Schema.Int },
    { success: Schema.Struct({ entity_id: EntityId, history: Schema.Array(HistoryEntry) }), error: NotFound }
  ),
  /**
   * Begins a job that changes the drafts of all entities of a kind that the filters find. `on`: only entities on this store. Refusal: no
   * such store is linked, or the filters find nothing. ValidationFailed: the field or the value is wrong, or the filters find too many.
   */
  accountRpc(
    "beginBulk",
    { kind: EntityKind, change: NamedChange, ...listFilters },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed, PimLocked) }
  ),
  accountRpc(
    "createDefinition",
    { definition: NewDefinition },
    { success: Defined, error: Schema.Union(ValidationFailed, PimLocked) }
  ),
  accountRpc(
    "setDefinitionType",
    { owner: EntityKind, key: Schema.String, type: Schema.String },
    { success: Defined, error: Schema.Union(ValidationFailed, PimLocked) }
  ),
  /** `definition`: that of a store, which applies from now on. Null: the key has no definition any more. */
  accountRpc(
    "deleteDefinition",
    { owner: EntityKind, key: Schema.String },
    {
      success: Schema.Struct({ ...Defined.fields, definition: Schema.NullOr(MetafieldDefinition) }),
      error: Schema.Union(ValidationFailed, PimLocked)
    }
  ),
  /** All definitions, including those of stores, sorted by owner type, namespace and key. */
  accountRpc("listDefinitions", { owner: Schema.NullOr(OwnerType) }, { success: Schema.Array(MetafieldDefinition) }),
  /** Creates a drop. `store_id` of a change can be the id or the domain of a store. */
  accountRpc("createDrop", { drop: Schema.typeSchema(NewDrop) }, { success: Drop, error: ValidationFailed }),
  /** All drops, sorted by their start times. */
  accountRpc("listDrops", {}, { success: Schema.Array(Drop) }),
  accountRpc("showDrop", aboutDrop, { success: Drop, error: NotFound }),
  /** Cancels a drop. ValidationFailed: the drop has started, or is cancelled already. */
  accountRpc("cancelDrop", aboutDrop, { success: Drop, error: Schema.Union(NotFound, ValidationFailed) })
)
