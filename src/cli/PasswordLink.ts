import { Console, Effect, Option, Redacted } from "effect"
import { passwordLinkOf } from "../App.ts"
import { readAppConfig } from "../AppConfig.ts"

/**
 * The one-time link of a user. The service that shares a database server knows its public address, this process only what its
 * own BASE_URL says: without one somebody might send a link that leads nowhere, so stderr says whose address it has.
 */
export const passwordLink = (token: Redacted.Redacted) =>
  Effect.gen(function* () {
    const config = yield* readAppConfig
    const link = passwordLinkOf(config, Redacted.value(token))
    if (Option.isSome(config.databaseUrl) && Option.isNone(config.baseUrl))
      yield* Console.error(
        `BASE_URL is not set here, so the link begins with ${new URL(link).origin}: if the service has another address, give this command its BASE_URL.`
      )
    return link
  })
