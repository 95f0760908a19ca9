import { SqlClient } from "@effect/sql"
import { Array as Arr, Effect, Schema } from "effect"
import { resourceOf } from "../connections/AuthorizationRequest.ts"
import { asBackground } from "../database/Deadlines.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { AccountId, StoreId, UserId, WebhookId } from "../model/Ids.ts"
import { callablePlatforms, PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { SecretBox } from "../stores/SecretBox.ts"

/** Maximum number of saved secrets of each kind that a start decrypts. */
const maxSecrets = 20

const SavedSecret = Schema.Struct({
  owner: Schema.Union(
    Schema.Struct({ accountId: AccountId, storeId: StoreId }),
    Schema.Struct({ accountId: AccountId, webhookId: WebhookId }),
    Schema.Struct({ accountId: AccountId, userId: UserId })
  ),
  sealed: Schema.Uint8ArrayFromSelf
})

/**
 * Logs settings of this process that do not fit what the database has. Each process reads its own settings. If those of one process
 * differ, only a part of the work fails, which an operator would otherwise find by chance.
 */
export const makeStartChecks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const box = yield* SecretBox
  const platforms = callablePlatforms(yield* PlatformRegistry)

  const readSecrets = findAll(SavedSecret)(
    () => sql`
      (SELECT jsonb_build_object('accountId', s.account_id, 'storeId', s.id) AS owner, s.credential AS sealed
       FROM store s WHERE s.status = 'linked' AND s.credential IS NOT NULL LIMIT ${maxSecrets})
      UNION ALL
      (SELECT jsonb_build_object('accountId', w.account_id, 'webhookId', w.id), w.secret
       FROM webhook w WHERE w.state = 'active' LIMIT ${maxSecrets})
      UNION ALL
      (SELECT jsonb_build_object('accountId', f.account_id, 'userId', f.user_id), f.secret
       FROM second_factor f WHERE f.confirmed_at IS NOT NULL LIMIT ${maxSecrets})
      ${sql.literal(allAccounts)}`
  )

  const checkSecrets = Effect.gen(function* () {
    const secrets = yield* readSecrets()
    const failures = yield* Effect.forEach(secrets, ({ owner, sealed }) => Effect.either(box.open(sealed, owner)))
    const [first, ...others] = Arr.getLefts(failures)
    if (first === undefined) return
    yield* Effect.logWarning(
      `Of ${secrets.length} saved secrets that were tested, ${others.length + 1} cannot be decrypted. All processes on this database need the same SECRET_KEY: one with another key fails publishes, webhooks and second factors. ${first.message}`
    )
  })

  const countForeign = findSingle(Schema.Struct({ count: Schema.Int }))(
    (resource: string) => sql`
      SELECT count(*)::integer AS count FROM oauth_grant
      WHERE ended_at IS NULL AND lapses_at > app_now() AND resource <> ${resource} ${sql.literal(allAccounts)}`
  )

  const checkAddress = (baseUrl: string) =>
    Effect.flatMap(countForeign(resourceOf(baseUrl)), ({ count }) =>
      count === 0
        ? Effect.void
        : Effect.logWarning(
            `The address of this process is ${baseUrl} (BASE_URL), and ${count === 1 ? "1 connection of agents was" : `${count} connections of agents were`} made at another address: this process refuses ${count === 1 ? "it" : "them"}. All processes on this database need the same BASE_URL. If the address has changed for good, connect the agents again.`
          )
    )

  const countUncallable = findAll(Schema.Struct({ platform: Schema.String, count: Schema.Int }))(
    () => sql`
      SELECT s.platform, count(*)::integer AS count FROM store s
      WHERE s.status = 'linked' AND s.platform <> ALL(${platforms}::text[])
      GROUP BY s.platform ORDER BY s.platform ${sql.literal(allAccounts)}`
  )

  const checkPlatforms = Effect.flatMap(countUncallable(), (missing) =>
    missing.length === 0
      ? Effect.void
      : Effect.logWarning(
          `This process has no adapter for platforms of linked stores: ${missing
            .map(({ count, platform }) => `${platform} (${count} ${count === 1 ? "store" : "stores"})`)
            .join(
              ", "
            )}. It sends nothing to these stores, and refuses to publish to them or to read them. All processes on this database need the same PLATFORM_MODULES.`
        )
  )

  return (baseUrl: string): Effect.Effect<void> =>
    Effect.all([checkSecrets, checkAddress(baseUrl), checkPlatforms], { discard: true }).pipe(
      asBackground,
      Effect.catchAllCause((cause) => Effect.logDebug("The settings could not be compared with the database", cause))
    )
})
