import { Console, Effect, Option, Redacted } from "effect"
import { listeningAt, readAppConfig } from "../AppConfig.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { setPasswordLink } from "../console/Paths.ts"

/**
 * The one-time link of a user. It begins with BASE_URL if that is set, else with the URL of the service's last start. If the
 * service was never started, it begins with the URL that HOST and PORT imply, and stderr has a warning.
 */
export const passwordLink = (token: Redacted.Redacted) =>
  Effect.gen(function* () {
    const config = yield* readAppConfig
    const started = yield* (yield* AdminClient).serviceAddress()
    const knownAddress = Option.orElse(config.baseUrl, () => Option.fromNullable(started))
    const address = Option.getOrElse(knownAddress, () => listeningAt(config))
    if (Option.isSome(config.databaseUrl) && Option.isNone(knownAddress))
      yield* Console.error(
        `BASE_URL is not set and no service has started on this database yet, so the link begins with ${address}. If the service has another address, set BASE_URL for this command.`
      )
    return setPasswordLink(address, Redacted.value(token))
  })
