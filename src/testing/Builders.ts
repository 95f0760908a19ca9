import { Effect, Redacted } from "effect"
import { type Actor, CurrentActor } from "../domain/Actor.ts"
import type { EntityKind } from "../domain/Attribute.ts"
import { CatalogChange } from "../domain/CatalogChange.ts"
import { EntityId, StoreId } from "../domain/Ids.ts"
import type { Store } from "../domain/Store.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { Accounts } from "../services/Accounts.ts"
import { ApiKeys } from "../services/ApiKeys.ts"
import { CatalogChanges } from "../services/CatalogChanges.ts"
import { mintId } from "../services/Identifiers.ts"

/** A linked store of platform none; give what matters to the test. */
export const aStore = (given: Partial<Store> & Pick<Store, "domain">): Effect.Effect<Store> =>
  Effect.map(mintId(StoreId), (id) => ({
    id,
    name: given.domain,
    platform: "none",
    status: "linked",
    primary_locale: "en",
    locales: ["en"],
    currency: "EUR",
    last_imported_at: null,
    ...given
  }))

/** An account with stores of these domains, somebody who acts for it, and an API key that may read and write. */
export const anAccount = <const Domains extends ReadonlyArray<string> = []>({
  domains,
  name = "Test"
}: {
  readonly name?: string
  readonly domains?: Domains
} = {}) =>
  Effect.gen(function* () {
    const { id: accountId } = yield* (yield* Accounts).create(name)
    const repo = yield* StoresRepo
    const stores = yield* Effect.forEach(domains ?? [], (domain) =>
      Effect.tap(aStore({ domain }), (store) => repo.link(accountId, store))
    )
    const key = yield* (yield* ApiKeys).create(accountId, {
      name: "Test",
      scopes: ["pim:read", "pim:write"],
      expiresAt: null
    })
    const actor: Actor = { _tag: "Cli", accountId }
    return {
      accountId,
      actor,
      // One store a domain, in their order.
      stores: stores as { readonly [Index in keyof Domains]: Store },
      token: Redacted.value(key.token)
    }
  }).pipe(Effect.orDie)

/** Creates an entity with these canonical values, on these stores, for whoever acts. */
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

/** Runs an effect on behalf of somebody. */
export const actingAs = (actor: Actor) => Effect.provideService(CurrentActor, actor)
