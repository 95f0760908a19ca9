import { Effect, Option, Schema } from "effect"
import { DataHealth } from "../health/DataHealth.ts"
import type { HealthDimension, HealthOverview, HealthSnapshot } from "../health/Health.ts"
import type { StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import { Stores } from "../stores/Stores.ts"

const Counted = Schema.Struct({ store_id: Schema.String }, { key: Schema.String, value: Schema.Unknown })
const decodeCounts = Schema.decodeUnknownOption(Schema.Array(Counted))

type Json = { readonly [member: string]: unknown }

/** Names the channels in a snapshot's result by id and domain. The result's other members stay as they are. */
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
 * The programs of data health whose results the connector renames. Results are opaque, so no position in a schema can rename
 * `by_store`.
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
