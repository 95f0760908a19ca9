import { Command } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { answer, byPlace, json, Refused } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const tokens = (count: number) => `${count} ${count === 1 ? "token" : "tokens"}`

const rotate = Command.make("rotate", { json }, (options) =>
  Effect.gen(function* () {
    const { current, rotated, unreadable } = yield* (yield* AdminClient).rotateSecrets()
    const members = {
      rotated,
      current,
      unreadable: unreadable.map(({ accountId, domain }) => ({ account_id: accountId, store_domain: domain }))
    }
    const done = `Encrypted ${tokens(rotated)} with SECRET_KEY; ${tokens(current)} had it before.`
    if (unreadable.length > 0) {
      const places = unreadable.map(({ accountId, domain }) => `${domain} (account ${accountId})`).join(", ")
      return yield* new Refused({
        message: `${done} Neither SECRET_KEY nor SECRET_KEY_PREVIOUS decrypts the token of ${places}: link the store again with its token, or repeat this with the key that it was encrypted with as SECRET_KEY_PREVIOUS.`,
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
    "Encrypt the tokens of all stores with SECRET_KEY. SECRET_KEY_PREVIOUS is the key that they were encrypted with."
  )
)

export const secretCommand = Command.make("secret").pipe(
  Command.withDescription("The key that encrypts the tokens of stores."),
  Command.withSubcommands([rotate])
)
