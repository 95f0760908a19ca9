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

/** Programs that register themselves, before anybody knows them. */
export class Registrations extends Context.Tag("catalog/Registrations")<
  Registrations,
  {
    /** `address`: where the request came from. TooManyRegistrations: it has registered all that it may in an hour. */
    readonly register: (client: ClientMetadata, address: string) => Effect.Effect<Client, TooManyRegistrations>
  }
>() {
  /** `perHour`: registrations from one address. */
  static readonly layer = ({ perHour }: { readonly perHour: number }) =>
    Layer.effect(
      Registrations,
      Effect.gen(function* () {
        const oauth = yield* OAuthRepo
        const attempts = yield* UsersRepo
        return {
          register: Effect.fn("Registrations.register")(function* ({ name, redirectUris }, address) {
            const limits = { most: perHour, windowSeconds }
            const retryAfterSeconds = yield* attempts.attempt("registration", hashOf(address), limits)
            if (retryAfterSeconds > 0) return yield* new TooManyRegistrations({ retryAfterSeconds })
            const id = yield* mintId(ClientId)
            yield* oauth.addClient(id, { name, redirectUris })
            return { id, name, redirectUris }
          })
        }
      })
    )
}
