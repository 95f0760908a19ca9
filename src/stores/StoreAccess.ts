import { Context, Effect, Layer, Option } from "effect"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { PlatformStore } from "../platform/PlatformClient.ts"
import { PlatformRefused } from "../platform/PlatformErrors.ts"
import { SecretBox } from "./SecretBox.ts"
import { StoresRepo } from "./StoresRepo.ts"

const closed = (code: string, message: string) => new PlatformRefused({ code, message, field: null })

const noToken = closed(
  "NO_ACCESS_TOKEN",
  "The store has no saved access token: link it again with `catalog store link --platform shopify --token-file FILE`."
)

/** Opens stores for calls to their platforms. */
export class StoreAccess extends Context.Tag("catalog/StoreAccess")<
  StoreAccess,
  {
    /**
     * Returns a linked store with its token. NotFound: the account has no such store. PlatformRefused: the token is missing or
     * cannot be decrypted.
     */
    readonly open: (accountId: AccountId, storeId: StoreId) => Effect.Effect<PlatformStore, NotFound | PlatformRefused>
  }
>() {
  static readonly layer = Layer.effect(
    StoreAccess,
    Effect.gen(function* () {
      const stores = yield* StoresRepo
      const secrets = yield* SecretBox
      return {
        open: Effect.fn("StoreAccess.open")(function* (accountId, storeId) {
          const store = yield* stores.find(accountId, storeId)
          if (Option.isNone(store)) return yield* new NotFound()
          const { domain, platform } = store.value
          const opened = { accountId, storeId, domain, platform }
          if (platform !== "shopify") return { ...opened, token: null }
          const sealed = yield* stores.credential(accountId, storeId)
          if (Option.isNone(sealed)) return yield* noToken
          const token = yield* Effect.mapError(secrets.open(sealed.value, { accountId, storeId }), ({ message }) =>
            closed("ACCESS_TOKEN_UNREADABLE", message)
          )
          return { ...opened, token }
        })
      }
    })
  )
}
