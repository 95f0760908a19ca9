import { Command } from "@effect/cli"
import { Config, Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { secretKeyDigest } from "../stores/SecretBox.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { answer, byPlace, json, Refused } from "./Output.ts"

const secrets = (count: number) => `${count} ${count === 1 ? "secret" : "secrets"}`

const rotate = Command.make("rotate", { json }, (options) =>
  Effect.gen(function* () {
    const client = yield* AdminClient
    const key = yield* Effect.orDie(Config.option(Config.string("SECRET_KEY")))
    const keyDigest = Option.getOrNull(Option.flatMap(key, secretKeyDigest))
    const { current, rotated, unreadable } = yield* client.rotateSecrets({ keyDigest })
    const { pid } = yield* client.hello()
    const isElsewhere = pid !== process.pid
    const members = {
      ...(isElsewhere && { server_pid: pid }),
      rotated,
      current,
      unreadable: unreadable.map(({ accountId, kind, name }) => ({
        account_id: accountId,
        ...(kind === "store" ? { store_domain: name } : kind === "webhook" ? { webhook_id: name } : { email: name })
      }))
    }
    const whose = isElsewhere ? ` of the process ${pid}, which holds the database` : ""
    const done = `Encrypted ${secrets(rotated)} with SECRET_KEY${whose}; ${secrets(current)} already used it.`
    if (unreadable.length > 0) {
      const places = unreadable
        .map(({ accountId, kind, name }) => `the ${kind} ${name} (account ${accountId})`)
        .join(", ")
      return yield* new Refused({
        message: `${done} Neither SECRET_KEY nor SECRET_KEY_PREVIOUS decrypts the secret of ${places}: link the store again with its token, rotate the secret of the webhook, reset the second factor of the user, or set SECRET_KEY_PREVIOUS to the key that encrypted it and repeat.`,
        members
      })
    }
    yield* answer(options.json, members, [done, "SECRET_KEY_PREVIOUS can be removed from every process."])
  }).pipe(
    Effect.catchTag(
      "ValidationFailed",
      byPlace((path) => path)
    ),
    withAdmin
  )
).pipe(
  Command.withDescription(
    "Encrypt the tokens of stores and the secrets of webhooks and of second factors with SECRET_KEY. SECRET_KEY_PREVIOUS is the key that encrypted them before."
  )
)

export const secretCommand = Command.make("secret").pipe(
  Command.withDescription(
    "The key that encrypts the tokens of stores and the secrets of webhooks and of second factors."
  ),
  Command.withSubcommands([rotate])
)
