import { Effect, Either, Stream } from "effect"
import type {
  OwnerType,
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../../model/Definition.ts"
import { uniqueValues } from "../../model/KeyRule.ts"
import { fromRfc3339, type Timestamp } from "../../model/Timestamp.ts"
import type { PlatformMarket } from "../Market.ts"
import type { Permission } from "../PlatformAdapter.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import { type PlatformReadError, PlatformUnavailable } from "../PlatformErrors.ts"
import type { EntityChannel } from "../SalesChannel.ts"
import type { PlatformTranslations } from "../Translation.ts"
import * as Answers from "./Answers.ts"
import { makeChannels } from "./Channels.ts"
import { nonsense, type ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { accessDenied } from "./Exchange.ts"
import { pages } from "./Lookups.ts"
import { missingIn, missingPermissions } from "./Permissions.ts"

const instant = (text: string): Either.Either<Timestamp, PlatformUnavailable> =>
  Either.mapLeft(fromRfc3339(text), () => nonsense)

const instantOrNull = (text: string | null) => (text === null ? Either.right(null) : instant(text))

const ownerTypes: Readonly<Record<OwnerType, string>> = {
  product: "PRODUCT",
  variant: "PRODUCTVARIANT",
  collection: "COLLECTION",
  media: "MEDIA_IMAGE",
  market: "MARKET",
  shop: "SHOP"
}

const marketOf = (market: Answers.Market): PlatformMarket => ({
  handle: market.handle,
  type: market.type.toLowerCase(),
  platform_id: market.id,
  name: market.name,
  status: market.status === "ACTIVE" ? "active" : "draft",
  currency: market.currencySettings?.baseCurrency.currencyCode ?? null,
  regions: (market.conditions?.regionsCondition?.regions.nodes ?? []).map(({ code, name, subdivision }) => ({
    code: code ?? subdivision ?? "",
    name
  })),
  web_presences: market.webPresences.nodes.map((presence) => ({
    platform_id: presence.id,
    domain: presence.domain?.host ?? null,
    subfolder_suffix: presence.subfolderSuffix,
    default_locale: presence.defaultLocale.locale,
    alternate_locales: presence.alternateLocales.map(({ locale }) => locale)
  })),
  catalogs: market.catalogs.nodes.map(({ id, priceList, status, title }) => {
    const adjustment = priceList?.parent?.adjustment
    return {
      id,
      title,
      status: status === "ACTIVE" ? "active" : status === "ARCHIVED" ? "archived" : "draft",
      currency: priceList?.currency ?? null,
      price_adjustment:
        adjustment === undefined
          ? null
          : {
              type: adjustment.type === "PERCENTAGE_INCREASE" ? "percentage_increase" : "percentage_decrease",
              value: adjustment.value
            }
    }
  })
})

const metafieldDefinitionOf = (
  owner_type: OwnerType,
  { capabilities, id, metafieldsCount, type, validations, ...definition }: Answers.MetafieldDefinition
): PlatformMetafieldDefinition => ({
  owner_type,
  ...definition,
  validations: capabilities.uniqueValues.enabled ? [...validations, uniqueValues] : validations,
  type: type.name,
  platform_id: id,
  metafields_count: metafieldsCount
})

const metaobjectDefinitionOf = (definition: Answers.MetaobjectDefinition): PlatformMetaobjectDefinition => ({
  type: definition.type,
  name: definition.name,
  description: definition.description,
  display_name_key: definition.displayNameKey,
  fields: definition.fieldDefinitions.map(({ key, name, required, type, validations }) => ({
    key,
    name: name ?? key,
    type: type.name,
    required,
    validations
  })),
  entries_count: definition.metaobjectsCount,
  translatable: definition.capabilities.translatable.enabled,
  platform_id: definition.id
})

const entryOf = (entry: Answers.MetaobjectEntry): Either.Either<PlatformMetaobjectEntry, PlatformUnavailable> =>
  Either.map(instant(entry.updatedAt), (updated_at) => ({
    handle: entry.handle,
    display_name: entry.displayName,
    // Entries of a definition without drafts are always active.
    status: entry.capabilities.publishable?.status === "DRAFT" ? "draft" : "active",
    fields: entry.fields,
    updated_at,
    platform_id: entry.id
  }))

const translationsOf = (
  kind: "product" | "collection",
  locale: string,
  { resourceId, translatableContent, translations }: Answers.TranslatableResource
): Either.Either<PlatformTranslations, PlatformUnavailable> =>
  Either.gen(function* () {
    const digests = new Map(translatableContent.map(({ digest, key }) => [key, digest]))
    const translated: Array<PlatformTranslations["translations"][number]> = []
    for (const { key, outdated, updatedAt, value } of translations)
      if (value !== null)
        translated.push({
          key,
          value,
          outdated,
          // Shopify gives the digest of the current source only, so the digest of an outdated translation's source is unknown.
          source_digest: outdated ? null : (digests.get(key) ?? null),
          updated_at: yield* instantOrNull(updatedAt)
        })
    return {
      kind,
      platform_id: resourceId,
      locale,
      fields: translatableContent.map(({ digest, key, locale, type, value }) => ({
        key,
        type: type.toLowerCase(),
        source_locale: locale,
        source_value: value ?? "",
        digest
      })),
      translations: translated
    }
  })

type Reads = Omit<PlatformClient["Type"], "publish" | "readBack" | "find" | "pull">

/** Reads the store's description. `verify`: refuses a token without required permissions, too. */
const makeVerify = (client: ShopifyClient) => {
  const { liveLimit } = client.options
  const facts = (store: PlatformStore) => client.read(store, Documents.verify, Answers.Verify, {}, liveLimit)

  const missingOf = ({ currentAppInstallation: { accessScopes } }: typeof Answers.Permissions.Type) =>
    missingIn(new Set(accessScopes.map(({ handle }) => handle)))

  const failIfMissing = (missing: ReadonlyArray<Permission>) => {
    const required = missing.filter(({ isOptional = false }) => !isOptional)
    return required.length === 0 ? Effect.void : missingPermissions(required)
  }

  /** As `facts`. If a missing permission is the cause of a refusal, the refusal names all that are missing. */
  const permittedFacts = (store: PlatformStore) =>
    Effect.catchTag(facts(store), "PlatformRefused", (refused) =>
      Effect.gen(function* () {
        if (refused.code === accessDenied) {
          const granted = yield* client.read(store, Documents.permissions, Answers.Permissions, {}, liveLimit)
          yield* failIfMissing(missingOf(granted))
        }
        return yield* refused
      })
    )

  const verify = (store: PlatformStore) =>
    Effect.gen(function* () {
      const { shop, shopLocales, ...granted } = yield* permittedFacts(store)
      const missing = missingOf(granted)
      yield* failIfMissing(missing)
      const primary = shopLocales.find((locale) => locale.primary)?.locale ?? "en"
      return {
        domain: shop.myshopifyDomain,
        name: shop.name,
        primaryLocale: primary,
        locales: [primary, ...shopLocales.map(({ locale }) => locale).filter((locale) => locale !== primary)],
        currency: shop.currencyCode,
        ...(missing.length > 0 && { missingPermissions: missing.map(({ name }) => name) })
      }
    })

  return { facts, verify }
}

/** Reads everything of a store except its catalog. */
export const makeReading = (client: ShopifyClient): Reads => {
  const { liveLimit } = client.options
  const { facts, verify } = makeVerify(client)

  const withinLiveLimit = <A>(effect: Effect.Effect<A, PlatformReadError>) =>
    Effect.timeoutFail(effect, { duration: liveLimit, onTimeout: () => new PlatformUnavailable({ reason: "timeout" }) })

  const channels = makeChannels(client)

  return {
    verify,
    salesChannels: (store) => withinLiveLimit(channels.of(store)),
    entityChannels: (store, platformId) =>
      withinLiveLimit(
        Effect.gen(function* () {
          const [all, here] = yield* Effect.all([channels.of(store), channels.whereIs(store, platformId)], {
            concurrency: 2
          })
          return yield* Effect.forEach(all, ({ id, name }) =>
            Effect.gen(function* () {
              const found = here.find(({ publication }) => publication.id === id)
              const publish_date = yield* instantOrNull(found?.publishDate ?? null)
              const is_published = found?.isPublished ?? false
              const state = is_published ? "published" : publish_date === null ? "unpublished" : "scheduled"
              return { id, name, is_published, publish_date, state } satisfies EntityChannel
            })
          )
        })
      ),
    markets: (store) =>
      Stream.map(
        pages(client, store, Documents.markets, Answers.Markets, {}, ({ markets }) => markets),
        marketOf
      ),
    metafieldDefinitions: (store, ownerType) =>
      pages(
        client,
        store,
        Documents.metafieldDefinitions,
        Answers.MetafieldDefinitions,
        { ownerType: ownerTypes[ownerType] },
        ({ metafieldDefinitions }) => metafieldDefinitions
      ).pipe(Stream.map((definition) => metafieldDefinitionOf(ownerType, definition))),
    metaobjectDefinitions: (store) =>
      pages(
        client,
        store,
        Documents.metaobjectDefinitions,
        Answers.MetaobjectDefinitions,
        {},
        ({ metaobjectDefinitions }) => metaobjectDefinitions
      ).pipe(Stream.map(metaobjectDefinitionOf)),
    metaobjectEntries: (store, type) =>
      pages(
        client,
        store,
        Documents.metaobjectEntries,
        Answers.MetaobjectEntries,
        { type },
        ({ metaobjects }) => metaobjects
      ).pipe(Stream.mapEffect(entryOf)),
    translations: (store, kind) =>
      Stream.unwrap(
        Effect.map(facts(store), ({ shopLocales }) =>
          Stream.fromIterable(shopLocales.filter(({ primary }) => !primary)).pipe(
            Stream.flatMap(({ locale }) =>
              pages(
                client,
                store,
                Documents.translations,
                Answers.Translations,
                { type: kind === "product" ? "PRODUCT" : "COLLECTION", locale },
                ({ translatableResources }) => translatableResources
              ).pipe(Stream.mapEffect((resource) => translationsOf(kind, locale, resource)))
            )
          )
        )
      )
  }
}
