import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { RecordId } from "../model/Ids.ts"
import {
  Market,
  MetafieldDefinition,
  MetaobjectDefinition,
  MetaobjectEntry,
  TranslatableField,
  Translations
} from "./Answers.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { wholeList } from "./Page.ts"
import { EntityIdInPath, OwnerTypeParam, RecordIdInPath, uuidArgument } from "./Params.ts"
import { inConnector, readOnly, Tool } from "./Tool.ts"

const record = (name: string, description: string) =>
  HttpApiSchema.param("id", RecordIdInPath.pipe(inConnector({ name, schema: uuidArgument(RecordId, description) })))
const market = record("market_id", "Id of a market.")
const definition = record("definition_id", "Id of a metaobject definition.")
const entity = HttpApiSchema.param("id", EntityIdInPath)

const asRefreshed = "Data is as of the last refresh of each store."
const translated =
  "Translations of the entity on each of its stores, ordered by locale, domain of the store and key. A translation is `outdated` if its source text changed since it was made. `translatable_fields` has one row per key and source text, ordered by key; stores with the same source share a row."

export const translations = Schema.Struct({
  ...wholeList(Translations).fields,
  translatable_fields: Schema.Array(TranslatableField)
}).annotations({ description: "The whole list." })

/** Markets, definitions and translations of the account's stores. */
export class StoreDataGroup extends HttpApiGroup.make("storeData")
  .add(
    HttpApiEndpoint.get("listMarkets", "/markets")
      .addSuccess(wholeList(Market))
      .annotate(OpenApi.Summary, "List markets")
      .annotate(
        OpenApi.Description,
        `The markets of the account's stores, ordered by handle, each with its stores (ordered by domain) and the catalogs attached to it there. Stores with the same handle share a market. ${asRefreshed}`
      )
      .annotate(Tool, {
        name: "list_markets_v1",
        title: "List markets",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Markets of all channels with their regions, web presences and attached price catalogs, by handle, as last refreshed.",
          usage:
            "Use it to find a market or the channels that have it; use get_market_v1 for a market that does not fit here.",
          ids: "Rows have market_id (as id) and channel_id.",
          never: "It never calls the stores and never changes a market. Channels are linked stores."
        },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("getMarket")`/markets/${market}`
      .addSuccess(Market)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a market")
      .annotate(OpenApi.Description, `One market, with its stores and catalogs. ${asRefreshed}`)
      .annotate(Tool, {
        name: "get_market_v1",
        title: "Get a market",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "One market: on each channel its regions, currency and web presences, and the price catalogs attached to it there.",
          usage: "Use it for one market whose id is known; use list_markets_v1 for all of them.",
          ids: "list_markets_v1 gives market_id.",
          never:
            "It never calls the stores and never changes a market. Channels are linked stores. Long values are shortened and named in truncated_keys."
        },
        idsFrom: { market_id: "list_markets_v1" },
        answer: { kind: "record" }
      })
  )
  .add(
    HttpApiEndpoint.get("listMetafieldDefinitions", "/metafield-definitions")
      .setUrlParams(Schema.Struct({ owner_type: OwnerTypeParam }))
      .addSuccess(wholeList(MetafieldDefinition))
      .annotate(OpenApi.Summary, "List metafield definitions")
      .annotate(
        OpenApi.Description,
        `The metafields that the stores or the account define, ordered by owner type, namespace and key, each with the stores that define it (ordered by domain). No other metafield can be written. ${asRefreshed}`
      )
      .annotate(Tool, {
        name: "list_metafield_definitions_v1",
        title: "List metafield definitions",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Metafield definitions: namespace, key, value type and validations, and the channels that define them.",
          usage:
            "Use it for the metafields (namespace.key) that can be written and their types; use list_metaobject_definitions_v1 for metaobjects.",
          ids: "It needs no ids; owner_type narrows it.",
          never: "It never gives values: get_master_v1 does. It never calls the stores. Channels are linked stores."
        },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("listMetaobjectDefinitions", "/metaobject-definitions")
      .addSuccess(wholeList(MetaobjectDefinition))
      .annotate(OpenApi.Summary, "List metaobject definitions")
      .annotate(
        OpenApi.Description,
        `Metaobject definitions ordered by type: their fields, the number of entries in all stores together, and the stores (ordered by domain). ${asRefreshed}`
      )
      .annotate(Tool, {
        name: "list_metaobject_definitions_v1",
        title: "List metaobject definitions",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Metaobject definitions: their type, fields and number of entries, and the channels that define them.",
          usage: "Use it to find records other than products; use list_metaobject_entries_v1 for the entries of one.",
          ids: "Rows have definition_id (as id).",
          never: "It never gives entries and never calls the stores. Channels are linked stores."
        },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("listMetaobjectEntries")`/metaobject-definitions/${definition}/entries`
      .addSuccess(wholeList(MetaobjectEntry))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a metaobject definition's entries")
      .annotate(
        OpenApi.Description,
        `All entries, ordered by handle and the store's domain; at most 10,000 per store. ${asRefreshed}`
      )
      .annotate(Tool, {
        name: "list_metaobject_entries_v1",
        title: "List metaobject entries",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Entries of one metaobject definition with the values of their fields, by handle, each with its channel.",
          usage:
            "Use it to read entries; use list_metaobject_definitions_v1 for the fields that a definition declares.",
          ids: "list_metaobject_definitions_v1 gives definition_id.",
          never:
            "It never changes an entry and never calls the stores. Channels are linked stores. It gives at most the first 10,000 per store."
        },
        idsFrom: { definition_id: "list_metaobject_definitions_v1" },
        answer: { kind: "bounded", rows: ["data"], keys: ["id"], fields: "members" }
      })
  )
  .add(
    HttpApiEndpoint.get("listProductTranslations")`/products/${entity}/translations`
      .addSuccess(translations)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a product's translations")
      .annotate(OpenApi.Description, `${translated} ${asRefreshed}`)
  )
  .add(
    HttpApiEndpoint.get("listCollectionTranslations")`/collections/${entity}/translations`
      .addSuccess(translations)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a collection's translations")
      .annotate(OpenApi.Description, `${translated} ${asRefreshed}`)
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Store data")
  .annotate(OpenApi.Description, "Markets, definitions and translations of the stores.") {}
