import { Context, Effect, Layer, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type EntityKind, isBuiltIn } from "../model/Attribute.ts"
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
import { DefinitionsRepo } from "./DefinitionsRepo.ts"
import { DraftsRepo } from "./DraftsRepo.ts"
import { ImportLockRepo } from "./ImportLockRepo.ts"

/** Entities per transaction that gives values another type. */
const maxRetyped = 500

/** A definition, and the number of entities with values that got its type. */
export interface DefinedMetafield {
  readonly definition: MetafieldDefinition
  readonly retyped: number
}

/** The rules of an account's keys. Every write reads them under its locks. */
export class MetafieldDefinitions extends Context.Tag("catalog/MetafieldDefinitions")<
  MetafieldDefinitions,
  {
    /** The rules of all keys. */
    readonly rules: (accountId: AccountId) => Effect.Effect<KeyRules>
    /** The rules together with the definitions of an import. Existing definitions win. */
    readonly rulesWith: (
      accountId: AccountId,
      imported: ReadonlyArray<PlatformMetafieldDefinition>
    ) => Effect.Effect<KeyRules>
    /** Rules for these keys of a kind. Needs no query if all are built in and writable. */
    readonly rulesFor: (accountId: AccountId, kind: EntityKind, keys: ReadonlyArray<string>) => Effect.Effect<KeyRules>
  }
>() {
  static readonly layer = Layer.effect(
    MetafieldDefinitions,
    Effect.gen(function* () {
      const repo = yield* DefinitionsRepo
      const rules = (accountId: AccountId) =>
        Effect.map(repo.metafields(accountId), (definitions) => new KeyRules(definitions))
      return {
        rules,
        rulesWith: (accountId, imported) =>
          Effect.map(repo.metafields(accountId), (existing) => new KeyRules([...imported.map(toRule), ...existing])),
        rulesFor: (accountId, kind, keys) =>
          keys.every((key) => isBuiltIn(kind, key) && isWritable(kind, key))
            ? Effect.succeed(builtInKeyRules)
            : rules(accountId)
      }
    })
  )
}

/** The account's own metafield definitions. */
export class OwnDefinitions extends Context.Tag("catalog/OwnDefinitions")<
  OwnDefinitions,
  {
    /** Creates a definition. ValidationFailed: it is invalid, or the key has a definition already. */
    readonly create: (
      given: NewDefinition
    ) => Effect.Effect<DefinedMetafield, ValidationFailed | PimLocked, CurrentActor>
    /**
     * Changes the type of a definition and of the values that fit it. Data health lists the values that do not.
     * ValidationFailed: no such definition or type, or the platform of a linked store defines the key.
     */
    readonly setType: (
      given: Pick<NewDefinition, "owner_type" | "key" | "type">
    ) => Effect.Effect<DefinedMetafield, ValidationFailed | PimLocked, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    OwnDefinitions,
    Effect.gen(function* () {
      const changes = yield* CatalogChanges
      const drafts = yield* DraftsRepo
      const importLock = yield* ImportLockRepo
      const repo = yield* DefinitionsRepo
      const transaction = yield* Transaction

      const find = (accountId: AccountId, owner: EntityKind, key: string) =>
        repo.find(accountId, owner, key.slice(0, key.indexOf(".")), key.slice(key.indexOf(".") + 1))

      /** Excludes other writes of the account, which may have read the old definitions. */
      const exclusively = <A>(write: (accountId: AccountId) => Effect.Effect<A, ValidationFailed>) =>
        Effect.flatMap(CurrentActor, ({ accountId }) =>
          transaction.run(
            Effect.gen(function* () {
              if (Option.isSome(yield* importLock.take(accountId))) return yield* new PimLocked()
              const written = yield* write(accountId)
              yield* drafts.raise(accountId)
              return written
            })
          )
        )

      /** Gives values the type of their definition, a few hundred entities at a time. A second run continues with the rest. */
      const retype = (accountId: AccountId, kind: EntityKind, key: string, type: string) =>
        Effect.gen(function* () {
          let after = EntityId.make(nilUuid)
          let count = 0
          for (;;) {
            const ids = yield* repo.mistyped(accountId, { kind, key, type }, after, maxRetyped)
            const last = ids.at(-1)
            if (last === undefined) return count
            // They are entities of the account, and entities are never deleted.
            yield* Effect.catchTags(
              changes.apply(ids.map((entityId) => CatalogChange.Retype({ entityId, types: { [key]: type } }))),
              { NotFound: Effect.die, ValidationFailed: Effect.die }
            )
            count += ids.length
            after = last
          }
        })

      const defined = (
        accountId: AccountId,
        { key, owner_type, type }: Pick<NewDefinition, "owner_type" | "key" | "type">
      ) =>
        Effect.gen(function* () {
          const retyped = yield* retype(accountId, owner_type, key, type)
          const definition = yield* Effect.flatten(find(accountId, owner_type, key)).pipe(Effect.orDie)
          return { definition, retyped }
        })

      return {
        create: Effect.fn("OwnDefinitions.create")(function* (given) {
          const { accountId } = yield* CurrentActor
          const definition = yield* checkDefinition(given)
          yield* exclusively((accountId) =>
            Effect.gen(function* () {
              const existing = yield* find(accountId, given.owner_type, given.key)
              if (Option.isSome(existing))
                return yield* ValidationFailed.at("key", `is defined already, as ${existing.value.type}`)
              yield* repo.define(accountId, yield* mintId(RecordId), definition)
            })
          )
          return yield* defined(accountId, given)
        }),
        setType: Effect.fn("OwnDefinitions.setType")(function* (given) {
          const { accountId } = yield* CurrentActor
          const { key, owner_type, type } = given
          const wrong = typeMisfit(type)
          if (wrong !== undefined) return yield* ValidationFailed.at("type", wrong)
          yield* exclusively((accountId) =>
            Effect.gen(function* () {
              const existing = yield* find(accountId, owner_type, key)
              if (Option.isNone(existing)) return yield* ValidationFailed.at("key", "has no definition yet: create one")
              const { id, stores, ...definition } = existing.value
              if (stores.some(({ platform_id }) => platform_id !== ""))
                return yield* ValidationFailed.at(
                  "key",
                  `is defined by a store's platform, as ${definition.type}: change it there, then refresh the store`
                )
              // Validations of one type make no sense for another.
              const validations = definition.type === type ? definition.validations : []
              yield* repo.define(accountId, id, { ...definition, type, validations })
            })
          )
          return yield* defined(accountId, given)
        })
      }
    })
  )
}

const toRule = ({ key, namespace, owner_type, type, validations }: PlatformMetafieldDefinition): MetafieldRule => ({
  ownerType: owner_type,
  key: `${namespace}.${key}`,
  type,
  validations
})
