import { Chunk, Effect, Stream } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import { type PlatformReadError, PlatformRefused } from "../PlatformErrors.ts"
import type { SalesChannel } from "../SalesChannel.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { accessDenied } from "./Exchange.ts"
import { pages } from "./Lookups.ts"

const catalogKinds: Readonly<Record<string, SalesChannel["catalog_kind"]>> = {
  AppCatalog: "app",
  MarketCatalog: "market",
  CompanyLocationCatalog: "company_location"
}

const channelOf = ({
  autoPublish,
  catalog,
  channels,
  id,
  supportsFuturePublishing
}: Answers.Publication): SalesChannel => {
  const [channel] = channels?.nodes ?? []
  return {
    id,
    name: channel?.name ?? catalog?.title ?? "",
    handle: channel?.handle ?? "",
    catalog_kind: catalog === null ? "none" : (catalogKinds[catalog.__typename] ?? "none"),
    auto_publish: autoPublish,
    supports_future_publishing: supportsFuturePublishing
  }
}

const denied = new PlatformRefused({
  code: accessDenied,
  message: "The access token lacks the permission read_publications, so sales channels cannot be read.",
  field: null
})

const list = <A>(stream: Stream.Stream<A, PlatformReadError>) =>
  Stream.runCollect(stream).pipe(
    Effect.map((chunk) => Chunk.toReadonlyArray(chunk)),
    Effect.mapError((error) => (error._tag === "PlatformRefused" && error.code === accessDenied ? denied : error))
  )

/** Reads the sales channels of stores, which Shopify calls publications. */
export const makeChannels = (client: ShopifyClient) => ({
  /** All channels of a store. */
  of: (store: PlatformStore) =>
    list(
      pages(client, store, Documents.salesChannels, Answers.SalesChannels, {}, ({ publications }) => publications)
    ).pipe(Effect.map((publications) => publications.map(channelOf))),
  /** The channels that a record is on, or will be. */
  whereIs: (store: PlatformStore, id: string) =>
    list(
      pages(client, store, Documents.entityPublications, Answers.EntityPublications, { id }, ({ node }) => {
        return node?.resourcePublicationsV2
      })
    )
})
