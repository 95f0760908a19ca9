import { Schema } from "effect"
import { DivergenceRules, defaultDivergence } from "../drafts/Divergence.ts"
import { type Attributes, EntityKind, typeOf } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** The dimensions of catalog quality. Responses list them in this order. */
export const HealthDimension = Schema.Literal(
  "sync",
  "completeness",
  "media",
  "structure",
  "divergence",
  "translations"
).annotations({ identifier: "HealthDimension" })
export type HealthDimension = typeof HealthDimension.Type

/** The lists of issues. */
export const HealthSection = Schema.Literal(
  "sync-failed",
  "sync-pending",
  "sync-never-published",
  "completeness-required",
  "completeness-recommended",
  "media-unused",
  "media-missing",
  "media-alt-missing",
  "structure-no-variants",
  "structure-duplicate-sku",
  "structure-empty-collection",
  "structure-invalid-value",
  "divergence",
  "translations-untranslated",
  "translations-outdated"
).annotations({ identifier: "HealthSection" })
export type HealthSection = typeof HealthSection.Type

/** The dimension of a section: the first word of the section's name. */
export const dimensionOf = (section: HealthSection): HealthDimension => {
  const found = HealthDimension.literals.find((dimension) => section.startsWith(dimension))
  // Every section's name begins with a dimension, so this default is never used.
  return found ?? "sync"
}

/** The sections of a dimension, in order. */
export const sectionsOf = (dimension: HealthDimension): ReadonlyArray<HealthSection> =>
  HealthSection.literals.filter((section) => dimensionOf(section) === dimension)

/** Whether each store has its own snapshot, so that one store can be scanned alone. */
export const isPerStore = (dimension: HealthDimension): boolean =>
  dimension === "sync" || dimension === "completeness" || dimension === "translations"

const fields = (description: string) => Schema.Array(Schema.String).annotations({ description })

/** The fields of one kind of entity that are checked for completeness. */
export const FieldsToFill = Schema.Struct({
  required: fields("Required fields. An entity is complete when none of them is empty."),
  recommended: fields("Recommended fields.")
})
export type FieldsToFill = typeof FieldsToFill.Type

export const CompletenessRules = Schema.Struct({
  product: FieldsToFill,
  variant: FieldsToFill,
  collection: FieldsToFill,
  media: FieldsToFill
}).annotations({ identifier: "CompletenessRules" })
export type CompletenessRules = typeof CompletenessRules.Type

export const StructureRules = Schema.Struct({
  zero_price: Schema.Literal("issue", "allowed").annotations({
    description: "Whether a price of 0 on an active product is an issue; `allowed` suits catalogs with free products."
  })
}).annotations({ identifier: "StructureRules" })
export type StructureRules = typeof StructureRules.Type

const defaultStructure: StructureRules = { zero_price: "issue" }

/**
 * All rules of an account. Rules that were saved before the rules of divergence and structure existed get their
 * defaults.
 */
export const HealthRules = Schema.Struct({
  ...CompletenessRules.fields,
  divergence: Schema.optionalWith(DivergenceRules, { default: () => defaultDivergence }),
  structure: Schema.optionalWith(StructureRules, { default: () => defaultStructure })
}).annotations({ identifier: "HealthRules" })
export type HealthRules = typeof HealthRules.Type

/** The rules of an account that has not changed them. */
export const defaultRules: HealthRules = {
  product: {
    required: ["title", "description_html", "vendor", "product_type"],
    recommended: ["tags", "seo_title", "seo_description"]
  },
  variant: { required: ["sku", "price"], recommended: ["barcode"] },
  collection: { required: ["title"], recommended: ["seo_title", "seo_description"] },
  media: { required: ["url"], recommended: ["alt"] },
  divergence: defaultDivergence,
  structure: defaultStructure
}

export const completenessLevels = ["required", "recommended"] as const
export type CompletenessLevel = (typeof completenessLevels)[number]

/** The kinds of entities with at least one field of this level. */
export const kindsWith = (level: CompletenessLevel, rules: CompletenessRules): ReadonlyArray<EntityKind> =>
  EntityKind.literals.filter((kind) => rules[kind][level].length > 0)

const count = (description: string) => Schema.Int.annotations({ description })

