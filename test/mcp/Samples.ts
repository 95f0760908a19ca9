import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Demo } from "../../src/demo/Demo.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { Programs } from "../../src/programs/Programs.ts"

type Args = Readonly<Record<string, unknown>>

/** For one account, arguments with which each tool succeeds, and the ids in them. */
export interface Samples {
  readonly accountId: AccountId
  readonly product: string
  readonly variant: string
  readonly collection: string
  readonly media: string
  /** The product's first channel. */
  readonly channel: string
  /** Its domain. */
  readonly domain: string
  readonly drop: string
  /** Arguments of a tool. Writes are based on `revision`. */
  readonly argsOf: (name: string, revision: number) => Args
}

/** Creates another demo account with a drop of its own, and arguments for every tool. */
export const demoSamples = Effect.gen(function* () {
  const { account } = yield* (yield* Demo).create
  return yield* Effect.provideService(samplesOf(account.id), CurrentActor, { _tag: "Cli", accountId: account.id })
}).pipe(Effect.orDie)

/** The demo account that the tests of a file share. They must leave it usable. */
export class DemoSamples extends Context.Tag("test/DemoSamples")<DemoSamples, Samples>() {
  static readonly layer = Layer.effect(DemoSamples, demoSamples)
}

const samplesOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const programs = yield* Programs
    const idOf = (text: string): string => JSON.parse(text).data[0].id
    const query = { urlParams: { limit: 1 } }
    const collection = idOf((yield* programs.listCollections(query)).text)
    const media = idOf((yield* programs.listMedia(query)).text)
    // A product on two stores that have a platform.
    const products = JSON.parse((yield* programs.listProducts({ urlParams: { limit: 250 } })).text).data
    const { data: stores } = yield* programs.listStores()
    const asked = stores.filter(({ platform }) => platform === "demo").map(({ id }) => id as string)
    const product = products.find(
      ({ last_publish_status, store_ids }: { last_publish_status: string; store_ids: ReadonlyArray<string> }) =>
        last_publish_status === "published" && store_ids.filter((id) => asked.includes(id)).length >= 2
    )
    assert.isDefined(product, "the demo has a product on two stores")
    const channel = product.store_ids.find((id: string) => asked.includes(id))
    const detail = yield* programs.getProduct({ path: { id: product.id } })
    const [variant = ""] = detail.variant_ids
    const market = (yield* programs.listMarkets()).data[0]?.id ?? assert.fail("the demo has no market")
    const definition =
      (yield* programs.listMetaobjectDefinitions()).data[0]?.id ?? assert.fail("the demo has no metaobjects")
    const drop = yield* (yield* Drops).create({
      name: "A sale",
      starts_at: "2099-01-01T00:00:00Z",
      ends_at: "2099-01-02T00:00:00Z",
      timezone: "Europe/Berlin",
      changes: [{ entity_id: product.id, store_id: channel, field: "title", value: "On sale" }]
    })
    const one = { master_id: product.id }
    const there = { ...one, channel_id: channel }
    const args: Record<string, (revision: number) => Args> = {
      list_products_v1: () => ({ limit: 3 }),
      list_collections_v1: () => ({ fields: ["title"] }),
      list_variants_v1: () => ({ search: "a" }),
      list_masters_v1: () => ({ master_type: "media", limit: 2 }),
      get_master_v1: () => one,
      get_master_with_projections_v1: () => one,
      get_master_related_v1: () => one,
      list_projections_v1: () => one,
      get_projection_v1: () => there,
      list_markets_v1: () => ({}),
      get_market_v1: () => ({ market_id: market }),
      list_metafield_definitions_v1: () => ({ owner_type: "product" }),
      list_metaobject_definitions_v1: () => ({}),
      list_metaobject_entries_v1: () => ({ definition_id: definition }),
      get_master_translations_v1: () => one,
      list_store_sales_channels_v1: () => ({ channel_id: channel }),
      get_master_sales_channels_v1: () => there,
      list_drops_v1: () => ({}),
      get_drop_v1: () => ({ drop_id: drop.id }),
      list_master_drops_v1: () => one,
      get_data_health_v1: () => ({}),
      list_data_health_issues_v1: () => ({ section: "completeness-recommended" }),
      update_master_attributes_v1: (revision) => ({
        ...one,
        draft_revision: revision,
        attributes: [{ key: "vendor", value: `Vendor ${revision}` }]
      }),
      update_projection_attributes_v1: (revision) => ({
        ...there,
        draft_revision: revision,
        attributes: [{ key: "title", value: `Title ${revision}` }]
      }),
      run_data_health_scan_v1: () => ({ dimension: "completeness" }),
      fill_completeness_gaps_v1: () => ({
        master_type: "product",
        operations: [{ ...there, field: "seo_title", value: "For those who search" }]
      }),
      reconcile_value_divergence_v1: () => ({
        master_type: "product",
        operations: [{ ...one, field: "title", value: "The same everywhere" }]
      }),
      publish_master_v1: (revision) => ({ ...one, draft_revision: revision, channel_ids: [channel] })
    }
    return {
      accountId,
      product: product.id,
      variant,
      collection,
      media,
      channel,
      domain: stores.find(({ id }) => id === channel)?.domain ?? "",
      drop: drop.id,
      argsOf: (name: string, revision: number) => args[name]?.(revision) ?? assert.fail(`no arguments for ${name}`)
    } as Samples
  })
