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

/** Entities whose values get another type in one transaction. */
const retypedAtOnce = 500

/** What became of a definition, and how many entities have values that got its type. */
export interface DefinedMetafield {
  readonly definition: MetafieldDefinition
  readonly retyped: number
}

/** What the keys of an account's entities take: every write of a value asks it, under the locks of the write. */
export class MetafieldDefinitions extends Context.Tag("catalog/MetafieldDefinitions")<
  MetafieldDefinitions,
  {
    /** The rules of all keys. */
    readonly rules: (accountId: AccountId) => Effect.Effect<KeyRules>
    /** The same once an import has brought its own definitions, which define no key a second time. */
    readonly rulesWith: (
      accountId: AccountId,
      brought: ReadonlyArray<PlatformMetafieldDefinition>
    ) => Effect.Effect<KeyRules>
    /** Rules that know all of these keys of a kind: without a query where all are built in and writable. */
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
        rulesWith: (accountId, brought) =>
          Effect.map(repo.metafields(accountId), (known) => new KeyRules([...brought.map(toRule), ...known])),
        rulesFor: (accountId, kind, keys) =>
          keys.every((key) => isBuiltIn(kind, key) && isWritable(kind, key))
            ? Effect.succeed(builtInKeyRules)
            : rules(accountId)
      }
    })
  )
}

/** The metafield definitions that an account makes itself. */
export class OwnDefinitions extends Context.Tag("catalog/OwnDefinitions")<
  OwnDefinitions,
  {
    /** Makes a definition. ValidationFailed: it makes no sense, or the key is defined already. */
    readonly create: (
      given: NewDefinition
    ) => Effect.Effect<DefinedMetafield, ValidationFailed | PimLocked, CurrentActor>
    /**
     * Gives a definition another type, and that type to the values that fit it; those that do not are left as they are, for
     * data health to list. ValidationFailed: no such definition or type, or the platform of a linked store defines the key.
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

      /** Writes while nobody else of the account does: a write that runs has read the definitions as they were. */
      const alone = <A>(write: (accountId: AccountId) => Effect.Effect<A, ValidationFailed>) =>
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

      /** Gives values the type of their definition, some entities at a time. Begun again, it goes on with what is left. */
      const retype = (accountId: AccountId, kind: EntityKind, key: string, type: string) =>
        Effect.gen(function* () {
          let after = EntityId.make(nilUuid)
          let count = 0
          for (;;) {
            const ids = yield* repo.mistyped(accountId, { kind, key, type }, after, retypedAtOnce)
            const last = ids.at(-1)
            if (last === undefined) return count
            // They are entities of the account, and nothing deletes one.
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
          yield* alone((accountId) =>
            Effect.gen(function* () {
              const known = yield* find(accountId, given.owner_type, given.key)
              if (Option.isSome(known))
                return yield* ValidationFailed.at("key", `is defined already, as ${known.value.type}`)
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
          yield* alone((accountId) =>
            Effect.gen(function* () {
              const known = yield* find(accountId, owner_type, key)
              if (Option.isNone(known)) return yield* ValidationFailed.at("key", "has no definition yet: create one")
              const { id, stores, ...definition } = known.value
              if (stores.some(({ platform_id }) => platform_id !== ""))
                return yield* ValidationFailed.at(
                  "key",
                  `is defined by a store's platform, as ${definition.type}: change it there, then refresh the store`
                )
              // Bounds of another type make no sense for this one.
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
