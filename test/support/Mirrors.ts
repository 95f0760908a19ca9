import { Effect } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type {
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../../src/model/Definition.ts"
import { type AccountId, ImportId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import type { PlatformMarket } from "../../src/platform/Market.ts"
import type { PlatformTranslations } from "../../src/platform/Translation.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { Mirror } from "../../src/storedata/Mirror.ts"

/** The data of a store's platform in addition to its catalog. */
export interface Sections {
  readonly markets?: ReadonlyArray<PlatformMarket>
  readonly metafields?: ReadonlyArray<PlatformMetafieldDefinition>
  readonly metaobjects?: ReadonlyArray<PlatformMetaobjectDefinition>
  /** Entries by the type of their definition. */
  readonly entries?: Readonly<Record<string, ReadonlyArray<PlatformMetaobjectEntry>>>
  readonly translations?: ReadonlyArray<PlatformTranslations>
}

const ownerTypes = ["product", "variant", "collection", "media", "market", "shop"] as const

/** Puts these sections into the store's demo shop, whatever the store's platform is. */
export const putSections = (
  accountId: AccountId,
  { domain, id: storeId }: Store,
  { entries = {}, markets = [], metafields = [], metaobjects = [], translations = [] }: Sections
) =>
  Effect.gen(function* () {
    const byName = <A>(
      folder: string,
      names: ReadonlyArray<string>,
      items: ReadonlyArray<A>,
      nameOf: (item: A) => string
    ) => names.map((name) => [`${folder}/${name}`, items.filter((item) => nameOf(item) === name)])
    yield* (yield* DemoShops).putSections(
      { accountId, storeId },
      {
        markets,
        ...Object.fromEntries(byName("metafield-definitions", ownerTypes, metafields, (each) => each.owner_type)),
        "metaobject-definitions": metaobjects,
        ...Object.fromEntries(Object.entries(entries).map(([type, items]) => [`metaobject-entries/${type}`, items])),
        ...Object.fromEntries(byName("translations", ["product", "collection"], translations, (each) => each.kind))
      }
    )
    return { accountId, storeId, domain, platform: "demo", credentials: {} } as const
  })

/** Refreshes a store's data. Returns the summary, and whether anything was written. */
export const refresh = (accountId: AccountId, store: Store, sections: Sections) =>
  Effect.gen(function* () {
    const mirror = yield* Mirror
    const platformStore = yield* putSections(accountId, store, sections)
    const importId = yield* mintId(ImportId)
    const summary = yield* mirror.stage(accountId, importId, platformStore)
    const { isChanged } = yield* mirror.apply(accountId, importId, store.id)
    if (isChanged) yield* (yield* DraftsRepo).raise(accountId)
    yield* mirror.forget(accountId, importId)
    return { summary, isChanged }
  })

const noon = Timestamp.make("2026-01-02T12:00:00.000000Z")

export const aMarket = (handle: string, more: Partial<PlatformMarket> = {}): PlatformMarket => ({
  handle,
  type: "region",
  platform_id: `demo://market/${handle}`,
  name: `The ${handle}`,
  status: "active",
  currency: null,
  regions: [{ code: "DE", name: "Germany" }],
  web_presences: [],
  catalogs: [],
  ...more
})

export const aMetafield = (
  owner_type: PlatformMetafieldDefinition["owner_type"],
  path: string,
  more: Partial<PlatformMetafieldDefinition> = {}
): PlatformMetafieldDefinition => {
  const [namespace = "", key = ""] = path.split(".")
  return {
    owner_type,
    namespace,
    key,
    name: key,
    description: null,
    type: "single_line_text_field",
    validations: [],
    platform_id: `demo://metafield/${owner_type}/${path}`,
    metafields_count: 1,
    ...more
  }
}

export const aMetaobject = (
  type: string,
  more: Partial<PlatformMetaobjectDefinition> = {}
): PlatformMetaobjectDefinition => ({
  type,
  name: `A ${type}`,
  description: null,
  display_name_key: "name",
  fields: [{ key: "name", name: "Name", type: "single_line_text_field", required: true, validations: [] }],
  entries_count: 1,
  translatable: false,
  platform_id: `demo://metaobject-definition/${type}`,
  ...more
})

export const anEntry = (handle: string, more: Partial<PlatformMetaobjectEntry> = {}): PlatformMetaobjectEntry => ({
  handle,
  display_name: handle.toUpperCase(),
  status: "active",
  fields: [{ key: "name", type: "single_line_text_field", value: handle }],
  updated_at: noon,
  platform_id: `demo://metaobject/${handle}`,
  ...more
})

/** Translations of an entity with the title `source`. `said`: the translation, and the digest of its source text. */
export const aTranslation = (
  kind: PlatformTranslations["kind"],
  platform_id: string,
  locale: string,
  source: string,
  said: readonly [value: string, madeFrom: string | null, outdated?: boolean] | null
): PlatformTranslations => ({
  kind,
  platform_id,
  locale,
  fields: [
    {
      key: "title",
      type: "single_line_text_field",
      source_locale: "en",
      source_value: source,
      digest: source === "" ? null : `digest of ${source}`
    }
  ],
  translations:
    said === null
      ? []
      : [{ key: "title", value: said[0], outdated: said[2] ?? false, source_digest: said[1], updated_at: noon }]
})
