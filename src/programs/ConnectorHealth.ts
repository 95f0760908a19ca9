import { Effect, Option, Schema } from "effect"
import { DataHealth } from "../health/DataHealth.ts"
import { type HealthDimension, type HealthOverview, type HealthSnapshot, isPerStore } from "../health/Health.ts"
import { type ConnectionBounds, CurrentBounds } from "../model/ConnectionBounds.ts"
import type { StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import { Stores } from "../stores/Stores.ts"

const Counted = Schema.Struct({ store_id: Schema.String }, { key: Schema.String, value: Schema.Unknown })
const decodeCounts = Schema.decodeUnknownOption(Schema.Array(Counted))

type Json = { readonly [member: string]: unknown }

/** Replaces `by_store` in a snapshot's result by channels with id and domain. Other members of the result are unchanged. */
const withChannels = (domains: ReadonlyMap<string, string>) => (snapshot: Json) => {
  const result = snapshot.result as Json | undefined
  return Option.match(decodeCounts(result?.by_store), {
    onNone: () => snapshot,
    onSome: (counts) => ({
      ...snapshot,
      result: {
        ...result,
        by_store: counts.map(({ store_id, ...numbers }) => ({
          channel_id: store_id,
          store_domain: domains.get(store_id) ?? null,
          ...numbers
        }))
      }
    })
  })
}

const numbersAreHidden = "Numbers of all channels together are hidden from this connection"

/**
 * Removes the numbers that count all stores from the snapshots of a caller that is limited to some. `by_store` and the rules stay.
 * Snapshots of one store stay whole.
 */
const limitedTo =
  ({ stores }: ConnectionBounds, storeId: StoreId | undefined) =>
  (snapshot: Json): Json => {
    const isStoreScan = isPerStore(snapshot.dimension as HealthDimension)
    const result = snapshot.result as Json | undefined
    if (stores === null || result === undefined || (storeId !== undefined && isStoreScan)) return snapshot
    return {
      ...snapshot,
      result: {
        by_store: result.by_store,
        ...(result.rules !== undefined && { rules: result.rules }),
        hidden: isStoreScan ? `${numbersAreHidden}; channel_id gives those of one channel.` : `${numbersAreHidden}.`
      }
    }
  }

/**
 * The programs of data health whose results need `by_store` renamed for the connector. No schema annotation can rename it,
 * because the schema of a result is opaque.
 */
export const makeConnectorHealth = Effect.gen(function* () {
  const health = yield* DataHealth
  const stores = yield* Stores
  const snapshotsFor = (storeId: StoreId | undefined) =>
    Effect.gen(function* () {
      const limit = limitedTo(yield* CurrentBounds, storeId)
      const name = withChannels(new Map((yield* stores.list).map(({ domain, id }) => [id, domain])))
      return (snapshot: Json) => name(limit(snapshot))
    })

  return {
    getDataHealth: ({ urlParams }: { readonly urlParams: { readonly store_id?: StoreId | undefined } }) =>
      Effect.gen(function* () {
        const { text } = yield* health.overview(urlParams.store_id)
        const toAnswer = yield* snapshotsFor(urlParams.store_id)
        const { dimensions } = JSON.parse(text) as { readonly dimensions: ReadonlyArray<Json> }
        return new JsonText<HealthOverview>(JSON.stringify({ dimensions: dimensions.map(toAnswer) }))
      }),
    runDataHealthScan: ({
      payload
    }: {
      readonly payload: { readonly dimension: HealthDimension; readonly store_id?: StoreId | undefined }
    }) =>
      Effect.gen(function* () {
        const { text } = yield* health.scan(payload.dimension, payload.store_id)
        const toAnswer = yield* snapshotsFor(payload.store_id)
        return new JsonText<HealthSnapshot>(JSON.stringify(toAnswer(JSON.parse(text))))
      })
  }
})
