import { Clock, Effect, Layer, Ref } from "effect"
import { MemoryStore } from "../database/MemoryStore.memory.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { FeedRepo } from "./FeedRepo.ts"
import { toFeedChange } from "./FeedSlices.ts"

const ageMillis = 30 * 24 * 60 * 60 * 1_000

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerFeedRepoMemory = Layer.effect(
  FeedRepo,
  Effect.map(MemoryStore, (store) => ({
    read: (accountId, after, limit) =>
      Effect.map(Ref.get(store), (state) => {
        const { feed = [], feedFloor = 0 } = state.get(accountId) ?? {}
        const from = Math.max(after - feedFloor, 0)
        return {
          changes: feed
            .slice(from, from + limit)
            .map(({ at, group, id }, index) => toFeedChange(feedFloor + from + index + 1, at, id, group)),
          floor: feedFloor,
          last: feedFloor + feed.length
        }
      }),
    forget: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Ref.modify(store, (state) => {
        let deleted = 0
        const before = fromMillis(now - ageMillis)
        const accounts = [...state].map(([id, account]) => {
          const firstRecent = account.feed.findIndex(({ at }) => at >= before)
          const old = firstRecent === -1 ? account.feed.length : firstRecent
          deleted += old
          return [id, { ...account, feed: account.feed.slice(old), feedFloor: account.feedFloor + old }] as const
        })
        return [deleted, new Map(accounts)]
      })
    )
  }))
)
