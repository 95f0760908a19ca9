import { Console, Effect, Option, Redacted } from "effect"
import { listeningAt } from "../App.ts"
import { readAppConfig } from "../AppConfig.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { setPasswordLink } from "../console/Paths.ts"

/**
 * The one-time link of a user: at this command's BASE_URL, else where the service was started last. Where it never was, the
 * address is only what the settings make likely, and stderr says so.
 */
export const passwordLink = (token: Redacted.Redacted) =>
  Effect.gen(function* () {
    const config = yield* readAppConfig
    const started = yield* (yield* AdminClient).serviceAddress()
    const known = Option.orElse(config.baseUrl, () => Option.fromNullable(started))
    const address = Option.getOrElse(known, () => listeningAt(config))
    if (Option.isSome(config.databaseUrl) && Option.isNone(known))
      yield* Console.error(
        `BASE_URL is not set here and no service was started on this database yet, so the link begins with ${address}: if the service has another address, give this command its BASE_URL.`
      )
    return setPasswordLink(address, Redacted.value(token))
  })