/** Fields that every result has. */
const head = {
  checked: count(
    "Number of checked entities: entities of the dimension's kinds that are on a store. Divergence: on at least two stores. Sync: on a store with a platform. Completeness: only kinds with a required field."
  ),
  affected: count("Checked entities with an issue. Completeness: with an empty required field."),
  score: count("100 x (checked - affected) / checked, rounded down; 100 when nothing was checked."),
  on_no_store: count("Entities of the same kinds on no store. They are not checked and have no issues."),
  by_store: Schema.Array(
    Schema.Struct({ store_id: StoreId, checked: Schema.Int, affected: Schema.Int }).annotations({
      description: "Checked entities on the store, and those with an issue there."
    })
  ).annotations({ description: "By domain." }),
  by_field: Schema.Array(
    Schema.Struct({ field: Schema.String, affected: count("Entities with an issue in the field.") })
  ).annotations({ description: "In definition order, then metafields by key." }),
  by_section: Schema.Array(
    Schema.Struct({ section: HealthSection, rows: count("Number of issues on all pages of the section.") })
  )
}

/** A field that is missing in results stored by earlier versions of the service. */
const addedLater = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const entitiesIn = (section: HealthSection) => count(`Entities in ${section}.`)

const SyncResult = Schema.Struct({
  ...head,
  failed: entitiesIn("sync-failed"),
  pending: entitiesIn("sync-pending"),
  never_published: entitiesIn("sync-never-published")
}).annotations({ identifier: "SyncHealth" })

const CompletenessResult = Schema.Struct({
  ...head,
  required: entitiesIn("completeness-required"),
  recommended: entitiesIn("completeness-recommended"),
  by_level: addedLater(
    Schema.Array(
      Schema.Struct({
        level: Schema.Literal(...completenessLevels),
        checked: count("Entities on a store, of the kinds with a field of this level."),
        affected: count("Checked entities with an empty field of this level."),
        score: count("100 x (checked - affected) / checked of this level, rounded down.")
      })
    )
  ).annotations({ description: "First `required`, whose score is the score of the dimension, then `recommended`." }),
  rules: CompletenessRules.annotations({ description: "The rules at the time of the scan." })
}).annotations({ identifier: "CompletenessHealth" })

const MediaResult = Schema.Struct({
  ...head,
  unused: entitiesIn("media-unused"),
  missing: entitiesIn("media-missing"),
  alt_missing: entitiesIn("media-alt-missing"),
  unused_on_no_store: count("Unused files on no store. No section lists them.")
}).annotations({ identifier: "MediaHealth" })

const StructureResult = Schema.Struct({
  ...head,
  no_variants: entitiesIn("structure-no-variants"),
  duplicate_sku: entitiesIn("structure-duplicate-sku"),
  empty_collection: entitiesIn("structure-empty-collection"),
  invalid_value: entitiesIn("structure-invalid-value"),
  rules: addedLater(StructureRules).annotations({ description: "The rules at the time of the scan." })
}).annotations({ identifier: "StructureHealth" })

const DivergenceResult = Schema.Struct({
  ...head,
  compared: count("Entities of all kinds on two or more stores. Equal to `checked`."),
  rules: addedLater(DivergenceRules).annotations({ description: "The rules at the time of the scan." })
}).annotations({ identifier: "DivergenceHealth" })

const TranslationsResult = Schema.Struct({
  ...head,
  untranslated: entitiesIn("translations-untranslated"),
  outdated: entitiesIn("translations-outdated"),
  by_locale: Schema.Array(
    Schema.Struct({ locale: Schema.String, affected: count("Entities with an issue in the locale.") })
  ).annotations({ description: "By locale." })
}).annotations({ identifier: "TranslationsHealth" })

/** The result of a scan. Each dimension adds its own fields to the common ones. */
export const HealthResult = Schema.Union(
  SyncResult,
  CompletenessResult,
  MediaResult,
  StructureResult,
  DivergenceResult,
  TranslationsResult
)
export type HealthResult = typeof HealthResult.Type

const snapshotOf = <Dimension extends HealthDimension, A, I>(dimension: Dimension, result: Schema.Schema<A, I>) =>
  Schema.Struct({
    dimension: Schema.Literal(dimension),
    scanned: Schema.Literal(true),
    result,
    scanned_at: Timestamp,
    as_of_version: count("The version of the account at the time of the scan.")
  })

/**
 * Why a scan was run. `import`: after an import or a refresh. `link`, `unlink`: after a store was linked again, or unlinked.
 * `request`: somebody asked for it.
 */
export const ScanCause = Schema.Literal("nightly", "import", "link", "unlink", "request")
export type ScanCause = typeof ScanCause.Type

/** The last finished scan. `cause` null: a version of the service that did not save causes ran it. */
export const LastScan = Schema.Struct({ at: Timestamp, cause: Schema.NullOr(ScanCause) })
export type LastScan = typeof LastScan.Type

/** The result of the last scan of a dimension, or that it was never scanned. */
export const HealthSnapshot = Schema.Union(
  Schema.Struct({
    dimension: HealthDimension,
    scanned: Schema.Literal(false).annotations({
      description: "The dimension was never scanned. This does not mean that it has no issues."
    })
  }),
  snapshotOf("sync", SyncResult),
  snapshotOf("completeness", CompletenessResult),
  snapshotOf("media", MediaResult),
  snapshotOf("structure", StructureResult),
  snapshotOf("divergence", DivergenceResult),
  snapshotOf("translations", TranslationsResult)
).annotations({ identifier: "HealthSnapshot" })
export type HealthSnapshot = typeof HealthSnapshot.Type

