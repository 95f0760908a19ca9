import { Duration, Effect } from "effect"
import type { PublicationId, StoreId } from "../model/Ids.ts"
import { delayedCode, type PublishError } from "../model/PublishState.ts"
import { callablePlatforms, PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import type { UnclaimedStore } from "./PublicationClaim.ts"
import { PublicationsRepo } from "./PublicationsRepo.ts"
import type { PublishingOptions } from "./PublishingOptions.ts"
import { makeExplain } from "./PublishOutcomes.ts"

/** Number of publications of a store that one look updates. The next look continues. */
const maxOfStore = 200

const toError = (platform: string): PublishError => ({
  code: delayedCode,
  message: `No process with an adapter for the platform ${platform} has taken the publish: it is sent when one runs.`
})

/**
 * Makes the `look` for publishes to platforms that this process has no adapter for. If another process has one, it claims the first
 * publication of a store before the limit. Otherwise each version says why its publish waits, and the log names the store. Returns the number
 * of such stores.
 */
export const makeNoteUnclaimed = ({ adapterLimit }: PublishingOptions) =>
  Effect.gen(function* () {
    const explain = yield* makeExplain
    const repo = yield* PublicationsRepo
    const platforms = callablePlatforms(yield* PlatformRegistry)
    const limit = Duration.toMillis(adapterLimit)

    /** Since when the first publication of each store is not claimed. */
    let watched: ReadonlyMap<
      StoreId,
      { readonly id: PublicationId; readonly attempts: number; readonly since: number }
    > = new Map()

    const note = ({ accountId, domain, platform, storeId }: UnclaimedStore) =>
      Effect.gen(function* () {
        const silent = yield* repo.silent(accountId, storeId, maxOfStore)
        const noted = yield* explain({ accountId, storeId }, silent, toError(platform))
        if (noted > 0)
          yield* Effect.annotateLogs(
            Effect.logWarning(
              `No process has taken the publishes to a store within ${Duration.format(adapterLimit)}, and this one has no adapter for its platform. PLATFORM_MODULES of at least one process must name the adapter's module`
            ),
            { account: accountId, store: domain, platform, publishes: noted }
          )
      })

    const look = Effect.gen(function* () {
      const found = yield* repo.unclaimed(platforms)
      const now = yield* monotonicMillis
      watched = new Map(
        found.map(({ attempts, id, storeId }) => {
          const before = watched.get(storeId)
          return [storeId, before?.id === id && before.attempts === attempts ? before : { id, attempts, since: now }]
        })
      )
      const late = found.filter(({ storeId }) => now - (watched.get(storeId)?.since ?? now) >= limit)
      yield* Effect.forEach(late, note, { discard: true })
      return late.length
    })
    return { look }
  })
