import { Effect, Redacted, TestClock } from "effect"
import { errorCodes } from "../../src/api/ErrorCodes.ts"
import type { AccountId } from "../../src/domain/Ids.ts"
import { fromMillis } from "../../src/domain/Timestamp.ts"
import { ApiKeys, actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"

/** Another key of an account. */
export const aKey = (accountId: AccountId, scopes: ReadonlyArray<string>, expiresAt: number | null = null) =>
  Effect.gen(function* () {
    const { id, token } = yield* (yield* ApiKeys).create(accountId, {
      name: "Another",
      scopes,
      expiresAt: expiresAt === null ? null : fromMillis(expiresAt)
    })
    return { id, token: Redacted.value(token) }
  }).pipe(Effect.orDie)

/** A key that was valid once; the clock of the test moves. */
export const anExpiredKey = (accountId: AccountId) =>
  Effect.gen(function* () {
    const { token } = yield* aKey(accountId, ["pim:read"], (yield* TestClock.currentTimeMillis) + 1_000)
    yield* TestClock.adjust("2 seconds")
    return token
  })

export const aRevokedKey = (accountId: AccountId) =>
  Effect.gen(function* () {
    const { id, token } = yield* aKey(accountId, ["pim:read"])
    yield* Effect.orDie((yield* ApiKeys).revoke(accountId, id))
    return token
  })

/** An account with one entity of each kind on one of its two stores. */
export const aCatalog = (domains: readonly [string, string] = ["a.example", "b.example"]) =>
  Effect.gen(function* () {
    const account = yield* anAccount({ domains })
    const on = account.stores.slice(0, 1)
    const ids = yield* Effect.gen(function* () {
      const product = yield* anEntity("product", { title: "Boots" }, { on })
      const variant = yield* anEntity("variant", { title: "S", sku: "B-S" }, { on, of: product })
      const collection = yield* anEntity("collection", { title: "Winter" }, { on })
      const media = yield* anEntity("media", { url: "https://cdn.example/boots.jpg" }, { on })
      yield* (yield* CatalogChanges).apply([
        CatalogChange.SetMembers({ collectionId: collection, productIds: [product] })
      ])
      return { product, variant, collection, media }
    }).pipe(actingAs(account.actor), Effect.orDie)
    return { ...account, ids }
  })

interface Ids {
  readonly product: string
  readonly variant: string
  readonly collection: string
  readonly media: string
}

const kindOf: { readonly [segment: string]: keyof Ids } = {
  products: "product",
  variants: "variant",
  collections: "collection",
  media: "media"
}

/** The target of a route that names an entity of the catalog and a store it is on. */
export const targetOf = (path: string, ids: Ids, storeId: string): string =>
  path
    .replace(/\/(\w+)\/:id/, (_, segment: string) => {
      const kind = kindOf[segment]
      if (kind === undefined) throw new Error(`no entity for ${path}`)
      return `/${segment}/${ids[kind]}`
    })
    .replace(":store_id", storeId)

/** The code that comes with a status in the closed table. */
export const codeOfStatus = (status: number): string | undefined =>
  Object.values(errorCodes).find((row) => row.status === status)?.code
