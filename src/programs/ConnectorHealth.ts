import { Effect, Option, Schema } from "effect"
import { DataHealth } from "../health/DataHealth.ts"
import type { HealthDimension, HealthOverview, HealthSnapshot } from "../health/Health.ts"
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

/**
 * The programs of data health whose results need `by_store` renamed for the connector. No schema annotation can rename it,
 * because the schema of a result is opaque.
 */
export const makeConnectorHealth = Effect.gen(function* () {
  const health = yield* DataHealth
  const stores = yield* Stores
  const naming = Effect.map(stores.list, (linked) =>
    withChannels(new Map(linked.map(({ domain, id }) => [id, domain])))
  )

  return {
    getDataHealth: ({ urlParams }: { readonly urlParams: { readonly store_id?: StoreId | undefined } }) =>
      Effect.gen(function* () {
        const { text } = yield* health.overview(urlParams.store_id)
        const name = yield* naming
        const { dimensions } = JSON.parse(text) as { readonly dimensions: ReadonlyArray<Json> }
        return new JsonText<HealthOverview>(JSON.stringify({ dimensions: dimensions.map(name) }))
      }),
    runDataHealthScan: ({
      payload
    }: {
      readonly payload: { readonly dimension: HealthDimension; readonly store_id?: StoreId | undefined }
    }) =>
      Effect.gen(function* () {
        const { text } = yield* health.scan(payload.dimension, payload.store_id)
        const name = yield* naming
        return new JsonText<HealthSnapshot>(JSON.stringify(name(JSON.parse(text))))
      })
  }
})
