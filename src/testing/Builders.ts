import { Effect, Redacted } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { OwnDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { EntityId } from "../model/Ids.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Stores } from "../stores/Stores.ts"

/** Runs an effect with this actor. */
export const actingAs = (actor: Actor) => Effect.provideService(CurrentActor, actor)

/**
 * Creates an account with stores of these domains, an actor of the account, and an API key that may read and write. `platform`: that of the
 * stores; by default `none`, to which nothing can be published. Stores of an adapter with credentials are linked with `Stores.link` instead.
 */
export const anAccount = <const Domains extends ReadonlyArray<string> = []>({
  domains,
  name = "Test",
  platform = filesOnly
}: {
  readonly name?: string
  readonly domains?: Domains
  readonly platform?: string
} = {}) =>
  Effect.gen(function* () {
    const { id: accountId } = yield* (yield* Accounts).create(name)
    const actor: Actor = { _tag: "Cli", accountId }
    const { link } = yield* Stores
    const stores = yield* Effect.forEach(domains ?? [], (domain) =>
      Effect.map(link({ domain, platform, currency: "EUR" }), ({ store }) => store)
    ).pipe(actingAs(actor))
    const key = yield* (yield* ApiKeys).create(accountId, {
      name: "Test",
      scopes: ["pim:read", "pim:write"],
      expiresAt: null
    })
    return {
      accountId,
      actor,
      // One store per domain, in the order of the domains.
      stores: stores as { readonly [Index in keyof Domains]: Store },
      token: Redacted.value(key.token)
    }
  }).pipe(Effect.orDie)

/** Creates an entity with these canonical values on these stores, in the current actor's account. */
export const anEntity = (
  kind: EntityKind,
  values: Readonly<Record<string, string>>,
  { on = [], of = null }: { readonly on?: ReadonlyArray<Store>; readonly of?: EntityId | null } = {}
): Effect.Effect<EntityId, never, CatalogChanges | CurrentActor> =>
  Effect.gen(function* () {
    const id = yield* mintId(EntityId)
    yield* (yield* CatalogChanges).apply([
      CatalogChange.CreateEntity({ id, kind, parentId: of, values }),
      ...on.map((store) => CatalogChange.AddToStore({ entityId: id, storeId: store.id }))
    ])
    return id
  }).pipe(Effect.orDie)

/** Defines metafields of a kind in the current actor's account. `types`: metafield types by key. */
export const definedAs = (
  kind: EntityKind,
  types: Readonly<Record<string, string>>
): Effect.Effect<void, never, OwnDefinitions | CurrentActor> =>
  Effect.flatMap(OwnDefinitions, ({ create }) =>
    Effect.forEach(Object.entries(types), ([key, type]) => create({ owner_type: kind, key, type }), { discard: true })
  ).pipe(Effect.orDie)
