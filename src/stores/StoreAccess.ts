import { Context, Effect, Layer, Option } from "effect"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { PlatformDescription } from "../platform/PlatformAdapter.ts"
import { PlatformRefused } from "../platform/PlatformErrors.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { SecretBox } from "./SecretBox.ts"
import { fromText, linkOptions } from "./StoreCredentials.ts"
import { StoresRepo } from "./StoresRepo.ts"

const refuse = (code: string, message: string) => new PlatformRefused({ code, message, field: null })

const noCredentials = (adapter: PlatformDescription) =>
  refuse(
    "NO_ACCESS_TOKEN",
    `The store has no saved ${nounOf(adapter)}: link it again with \`catalog store link ${linkOptions(adapter)}\`.`
  )

const otherFields = (adapter: PlatformDescription) =>
  refuse(
    "ACCESS_TOKEN_UNREADABLE",
    `The saved ${nounOf(adapter)} of the store lack a field: link it again with \`catalog store link ${linkOptions(adapter)}\`.`
  )

const nounOf = ({ fields }: PlatformDescription) =>
  fields.length === 1 && fields[0]?.name === "token" ? "access token" : "credentials"

/** The codes of refusals that concern the credentials, not the call. */
const credentialRefusals = new Set(["ACCESS_TOKEN_UNREADABLE", "NO_ACCESS_TOKEN", "UNAUTHORIZED"])

const make = Effect.gen(function* () {
  const stores = yield* StoresRepo
  const registry = yield* PlatformRegistry
  const secrets = yield* SecretBox
  return {
    /** Records that the platform refused the credentials of a store, if that is why it refused a call. */
    recordRefusal: (accountId: AccountId, storeId: StoreId, { code, message }: PublishError) =>
      credentialRefusals.has(code) ? stores.recordCredentialTest(accountId, storeId, message) : Effect.void,
    /**
     * Returns a linked store with its credentials. NotFound: the account has no such store. PlatformRefused: the
     * credentials are missing or cannot be decrypted. If no adapter serves the store's platform, it returns no
     * credentials, and every call fails.
     */
    open: Effect.fn("StoreAccess.open")(function* (accountId: AccountId, storeId: StoreId) {
      const store = yield* stores.find(accountId, storeId)
      if (Option.isNone(store)) return yield* new NotFound()
      const { domain, platform } = store.value
      const opened = { accountId, storeId, domain, platform }
      const adapter = Option.getOrUndefined(registry.find(platform))
      if (adapter === undefined || adapter.fields.length === 0) return { ...opened, credentials: {} }
      const sealed = yield* stores.credential(accountId, storeId)
      if (Option.isNone(sealed)) return yield* noCredentials(adapter)
      const text = yield* Effect.mapError(secrets.open(sealed.value, { accountId, storeId }), ({ message }) =>
        refuse("ACCESS_TOKEN_UNREADABLE", message)
      )
      const credentials = fromText(adapter, text)
      return Option.isNone(credentials) ? yield* otherFields(adapter) : { ...opened, credentials: credentials.value }
    })
  }
})

/** Opens stores for calls to their platforms. */
export class StoreAccess extends Context.Tag("catalog/StoreAccess")<StoreAccess, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(StoreAccess, make)
}
