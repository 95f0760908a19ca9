import { Context, Effect, Layer, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { type EntityKind, isBuiltIn } from "../model/Attribute.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import {
  checkDefinition,
  type MetafieldDefinition,
  type MetafieldRule,
  type NewDefinition,
  type PlatformMetafieldDefinition,
  typeMisfit
} from "../model/Definition.ts"
import { PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, nilUuid, RecordId } from "../model/Ids.ts"
import { builtInKeyRules, isWritable, KeyRules } from "../model/KeyRules.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { CatalogChange } from "./CatalogChange.ts"
import { CatalogChanges } from "./CatalogChanges.ts"
import { emptyNote } from "./ChangeNote.ts"
import { DefinitionsRepo } from "./DefinitionsRepo.ts"
import { DraftsRepo } from "./DraftsRepo.ts"
import { changesOfAll } from "./FeedChanges.ts"
import { ImportLockRepo } from "./ImportLockRepo.ts"

/** Number of entities per transaction that changes the types of values. */
const maxRetyped = 500

const make = Effect.gen(function* () {
  const repo = yield* DefinitionsRepo
  const rules = (accountId: AccountId) =>
    Effect.gen(function* () {
      const { stores } = yield* CurrentBounds
      return new KeyRules(yield* repo.metafields(accountId, stores))
    })
  return {
    /** The rules of all keys. A caller that is limited to some stores knows the keys of the account itself and of these stores. */
    rules,
    /** The rules of all keys, and of the definitions of an import. If a key has a definition already, that definition wins. */
    rulesWith: (accountId: AccountId, imported: ReadonlyArray<PlatformMetafieldDefinition>) =>
      Effect.map(repo.metafields(accountId, null), (existing) => new KeyRules([...imported.map(toRule), ...existing])),
    /** The rules of at least these keys. If all of them are built in and writable, no query is needed. */
    rulesFor: (accountId: AccountId, kind: EntityKind, keys: ReadonlyArray<string>) =>
      keys.every((key) => isBuiltIn(kind, key) && isWritable(kind, key))
        ? Effect.succeed(builtInKeyRules)
        : rules(accountId)
  }
})

/** The rules of an account's keys. Every write reads them while it holds its locks. */
export class MetafieldDefinitions extends Context.Tag("catalog/MetafieldDefinitions")<
  MetafieldDefinitions,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(MetafieldDefinitions, make)
}

/** Whether the platform of a linked store has the definition. */
const isOfPlatform = ({ stores }: Pick<MetafieldDefinition, "stores">) =>
  stores.some(({ platform_id }) => platform_id !== "")

/** The definition may be of a `create` that was interrupted before all stored values had its type. */
const orSetType =
  ": `catalog definition set-type` sets the type of its values, also after a create that was interrupted"

/** Gives stored values the type of their definition, in batches. If it is interrupted, a second run continues with the rest. */
const makeRetype = Effect.gen(function* () {
  const changes = yield* CatalogChanges
  const repo = yield* DefinitionsRepo

  return (accountId: AccountId, kind: EntityKind, key: string, type: string) =>
    Effect.gen(function* () {
      let after = EntityId.make(nilUuid)
      let count = 0
      for (;;) {
        const ids = yield* repo.mistyped(accountId, { kind, key, type }, after, maxRetyped)
        const last = ids.at(-1)
        if (last === undefined) return count
        // Some of these entities may have been deleted since they were read.
        const { remedy } = yield* changes.applyRemedy(ids, ({ aggregates }) =>
          Effect.succeed({
            changes: ids
              .filter((entityId) => aggregates.has(entityId))
              .map((entityId) => CatalogChange.Retype({ entityId, types: { [key]: type } }))
          })
        )
        count += remedy.changes.length
        after = last
      }
    })
})