export const HealthOverview = Schema.Struct({
  dimensions: Schema.Array(HealthSnapshot).annotations({ description: "All dimensions, always in the same order." })
}).annotations({ identifier: "HealthOverview" })
export type HealthOverview = typeof HealthOverview.Type

/** Longer values are cut to this length in an issue. */
export const maxShownCharacters = 200

export const FieldValue = Schema.Struct({ field: Schema.String, value: Schema.String })
export type FieldValue = typeof FieldValue.Type

/** Limit of the variants with the same SKU in one issue. */
export const maxDuplicates = 10

/** Another variant with the same SKU. */
export const DuplicateVariant = Schema.Struct({
  entity_id: EntityId,
  title: Schema.String,
  product_id: EntityId,
  product_title: Schema.String
}).annotations({ identifier: "DuplicateVariant" })
export type DuplicateVariant = typeof DuplicateVariant.Type

/** Why a value is an issue although it fits its type. */
export const IssueReason = Schema.Struct({
  field: Schema.String,
  reason: Schema.Literal("zero_price").annotations({
    description: "`zero_price`: the price of an active product is 0."
  })
}).annotations({ identifier: "IssueReason" })
export type IssueReason = typeof IssueReason.Type

/** The issues of one entity on one store; in a translation section also of one locale. */
export const HealthIssue = Schema.Struct({
  entity_id: EntityId,
  entity_type: EntityKind,
  title: Schema.String,
  store_id: StoreId,
  store_domain: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "Domain of the store. Absent if the store was unlinked during the read."
  }),
  fields: fields(
    "The affected fields, in definition order; `variant_ids`, `media_ids` and `members` are relationships."
  ),
  attribute_keys: Schema.optionalWith(Schema.Array(Schema.NullOr(Schema.String)), { exact: true }).annotations({
    description:
      "In the translation sections, where `fields` are the platform's names: the attribute of each field, in the same order. Null: the field is not an attribute."
  }),
  locale: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "In the translation sections."
  }),
  values: Schema.optionalWith(Schema.Array(FieldValue), { exact: true }).annotations({
    description: `In the section divergence: the store's values, cut at ${maxShownCharacters} characters.`
  }),
  sku: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description:
      "Of a variant: its current canonical SKU; in the section structure-duplicate-sku the SKU at the time of the scan."
  }),
  product_id: Schema.optionalWith(EntityId, { exact: true }).annotations({ description: "Of a variant." }),
  product_title: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "Of a variant: the current title of its product."
  }),
  duplicates: Schema.optionalWith(Schema.Array(DuplicateVariant), { exact: true }).annotations({
    description: `In the section structure-duplicate-sku: the other variants with this SKU by entity_id, at most ${maxDuplicates}.`
  }),
  duplicates_count: Schema.optionalWith(Schema.Int, { exact: true }).annotations({
    description: "In the section structure-duplicate-sku: the number of other variants with this SKU."
  }),
  reasons: Schema.optionalWith(Schema.Array(IssueReason), { exact: true }).annotations({
    description: "In the section structure-invalid-value: the reason for fields whose value fits its type."
  }),
  last_publish_error: Schema.optionalWith(PublishError, { exact: true }).annotations({
    description: `In the section sync-failed: why the publish failed, as the store's platform says it; the message is cut at ${maxShownCharacters} characters.`
  })
}).annotations({ identifier: "HealthIssue" })
export type HealthIssue = typeof HealthIssue.Type

export const HealthIssuePage = Schema.Struct({
  section: HealthSection,
  scanned: Schema.Boolean.annotations({ description: "Whether the section was ever scanned." }),
  scanned_at: Schema.optionalWith(Timestamp, { exact: true }),
  data: Schema.Array(HealthIssue).annotations({ description: "By entity_id, store_id, locale, as of the last scan." }),
  page: Schema.Int,
  has_next: Schema.Boolean,
  compared: Schema.optionalWith(Schema.Int, { exact: true }).annotations({
    description:
      "Only in the section divergence: the number of entities, of all kinds, that are on two or more stores and were compared."
  })
}).annotations({ identifier: "HealthIssuePage" })
export type HealthIssuePage = typeof HealthIssuePage.Type

/** The type of a field: from the entity's own value if it has one, otherwise from the definition. */
export const fieldType = (kind: EntityKind, field: string, layers: ReadonlyArray<Attributes> = []): string =>
  typeOf(kind, field, layers)
