import { Context, Effect, Layer, Option } from "effect"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { PlatformDescription } from "../platform/PlatformAdapter.ts"
import { PlatformRefused } from "../platform/PlatformErrors.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { SecretBox } from "./SecretBox.ts"
import { fromText, linkOptions } from "./StoreCredentials.ts"
import { type AccessibleStore, StoresRepo } from "./StoresRepo.ts"

const refuse = (code: string, message: string) => new PlatformRefused({ code, message, field: null })

const noCredentials = (adapter: PlatformDescription) =>
  refuse(
    "NO_ACCESS_TOKEN",
    `The store has no saved ${nounOf(adapter)}: link the store again with \`catalog store link ${linkOptions(adapter)}\`.`
  )

const otherFields = (adapter: PlatformDescription) =>
  refuse(
    "ACCESS_TOKEN_UNREADABLE",
    `A field of the saved ${nounOf(adapter)} of the store is missing: link the store again with \`catalog store link ${linkOptions(adapter)}\`.`
  )

const nounOf = ({ fields }: PlatformDescription) =>
  fields.length === 1 && fields[0]?.name === "token" ? "access token" : "credentials"

/** The codes of refusals that concern the credentials, not the call. */
const credentialRefusals = new Set(["ACCESS_TOKEN_UNREADABLE", "NO_ACCESS_TOKEN", "UNAUTHORIZED"])

const make = Effect.gen(function* () {
  const stores = yield* StoresRepo
  const registry = yield* PlatformRegistry
  const secrets = yield* SecretBox

  const openWith = (
    accountId: AccountId,
    adapter: PlatformDescription | undefined,
    found: AccessibleStore | undefined
  ) =>
    Effect.gen(function* () {
      if (found === undefined) return yield* new NotFound()
      const { newRecordChannels, sealed } = found
      const { domain, id: storeId, platform } = found.store
      const opened = { accountId, storeId, domain, platform, ...(newRecordChannels !== null && { newRecordChannels }) }
      if (adapter === undefined || adapter.fields.length === 0) return { ...opened, credentials: {} }
      if (Option.isNone(sealed)) return yield* noCredentials(adapter)
      const text = yield* Effect.mapError(secrets.open(sealed.value, { accountId, storeId }), ({ message }) =>
        refuse("ACCESS_TOKEN_UNREADABLE", message)
      )
      const credentials = fromText(adapter, text)
      return Option.isNone(credentials) ? yield* otherFields(adapter) : { ...opened, credentials: credentials.value }
    })

  const read = Effect.fn("StoreAccess.read")(function* (accountId: AccountId, storeId: StoreId) {
    const found = Option.getOrUndefined(yield* stores.access(accountId, storeId))
    const adapter = found === undefined ? undefined : Option.getOrUndefined(registry.find(found.store.platform))
    const sealed = found?.sealed ?? Option.none()
    const record = (refusal: string | null, missingPermissions: ReadonlyArray<string> = []) =>
      stores.recordCredentialTest(accountId, storeId, sealed, refusal, missingPermissions)
    return {
      open: openWith(accountId, adapter, found),
      record,
      recordRefusal: ({ code, message }: PublishError) => (credentialRefusals.has(code) ? record(message) : Effect.void)
    }
  })

  return {
    /**
     * Reads the saved credentials of a store. `open`: the store with these credentials, see `open` below. `record`: saves that the
     * platform accepted them (null) without some optional permissions, or why it refused them. `recordRefusal`: saves why the platform refused a call, if the credentials
     * are the cause. Nothing is saved if the store has other credentials by now.
     */
    read,
    /**
     * Returns a linked store with its credentials. NotFound: the account has no such store. PlatformRefused: the
     * credentials are missing or cannot be decrypted. If no adapter serves the store's platform, it returns no
     * credentials, and every call fails.
     */
    open: Effect.fn("StoreAccess.open")((accountId: AccountId, storeId: StoreId) =>
      Effect.flatMap(read(accountId, storeId), ({ open }) => open)
    )
  }
})

/** Opens stores for calls to their platforms. */
export class StoreAccess extends Context.Tag("catalog/StoreAccess")<StoreAccess, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(StoreAccess, make)
}
