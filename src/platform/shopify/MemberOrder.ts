import { Array as Arr, Effect } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import * as Answers from "./Answers.ts"
import { maxElements, type ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { mutate } from "./Refusals.ts"

/** Moves a product of a collection to an index, which counts after the moves before this one. */
interface Move {
  readonly id: string
  readonly newPosition: string
}

/** An increasing run of numbers, from its last number backwards. */
interface Run {
  readonly last: number
  readonly before: Run | undefined
}

/** The numbers of a longest increasing run within a list. Other numbers may lie between them. */
const longestRun = (numbers: ReadonlyArray<number>): ReadonlySet<number> => {
  /** The run at index n has n + 1 numbers. Of all runs of that length it has the smallest last number. */
  const runs: Array<Run> = []
  for (const last of numbers) {
    let [low, high] = [0, runs.length]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if ((runs[middle]?.last ?? 0) < last) low = middle + 1
      else high = middle
    }
    runs[low] = { last, before: runs[low - 1] }
  }
  const longest = new Set<number>()
  for (let run = runs.at(-1); run !== undefined; run = run.before) longest.add(run.last)
  return longest
}

/**
 * The fewest moves that put the products of a collection into the wanted order, without duplicates. Wanted products that the collection
 * does not have are ignored, and others that it has are not moved.
 */
export const movesTo = (wanted: ReadonlyArray<string>, current: ReadonlyArray<string>): ReadonlyArray<Move> => {
  const indexes = new Map(current.map((id, index) => [id, index]))
  const staying = longestRun(wanted.flatMap((id) => indexes.get(id) ?? []))
  const moves: Array<Move> = []
  const settled = new Set<string>()
  /** `end`: the index in `current` of the last product so far that stays. `unsettled`: number of products before it that are not settled. */
  let [end, unsettled] = [0, 0]
  for (const id of wanted) {
    const index = indexes.get(id)
    if (index === undefined) continue
    if (staying.has(index)) for (; end < index; end++) unsettled += settled.has(current[end] ?? "") ? 0 : 1
    else {
      if (index < end) unsettled -= 1
      moves.push({ id, newPosition: String(settled.size + unsettled) })
    }
    settled.add(id)
  }
  return moves
}

/** Waits until Shopify has made a change that it makes later. */
export const awaitJob = (client: ShopifyClient, store: PlatformStore, started: Answers.Job | null) =>
  Effect.gen(function* () {
    let job = started
    while (job !== null && !job.done) {
      yield* Effect.sleep(client.options.pollEvery)
      job = (yield* client.read(store, Documents.jobState, Answers.JobState, { id: job.id })).job
    }
  })

/** Puts the members of a collection into the wanted order, and waits until they are. `current`: their order now. */
export const orderMembers = (
  client: ShopifyClient,
  store: PlatformStore,
  id: string,
  wanted: ReadonlyArray<string>,
  current: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    for (const moves of Arr.chunksOf(movesTo(wanted, current), maxElements)) {
      const { job } = yield* mutate(client, store, Documents.orderMembers, Answers.OrderMembers, { id, moves })
      yield* awaitJob(client, store, job)
    }
  })
