import { Effect, type Redacted } from "effect"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"

/** Opens every store as this one of Shopify, and records no test of its token. */
export const openAs = (domain: string, token: Redacted.Redacted<string>) => {
  const open: StoreAccess["Type"]["open"] = (accountId, storeId) =>
    Effect.succeed({ accountId, storeId, domain, platform: "shopify", credentials: { token } })
  return StoreAccess.of({
    open,
    read: (accountId, storeId) =>
      Effect.succeed({
        open: open(accountId, storeId),
        record: () => Effect.void,
        recordRefusal: () => Effect.void
      })
  })
}
