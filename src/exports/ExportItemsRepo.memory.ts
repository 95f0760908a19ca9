import { Clock, Effect, Layer } from "effect"
import type { ExportItem } from "./ExportItem.ts"
import { ExportItemsRepo } from "./ExportItemsRepo.ts"

const monthMillis = 30 * 86_400_000

interface Staged {
  readonly key: string
  readonly place: number
  readonly item: ExportItem
  readonly stagedAt: number
}

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerExportItemsRepoMemory = Layer.sync(ExportItemsRepo, () => {
  let all: ReadonlyArray<Staged> = []
  const keyOf = (...ids: ReadonlyArray<string>) => ids.join(" ")
  const itemsOf = (key: string) =>
    all.filter((each) => each.key === key).sort((left, right) => left.place - right.place)
  return {
    stage: (accountId, id, after, items) =>
      Effect.map(Clock.currentTimeMillis, (stagedAt) => {
        const key = keyOf(accountId, id)
        all = [...all, ...items.map((item, index) => ({ key, item, stagedAt, place: after + index + 1 }))]
      }),
    take: (accountId, id, limit) =>
      Effect.sync(() => {
        const batch = itemsOf(keyOf(accountId, id)).slice(0, limit)
        all = all.filter((each) => !batch.includes(each))
        return batch.map(({ item }) => item)
      }),
    count: (accountId, id) => Effect.sync(() => itemsOf(keyOf(accountId, id)).length),
    forget: Effect.map(Clock.currentTimeMillis, (now) => {
      const before = all.length
      all = all.filter(({ stagedAt }) => stagedAt > now - monthMillis)
      return before - all.length
    })
  }
})
