import { Command, Options } from "@effect/cli"
import { Clock, Effect, Either, Option, Redacted } from "effect"
import type { ApiKey } from "../access/ApiKey.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { fromMillis, fromRfc3339, type Timestamp } from "../model/Timestamp.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, textOption } from "./Flags.ts"
import { account, answer, authorText, byFlag, hint, json, noSuch, Refused, seconds } from "./Output.ts"

const scopes = Options.withDefault(
  textOption("scopes", "SCOPES", "Scopes to grant, separated by commas: pim:read, pim:write."),
  "pim:read"
)

const expires = Options.optional(
  textOption("expires", "TIME", "When the key expires, for example 2027-01-31T00:00:00Z.")
)

const expiry = (text: Option.Option<string>): Effect.Effect<Timestamp | null, Refused> =>
  Option.match(text, {
    onNone: () => Effect.succeed(null),
    onSome: (time) => Either.mapLeft(fromRfc3339(time), (rule) => new Refused({ message: `--expires: ${rule}` }))
  })

const create = Command.make(
  "create",
  {
    account,
    name: textOption("name", "NAME", "What the key is for."),
    scopes,
    expires,
    json
  },
  (options) =>
    Effect.gen(function* () {
      const key = yield* (yield* AdminClient).createKey({
        account: options.account,
        name: options.name,
        scopes: options.scopes.split(",").map((scope) => scope.trim()),
        expiresAt: yield* expiry(options.expires)
      })
      const token = Redacted.value(key.token)
      yield* answer(
        options.json,
        { key_id: key.id, key: token, name: key.name, scopes: key.scopes, last_four: key.lastFour },
        [`Created the key ${key.name} (${key.id}) with ${key.scopes.join(", ")}. It is shown only once:`, token]
      )
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Create an API key."))

const stateOf = (key: ApiKey, now: Timestamp) =>
  key.revokedAt !== null ? "revoked" : key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active"

/** Who created and who revoked a key, as far as it is known. */
const authorsOf = ({ createdBy, revokedBy }: ApiKey) =>
  [
    ...(createdBy === null ? [] : [`  created by ${authorText(createdBy)}`]),
    ...(revokedBy === null ? [] : [`  revoked by ${authorText(revokedBy)}`])
  ].join("")

const list = Command.make("list", { account, json }, (options) =>
  Effect.gen(function* () {
    const keys = yield* (yield* AdminClient).listKeys({ account: options.account })
    const now = fromMillis(yield* Clock.currentTimeMillis)
    yield* answer(
      options.json,
      {
        keys: keys.map((key) => ({
          key_id: key.id,
          name: key.name,
          last_four: key.lastFour,
          scopes: key.scopes,
          state: stateOf(key, now),
          created_at: key.createdAt,
          created_by: key.createdBy,
          last_used_at: key.lastUsedAt,
          expires_at: key.expiresAt,
          revoked_at: key.revokedAt,
          revoked_by: key.revokedBy
        }))
      },
      keys.length === 0
        ? [`No keys yet: create one with \`${hint("key create --name NAME", options.account)}\`.`]
        : keys.map(
            (key) =>
              `${key.id}  …${key.lastFour}  ${stateOf(key, now).padEnd(7)}  ${key.scopes.join(",")}  last used ${key.lastUsedAt === null ? "never" : seconds(key.lastUsedAt)}  ${key.name}${authorsOf(key)}`
          )
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the API keys of an account."))

const revoke = Command.make(
  "revoke",
  {
    keyId: argument("KEY_ID", "Id of the key, as `key list` shows it, or its name."),
    account,
    json
  },
  (options) =>
    Effect.gen(function* () {
      const { id } = yield* (yield* AdminClient).revokeKey({ account: options.account, key: options.keyId })
      yield* answer(options.json, { key_id: id, revoked: true }, [`Revoked ${id}: requests with it are refused.`])
    }).pipe(Effect.catchTag("NotFound", noSuch("key", "key list")(options.keyId)), withAdmin)
).pipe(Command.withDescription("Revoke an API key. It stops working at once."))

export const keyCommand = Command.make("key").pipe(
  Command.withDescription("API keys."),
  Command.withSubcommands([create, list, revoke])
)
