import { Context, Effect, Layer } from "effect"
import { hashOf } from "../access/Secrets.ts"
import { UsersRepo } from "../access/UsersRepo.ts"
import { ClientId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import type { ClientMetadata } from "./ClientMetadata.ts"
import { TooManyRegistrations } from "./OAuthErrors.ts"
import type { Client } from "./OAuthRecords.ts"
import { OAuthRepo } from "./OAuthRepo.ts"

const windowSeconds = 3_600

/** Registration of clients, which needs no sign-in. */
export class Registrations extends Context.Tag("catalog/Registrations")<
  Registrations,
  {
    /** `address`: the client's IP address. TooManyRegistrations: this address has reached its limit for the hour. */
    readonly register: (client: ClientMetadata, address: string) => Effect.Effect<Client, TooManyRegistrations>
  }
>() {
  /** `perHour`: maximum number of registrations from one IP address in an hour. */
  static readonly layer = ({ perHour }: { readonly perHour: number }) =>
    Layer.effect(
      Registrations,
      Effect.gen(function* () {
        const oauth = yield* OAuthRepo
        const users = yield* UsersRepo
        return {
          register: Effect.fn("Registrations.register")(function* ({ name, redirectUris }, address) {
            const limits = { maxAttempts: perHour, windowSeconds }
            const retryAfterSeconds = yield* users.countAttempt("registration", hashOf(address), limits)
            if (retryAfterSeconds > 0) return yield* new TooManyRegistrations({ retryAfterSeconds })
            const id = yield* mintId(ClientId)
            yield* oauth.addClient(id, { name, redirectUris })
            return { id, name, redirectUris, metadataUrl: null }
          })
        }
      })
    )
}
