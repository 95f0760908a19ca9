import { Console, Effect, Option, Redacted } from "effect"
import { listeningAt, readAppConfig } from "../AppConfig.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { setPasswordLink } from "../console/Paths.ts"

/**
 * The one-time link of a user. It begins with this command's BASE_URL, or the address of the service's last start, or, if there
 * was none, the address that the settings imply; then stderr warns.
 */
export const passwordLink = (token: Redacted.Redacted) =>
  Effect.gen(function* () {
    const config = yield* readAppConfig
    const started = yield* (yield* AdminClient).serviceAddress()
    const known = Option.orElse(config.baseUrl, () => Option.fromNullable(started))
    const address = Option.getOrElse(known, () => listeningAt(config))
    if (Option.isSome(config.databaseUrl) && Option.isNone(known))
      yield* Console.error(
        `BASE_URL is not set and no service has started on this database yet, so the link begins with ${address}. If the service has another address, set BASE_URL for this command.`
      )
    return setPasswordLink(address, Redacted.value(token))
  })