const makeOwn = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const importLock = yield* ImportLockRepo
  const repo = yield* DefinitionsRepo
  const retype = yield* makeRetype
  const transaction = yield* Transaction

  const find = (accountId: AccountId, owner: EntityKind, key: string) =>
    repo.find(accountId, owner, key.slice(0, key.indexOf(".")), key.slice(key.indexOf(".") + 1))

  /** Takes the import lock exclusively, so that no other write of the account uses the old definitions. */
  const exclusively = (write: (accountId: AccountId) => Effect.Effect<RecordId, ValidationFailed>) =>
    withAccountId((accountId) =>
      transaction.run(
        Effect.gen(function* () {
          if (Option.isSome(yield* importLock.take(accountId))) return yield* new PimLocked()
          const id = yield* write(accountId)
          yield* drafts.raise(accountId, undefined, {
            ...emptyNote,
            changes: changesOfAll("definitions.updated", "metafield_definition", [id])
          })
        })
      )
    )

  /** Returns the definition, and the number of entities whose values got its type. */
  const defined = (
    accountId: AccountId,
    { key, owner_type, type }: Pick<NewDefinition, "owner_type" | "key" | "type">
  ) =>
    Effect.gen(function* () {
      const retyped = yield* retype(accountId, owner_type, key, type)
      const definition = yield* Effect.flatten(find(accountId, owner_type, key)).pipe(
        Effect.mapError(() => ValidationFailed.at("key", "has no definition any more: somebody else deleted it"))
      )
      return { definition, retyped }
    })

  return {
    /** Creates a definition. ValidationFailed: it is invalid, or the key has a definition already. */
    create: Effect.fn("OwnDefinitions.create")(function* (given: NewDefinition) {
      const { accountId } = yield* CurrentActor
      const definition = yield* checkDefinition(given)
      yield* exclusively((accountId) =>
        Effect.gen(function* () {
          const existing = yield* find(accountId, given.owner_type, given.key)
          if (Option.isSome(existing))
            return yield* ValidationFailed.at(
              "key",
              `is defined already, as ${existing.value.type}${isOfPlatform(existing.value) ? "" : orSetType}`
            )
          const id = yield* mintId(RecordId)
          yield* repo.define(accountId, id, definition)
          return id
        })
      )
      return yield* defined(accountId, given)
    }),
    /**
     * Changes the type of a definition, and of stored values that fit the new type. Data health lists the values that do not fit.
     * ValidationFailed: there is no such definition or type, or the platform of a linked store defines the key.
     */
    setType: Effect.fn("OwnDefinitions.setType")(function* (given: Pick<NewDefinition, "owner_type" | "key" | "type">) {
      const { accountId } = yield* CurrentActor
      const { key, owner_type, type } = given
      const wrong = typeMisfit(type)
      if (wrong !== undefined) return yield* ValidationFailed.at("type", wrong)
      yield* exclusively((accountId) =>
        Effect.gen(function* () {
          const existing = yield* find(accountId, owner_type, key)
          if (Option.isNone(existing)) return yield* ValidationFailed.at("key", "has no definition yet: create one")
          const { id, stores: _, ...definition } = existing.value
          if (isOfPlatform(existing.value))
            return yield* ValidationFailed.at(
              "key",
              `is defined by a store's platform, as ${definition.type}: change it there, then refresh the store`
            )
          // The validations of one type have no meaning for another type.
          const validations = definition.type === type ? definition.validations : []
          yield* repo.define(accountId, id, { ...definition, type, validations })
          return id
        })
      )
      return yield* defined(accountId, given)
    }),
    /**
     * Deletes the account's own definition. Values that entities have of the key stay, and can only be removed, unless a store defines the key
     * too: then its definition applies, which is returned. ValidationFailed: the account has no definition of the key.
     */
    delete: Effect.fn("OwnDefinitions.delete")(function* ({
      key,
      owner_type
    }: Pick<NewDefinition, "owner_type" | "key">) {
      const { accountId } = yield* CurrentActor
      yield* exclusively((accountId) =>
        Effect.gen(function* () {
          const existing = yield* find(accountId, owner_type, key)
          if (Option.isNone(existing)) return yield* ValidationFailed.at("key", "has no definition")
          const { namespace, key: name, type } = existing.value
          const deleted = yield* repo.undefine(accountId, owner_type, namespace, name)
          if (Option.isNone(deleted))
            return yield* ValidationFailed.at("key", `is defined by stores only, as ${type}: delete it there`)
          return deleted.value
        })
      )
      const left = yield* find(accountId, owner_type, key)
      if (Option.isNone(left)) return { definition: null, retyped: 0 }
      return yield* defined(accountId, { owner_type, key, type: left.value.type })
    })
  }
})

/** The account's own metafield definitions. */
export class OwnDefinitions extends Context.Tag("catalog/OwnDefinitions")<
  OwnDefinitions,
  Effect.Effect.Success<typeof makeOwn>
>() {
  static readonly layer = Layer.effect(OwnDefinitions, makeOwn)
}

const toRule = ({ key, namespace, owner_type, type, validations }: PlatformMetafieldDefinition): MetafieldRule => ({
  ownerType: owner_type,
  key: `${namespace}.${key}`,
  type,
  validations
})
