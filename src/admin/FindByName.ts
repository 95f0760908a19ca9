import { Effect, Option, Schema } from "effect"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { MerchantFilters } from "../catalog/MerchantLists.ts"
import { terms } from "../catalog/SearchText.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { NotFound } from "../model/Errors.ts"
import { type AccountId, ApiKeyId, EntityId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { Stores } from "../stores/Stores.ts"
import type { ListFilters } from "./AccountRpc.ts"
import { Refusal } from "./Refusal.ts"

/** Parses a typed id. A malformed id is NotFound. */
export const parseId =
  <Id extends string>(schema: Schema.Schema<Id, string>) =>
  (typed: string): Effect.Effect<Id, NotFound> =>
    Effect.mapError(Schema.decode(schema)(typed.trim().toLowerCase()), () => new NotFound())

/** Returns the only record that matches a typed name. NotFound: none matches. Refusal: several match, and its message lists them. */
const onlyOne = <Id extends string>(
  typed: string,
  found: ReadonlyArray<{ readonly id: Id; readonly shown: string }>
): Effect.Effect<Id, NotFound | Refusal> => {
  const [only, ...others] = found
  if (only === undefined) return new NotFound()
  return others.length === 0
    ? Effect.succeed(only.id)
    : new Refusal({
        message: `${typed} matches several records: ${found.map(({ shown }) => shown).join(", ")}. Use an id instead.`
      })
}

const entityId = parseId(EntityId)
const keyId = parseId(ApiKeyId)

/** Finds an entity by a typed id, handle or SKU. */
export const makeFindEntity = Effect.map(
  Catalog,
  (catalog) =>
    (typed: string): Effect.Effect<EntityId, NotFound | Refusal, CurrentActor> =>
      Effect.catchTag(entityId(typed), "NotFound", () =>
        Effect.flatMap(catalog.withName(typed.trim()), (found) =>
          onlyOne(
            typed,
            found.map(({ id, kind }) => ({ id, shown: `${kind} ${id}` }))
          )
        )
      )
)

/** Finds an API key by a typed id or name. Active keys win over revoked ones with the same name. */
export const makeFindKey = Effect.map(
  ApiKeys,
  (keys) =>
    (accountId: AccountId, typed: string): Effect.Effect<ApiKeyId, NotFound | Refusal> =>
      Effect.catchTag(keyId(typed), "NotFound", () =>
        Effect.flatMap(keys.list(accountId), (all) => {
          const namesakes = all.filter(({ name }) => name === typed.trim())
          const active = namesakes.filter(({ revokedAt }) => revokedAt === null)
          return onlyOne(
            typed,
            (active.length > 0 ? active : namesakes).map(({ id, lastFour }) => ({ id, shown: `${id} (…${lastFour})` }))
          )
        })
      )
)

export const unknownStore = (domain: string): Refusal =>
  new Refusal({
    code: errorCode.NotFound,
    message: `No store ${domain} is linked: see \`catalog store list\`.`
  })

const storeOf = (linked: ReadonlyArray<Store>, typed: string) => {
  const name = typed.trim().toLowerCase()
  return Option.fromNullable(linked.find(({ domain, id }) => domain === name || id === name))
}

/** Finds a linked store by a typed domain or id. */
export const makeFindStore = Effect.map(
  Stores,
  (stores) => (typed: string) =>
    Effect.flatMap(
      stores.list,
      (linked): Effect.Effect<Store, Refusal> =>
        Option.getOrElse(Option.map(storeOf(linked, typed), Effect.succeed<Store>), () => unknownStore(typed))
    )
)

/** Returns the domain of the linked store with a typed domain or id. Returns other text unchanged. */
export const makeFindDomain = Effect.map(
  Stores,
  (stores) => (typed: string) =>
    Effect.map(stores.list, (linked) =>
      Option.match(storeOf(linked, typed), { onNone: () => typed, onSome: ({ domain }) => domain })
    )
)

/** Refuses a filter without a word: it would find all entities, for example if a variable of the shell is not set. */
const refuseBlank = ({ search, tag, type, vendor }: ListFilters): Effect.Effect<void, Refusal> => {
  const blank = Object.entries({ search, vendor, type, tag }).find(
    ([, value]) => Option.isSome(value) && terms(value.value).length === 0
  )
  return blank === undefined ? Effect.void : new Refusal({ message: `--${blank[0]}: must not be blank` })
}

/** Makes the function that finds the store of the filters. Refusal: no such store is linked, or a filter is blank. */
export const makeFiltersOf = Effect.map(
  makeFindStore,
  (findStore) => (filters: ListFilters) =>
    Effect.map(
      Effect.zipRight(refuseBlank(filters), Effect.transposeMapOption(filters.on, findStore)),
      (store): MerchantFilters => ({
        search: Option.getOrUndefined(filters.search),
        vendor: Option.getOrUndefined(filters.vendor),
        productType: Option.getOrUndefined(filters.type),
        tag: Option.getOrUndefined(filters.tag),
        storeId: Option.getOrUndefined(store)?.id
      })
    )
)
