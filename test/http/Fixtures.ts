import { Effect, Redacted, TestClock } from "effect"
import { errorCodes } from "../../src/api/ErrorCodes.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import { type AccountId, DropId, nilUuid } from "../../src/model/Ids.ts"
import { fromMillis, Timestamp } from "../../src/model/Timestamp.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  StoreData
} from "../../src/testing/index.ts"
import { aMarket, aMetafield, aMetaobject, anEntry, aTranslation, refresh } from "../support/Mirrors.ts"

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

/** An expired key, for which the test clock moves on by two seconds. */
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

/**
 * An account with one entity of each kind on the first of its two stores, a drop, and store data: a market,
 * definitions, an entry, translations.
 */
export const aCatalog = (domains: readonly [string, string] = ["a.example", "b.example"]) =>
  Effect.gen(function* () {
    const account = yield* anAccount({ domains })
    const on = [account.stores[0]] as const
    const ids = yield* Effect.gen(function* () {
      const product = yield* anEntity("product", { title: "Boots" }, { on })
      const variant = yield* anEntity("variant", { title: "S", sku: "B-S" }, { on, of: product })
      const collection = yield* anEntity("collection", { title: "Winter" }, { on })
      const media = yield* anEntity("media", { url: "https://cdn.example/boots.jpg" }, { on })
      yield* (yield* CatalogChanges).apply([
        CatalogChange.SetMembers({ collectionId: collection, productIds: [product] })
      ])
      const drop = yield* mintId(DropId)
      const change = { store_id: null, field: "title", value: "Sale" }
      yield* (yield* DropsRepo).insert(
        account.accountId,
        drop,
        {
          name: "Sale",
          starts_at: Timestamp.make("2030-01-31T09:30:00.000000Z"),
          ends_at: null,
          timezone: "Europe/Lisbon",
          changes: [
            { ...change, entity_id: product, entity_type: "product" },
            { ...change, entity_id: variant, entity_type: "variant" },
            { ...change, entity_id: collection, entity_type: "collection" }
          ]
        },
        account.actor
      )
      const [store] = on
      yield* (yield* CatalogChanges).apply(
        [product, collection].map((entityId) =>
          CatalogChange.Identify({ entityId, storeId: store.id, platformId: `demo://${entityId}` })
        )
      )
      yield* refresh(account.accountId, store, {
        markets: [aMarket("eu")],
        metafields: [aMetafield("product", "care.washing")],
        metaobjects: [aMetaobject("maker")],
        entries: { maker: [anEntry("ash")] },
        translations: [
          aTranslation("product", `demo://${product}`, "de", "Boots", ["Stiefel", "digest of Boots"]),
          aTranslation("collection", `demo://${collection}`, "de", "Winter", ["Winter", "digest of Cold"])
        ]
      })
      const storeData = yield* StoreData
      const [market] = yield* storeData.markets
      const [definition] = yield* storeData.metaobjectDefinitions
      return { product, variant, collection, media, drop, market: market?.id ?? "", definition: definition?.id ?? "" }
    }).pipe(actingAs(account.actor), Effect.orDie)
    return { ...account, ids }
  })

interface Ids {
  /** For paths that begin with a store; if absent, `storeId`. */
  readonly store?: string
  readonly drop?: string
  readonly product: string
  readonly variant: string
  readonly collection: string
  readonly media: string
  readonly market: string
  readonly definition: string
}

const kindOf: { readonly [segment: string]: keyof Ids } = {
  products: "product",
  variants: "variant",
  collections: "collection",
  media: "media",
  markets: "market",
  "metaobject-definitions": "definition"
}

/** Whether a read of an entity needs the parameter store_id. */
export const asksForStore = (path: string): boolean =>
  path.endsWith("/sales-channels") && !path.startsWith("/api/v1/stores/")

/** An id that no record has. */
export const unused = "00000000-0000-4000-8000-000000000001"

/** A valid body for each operation that needs one. */
export const bodyOf: Readonly<Record<string, unknown>> = {
  "/api/v1/data-health/scans": { dimension: "sync" },
  "/api/v1/data-health/completeness-fills": {
    entity_type: "product",
    operations: [{ entity_id: unused, store_id: unused, field: "title", value: "x" }]
  },
  "/api/v1/data-health/divergence-reconciles": {
    entity_type: "product",
    operations: [{ entity_id: unused, field: "title", value: "x" }]
  }
}
export const jsonType = { "content-type": "application/json" }

/** Required query parameters, by path. */
export const queryOf: Readonly<Record<string, string>> = { "/api/v1/data-health/issues": "?section=divergence" }

/** Adds a parameter to a target. */
export const withParameter = (target: string, parameter: string): string =>
  `${target}${target.includes("?") ? "&" : "?"}${parameter}`

/** The target of a route, with the ids of an entity and of a store that has it. */
export const targetOf = (path: string, ids: Ids, storeId: string): string =>
  `${path}${asksForStore(path) ? "?store_id=:store_id" : ""}`
    .replace(/\/([\w-]+)\/:id/, (_, segment: string) => {
      if (segment === "drops") return `/drops/${ids.drop ?? nilUuid}`
      if (segment === "stores") return `/stores/${ids.store ?? storeId}`
      const kind = kindOf[segment]
      if (kind === undefined) throw new Error(`no entity for ${path}`)
      return `/${segment}/${ids[kind]}`
    })
    .replace(":store_id", storeId)

/** The error code of a status, by the table of error codes. */
export const codeOfStatus = (status: number): string | undefined =>
  Object.values(errorCodes).find((row) => row.status === status)?.code
