import type { Resource, ResourceTemplateType } from "@modelcontextprotocol/server"
import { Effect, Record } from "effect"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { DataHealth } from "../health/DataHealth.ts"
import { type CurrentActor, withAccountId } from "../model/Actor.ts"
import { EntityKind, isBuiltIn } from "../model/Attribute.ts"
import type { MetafieldDefinition } from "../model/Definition.ts"
import { isWritable, type KeyRules } from "../model/KeyRules.ts"
import { StoreData } from "../storedata/StoreData.ts"
import { Stores } from "../stores/Stores.ts"
import { cutRows } from "./Answers.ts"

const attributesUri = (kind: string) => `catalog://attributes/${kind}`

const mimeType = "application/json"

/** Maximum characters of one value in a row. */
const maxValueCharacters = 4_000

/** Turns `minLength` into `min_length`, the connector's spelling. */
const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Rows as JSON, cut to the size of an answer. `more` says how many rows were left out, and (`rest`) where to find them. */
const rowsJson = (rows: ReadonlyArray<unknown>, rest: string): string => {
  const cut = cutRows({ data: rows }, ["data"], { from: 0, limit: rows.length, longest: maxValueCharacters })
  return cut.written(cut.more ? { more: `${rows.length - cut.taken} more: ${rest}` } : {})
}

const everyDefinition = "list_metafield_definitions_v1 lists every metafield"

/** The built-in keys of a kind, and its metafields that have one of these definitions. */
const attributeRows = (rules: KeyRules, kind: EntityKind, definitions: ReadonlyArray<MetafieldDefinition>) => {
  const metafields = new Set(definitions.map(({ key, namespace }) => `${namespace}.${key}`))
  return Array.from(rules.ofKind(kind), ([key, rule]) => ({
    key,
    writable: isWritable(kind, key),
    ...Record.mapKeys({ ...rule }, snakeCase)
  })).filter(({ key }) => isBuiltIn(kind, key) || metafields.has(key))
}

/** Resources: data of the account that agents look up before they write, each as one JSON document. */
export const makeResources = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
  const health = yield* DataHealth
  const storeData = yield* StoreData
  const stores = yield* Stores

  const rules = withAccountId(definitions.rules)

  const readers: Readonly<Record<string, Effect.Effect<string, never, CurrentActor>>> = {
    ...Object.fromEntries(
      EntityKind.literals.map((kind) => [
        attributesUri(kind),
        Effect.map(Effect.zip(rules, storeData.metafieldDefinitions(kind)), ([known, definitions]) =>
          rowsJson(attributeRows(known, kind, definitions), everyDefinition)
        )
      ])
    ),
    "catalog://metafield-definitions": Effect.map(storeData.metafieldDefinitions(null), (all) =>
      rowsJson(
        all.map(({ description, key, name, namespace, owner_type, type, validations }) => ({
          owner_type,
          key: `${namespace}.${key}`,
          name,
          description,
          type,
          validations
        })),
        everyDefinition
      )
    ),
    "catalog://channels": Effect.map(stores.list, (all) =>
      rowsJson(
        all.map(({ id, last_imported_at: _, status: __, ...store }) => ({ channel_id: id, ...store })),
        "the merchant sees every store on the page of stores"
      )
    ),
    "catalog://completeness-rules": Effect.map(health.rules, ({ collection, media, product, variant }) =>
      JSON.stringify({ product, variant, collection, media })
    )
  }

  return {
    /** The JSON document of a resource. Undefined: no resource has this URI. */
    read: (uri: string) => (Object.hasOwn(readers, uri) ? readers[uri] : undefined)
  }
})

/** The resources as `resources/list` shows them. */
export const listedResources: { resources: Array<Resource> } = {
  resources: [
    ...EntityKind.literals.map((kind) => ({
      uri: attributesUri(kind),
      name: `${kind}_attributes`,
      title: `Attribute keys of a ${kind === "media" ? "media file" : kind}`,
      description: "Built-in keys and metafields: type, bounds, choices, and whether tools may write them.",
      mimeType
    })),
    {
      uri: "catalog://metafield-definitions",
      name: "metafield_definitions",
      title: "Metafield definitions",
      description: "Definitions of every owner type: key, name, type and validations.",
      mimeType
    },
    {
      uri: "catalog://channels",
      name: "channels",
      title: "Channels",
      description: "The linked stores: channel_id, domain, name, platform, languages and currency.",
      mimeType
    },
    {
      uri: "catalog://completeness-rules",
      name: "completeness_rules",
      title: "Rules of completeness",
      description: "The required and recommended attribute keys of each kind of master.",
      mimeType
    }
  ]
}

/** The template of the attribute resources, for clients that complete its variable. */
export const listedTemplates: { resourceTemplates: Array<ResourceTemplateType> } = {
  resourceTemplates: [
    {
      uriTemplate: attributesUri("{master_type}"),
      name: "attributes",
      title: "Attribute keys by kind of master",
      description: "Built-in keys and metafields of one kind: type, bounds, choices, and whether tools may write them.",
      mimeType
    }
  ]
}

/** Values of the template's variable that start with the text. */
export const completeResource = (uri: string, argument: string, text: string): ReadonlyArray<string> =>
  uri === attributesUri("{master_type}") && argument === "master_type"
    ? EntityKind.literals.filter((kind) => kind.startsWith(text.toLowerCase()))
    : []
