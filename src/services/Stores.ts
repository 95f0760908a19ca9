import { Context, Effect, Layer } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { ValidationFailed } from "../domain/Errors.ts"
import { StoreId } from "../domain/Ids.ts"
import type { Store } from "../domain/Store.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { mintId } from "./Identifiers.ts"

/** A store to be linked. */
export interface NewStore {
  readonly domain: string
  /** The domain when it is blank. */
  readonly name: string
  readonly platform: string
  readonly primaryLocale: string
  readonly currency: string
}

/** The stores linked to the account of whoever asks. */
export class Stores extends Context.Tag("catalog/Stores")<
  Stores,
  {
    /** By domain. */
    readonly list: Effect.Effect<ReadonlyArray<Store>, never, CurrentActor>
    /** ValidationFailed: a domain that is none or is linked already, a platform that cannot be linked. */
    readonly link: (store: NewStore) => Effect.Effect<Store, ValidationFailed, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Stores,
    Effect.gen(function* () {
      const repo = yield* StoresRepo
      const drafts = yield* DraftsRepo
      const transaction = yield* Transaction
      return {
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId)),
        link: Effect.fn("Stores.link")(function* (given) {
          const { accountId } = yield* CurrentActor
          const domain = given.domain.trim().toLowerCase()
          if (!isDomain(domain)) return yield* refused("domain", "must be a host name such as shop.example.com")
          if (given.platform === "shopify")
            return yield* refused(
              "platform",
              "linking a Shopify store comes with publishing; link it as `none` and import its export"
            )
          if (given.platform !== "none" && given.platform !== "demo")
            return yield* refused("platform", "must be one of none, demo")
          const store: Store = {
            id: yield* mintId(StoreId),
            domain,
            name: given.name.trim() || domain,
            platform: given.platform,
            status: "linked",
            primary_locale: given.primaryLocale,
            locales: [given.primaryLocale],
            currency: given.currency,
            last_imported_at: null
          }
          yield* transaction.run(
            Effect.gen(function* () {
              if ((yield* repo.list(accountId)).some((other) => other.domain === domain))
                return yield* refused("domain", `${domain} is linked already`)
              yield* repo.link(accountId, store)
              yield* drafts.raise(accountId, { stamped: [], drafted: [] })
            })
          )
          return store
        })
      }
    })
  )
}

const refused = (path: string, message: string) => new ValidationFailed({ issues: [{ path, message }] })

/** Labels of letters, digits and inner hyphens, two at least (RFC 1123). */
const isDomain = (text: string) =>
  text.length <= 253 &&
  text.split(".").length >= 2 &&
  text.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
