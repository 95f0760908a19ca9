import { Effect, Option } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import { type PlatformReadError, PlatformRefused, type PlatformWriteError } from "../PlatformErrors.ts"
import type { CollectionPublication, ProductPublication, Published } from "../Publication.ts"
import type { SalesChannel } from "../SalesChannel.ts"
import * as Answers from "./Answers.ts"
import { makeChannels } from "./Channels.ts"
import type { ShopifyClient } from "./Client.ts"
import { sourceTitle } from "./CollectionSource.ts"
import * as Documents from "./Documents.ts"
import { accessDenied } from "./Exchange.ts"
import { entityIdOf, idMetafield } from "./Mapping.ts"
import { failIfPassing, sentence } from "./Refusals.ts"

/** A record of the store that a publication has found or created. */
interface LiveRecord {
  readonly id: string
  readonly metafields: { readonly nodes: ReadonlyArray<Answers.MetafieldValues> }
}

type NewRecordPublication = ProductPublication | CollectionPublication

/** How long after a product its metafields are created, at most, if one call creates both. */
const maxCreationMillis = 60_000

/** Whether new records are put on a channel if none are chosen: merchants look for a new product in their shop. */
export const isOnlineStore = ({ handle, name }: SalesChannel) =>
  /^online[-_]store$/.test(handle) || name === "Online Store"

const notDone = (message: string) => ({ notDone: { code: "SALES_CHANNELS", message } })

const denied = notDone(
  "It was put on no sales channel, because the access token lacks the permission write_publications. Put it on its sales channels in the store."
)

const saidOf = (gone: number): Pick<Published, "notDone"> =>
  gone === 0
    ? {}
    : notDone("The store no longer has all sales channels that were chosen for new products and collections.")

/** Answers for a token without the permission. */
const orDenied =
  <B>(answer: B) =>
  <A, E extends { readonly _tag: string }>(calls: Effect.Effect<A, E | PlatformRefused>) =>
    Effect.catchIf(
      calls,
      (error): error is PlatformRefused => error instanceof PlatformRefused && error.code === accessDenied,
      () => Effect.succeed(answer)
    )

/**
 * Puts records that publishes create on sales channels. Shopify does not put an active product on any by itself
 * (https://shopify.dev/docs/api/admin-graphql/2026-07/enums/ProductStatus), except on those with `autoPublish`, and a collection
 * on none at all. Variants are where their product is
 * (https://shopify.dev/changelog/publish-and-unpublish-product-variants-independently-from-product).
 */
export const makeNewRecords = (client: ShopifyClient) => {
  const channels = makeChannels(client)

  /** The chosen channels that a record is not on, and the number of those that the store does not have any more. */
  const lacking = (store: PlatformStore, id: string) =>
    Effect.gen(function* () {
      const chosen = store.newRecordChannels
      if (chosen?.length === 0) return { missing: [], gone: 0 }
      const all = yield* channels.of(store)
      const wanted = all.filter((channel) => chosen?.includes(channel.id) ?? isOnlineStore(channel))
      const has = new Set((yield* channels.whereIs(store, id)).map(({ publication }) => publication.id))
      return {
        missing: wanted.filter((channel) => !has.has(channel.id)),
        gone: chosen === undefined ? 0 : chosen.length - wanted.length
      }
    })

  /** Whether one call created a product and our id: otherwise the shop had the product before. */
  const isProductOurs = (store: PlatformStore, id: string) =>
    Effect.map(
      client.read(store, Documents.productCreation, Answers.ProductCreation, { id, ...idMetafield }),
      ({ product }) => {
        const [created, identified] = [product?.createdAt, product?.metafield?.createdAt].map((time) =>
          Date.parse(time ?? "")
        )
        return Math.abs((identified ?? Number.NaN) - (created ?? Number.NaN)) <= maxCreationMillis
      }
    )

  /** Whether a collection has no source of the shop, which does not say when a collection was created. */
  const isCollectionOurs = (store: PlatformStore, id: string) =>
    Effect.map(
      client.read(store, Documents.collectionSources, Answers.CollectionSources, { id }),
      ({ collection }) => collection?.sources.every(({ title }) => title === sourceTitle) === true
    )

  /**
   * Whether a found record was created by an earlier attempt of this publication, or by an earlier publication that failed. False: the
   * shop had the record before, or its platform id is known and no failed publication may have created it.
   */
  const isCreated = (
    store: PlatformStore,
    publication: NewRecordPublication,
    { id, metafields }: LiveRecord
  ): Effect.Effect<boolean, PlatformReadError> =>
    (id === publication.platformId && publication.mayBeCreated !== true) ||
    entityIdOf(metafields.nodes) !== publication.entityId
      ? Effect.succeed(false)
      : publication._tag === "Product"
        ? isProductOurs(store, id)
        : isCollectionOurs(store, id)

  return {
    isCreated,

    /** The answer to a publication that the store has. None: it has created the record, which is not on all its channels yet. */
    withChannels: (
      store: PlatformStore,
      publication: NewRecordPublication,
      live: LiveRecord,
      published: Published
    ): Effect.Effect<Option.Option<Published>, PlatformReadError> =>
      Effect.gen(function* () {
        if (!(yield* isCreated(store, publication, live))) return Option.some(published)
        const { gone, missing } = yield* lacking(store, live.id)
        return missing.length > 0 ? Option.none() : Option.some({ ...published, ...saidOf(gone) })
      }).pipe(orDenied(Option.some({ ...published, ...denied }))),

    /** Puts a record that a publish has created on the chosen channels. Without the permission, the answer says that it is on none. */
    putOnChannels: (store: PlatformStore, id: string): Effect.Effect<Pick<Published, "notDone">, PlatformWriteError> =>
      Effect.gen(function* () {
        const { gone, missing } = yield* lacking(store, id)
        if (missing.length > 0) {
          const input = missing.map((channel) => ({ publicationId: channel.id }))
          const sent = { id, input }
          const { publishablePublish } = yield* client.write(
            store,
            Documents.putOnChannels,
            Answers.PutOnChannels,
            sent
          )
          const { userErrors } = publishablePublish
          yield* failIfPassing(userErrors)
          const [first] = userErrors
          const names = missing.map(({ name }) => name).join(", ")
          if (first !== undefined)
            return notDone(`It was not put on the sales channels ${names}. The store says: ${sentence(first.message)}`)
        }
        return saidOf(gone)
      }).pipe(orDenied(denied))
  }
}
