import { Schema } from "effect"
import { DivergenceRules, defaultDivergence } from "../drafts/Divergence.ts"
import { type Attributes, EntityKind, typeOf } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** What the quality of a catalog is looked at for, in the order in which answers list it. */
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

/** The dimension that a section belongs to: the first word of its name. */
export const dimensionOf = (section: HealthSection): HealthDimension => {
  const found = HealthDimension.literals.find((dimension) => section.startsWith(dimension))
  // Every name above begins with one.
  return found ?? "sync"
}

/** The sections of a dimension, in order. */
export const sectionsOf = (dimension: HealthDimension): ReadonlyArray<HealthSection> =>
  HealthSection.literals.filter((section) => dimensionOf(section) === dimension)

/** Whether a scan may be of one store alone, and each store has a snapshot of its own. */
export const isPerStore = (dimension: HealthDimension): boolean =>
  dimension === "sync" || dimension === "completeness" || dimension === "translations"

const fields = (description: string) => Schema.Array(Schema.String).annotations({ description })

/** Of one kind of entity. */
export const FieldsToFill = Schema.Struct({
  required: fields("Fields without which an entity is not complete."),
  recommended: fields("Fields that it should have.")
})
export type FieldsToFill = typeof FieldsToFill.Type

/** The fields that are looked at for completeness, by kind of entity. */
export const CompletenessRules = Schema.Struct({
  product: FieldsToFill,
  variant: FieldsToFill,
  collection: FieldsToFill,
  media: FieldsToFill
}).annotations({ identifier: "CompletenessRules" })
export type CompletenessRules = typeof CompletenessRules.Type

export const StructureRules = Schema.Struct({
  zero_price: Schema.Literal("issue", "allowed").annotations({
    description:
      "Whether a price of 0 on an active product is an issue; `allowed` is for catalogs that give things away."
  })
}).annotations({ identifier: "StructureRules" })
export type StructureRules = typeof StructureRules.Type

const defaultStructure: StructureRules = { zero_price: "issue" }

/** All rules of an account. Rules that were saved before divergence and structure had some get the defaults. */
export const HealthRules = Schema.Struct({
  ...CompletenessRules.fields,
  divergence: Schema.optionalWith(DivergenceRules, { default: () => defaultDivergence }),
  structure: Schema.optionalWith(StructureRules, { default: () => defaultStructure })
}).annotations({ identifier: "HealthRules" })
export type HealthRules = typeof HealthRules.Type

/** Of an account that has none of its own. */
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

/** The kinds of which the rules name a field at this level. */
export const kindsWith = (level: CompletenessLevel, rules: CompletenessRules): ReadonlyArray<EntityKind> =>
  EntityKind.literals.filter((kind) => rules[kind][level].length > 0)

const count = (description: string) => Schema.Int.annotations({ description })

/** What every result begins with. */
const head = {
  checked: count(
    "Entities that were looked at: those of the kinds that the dimension is about that live on a store; for divergence on two, for sync on a store with a platform, for completeness those of kinds with a required field."
  ),
  affected: count("Those of them with an issue; for completeness, with a required field empty."),
  score: count("100 x (checked - affected) / checked, rounded down; 100 when nothing was checked."),
  on_no_store: count("Entities of the same kinds that live on no store: they are not checked and have no issues."),
  by_store: Schema.Array(
    Schema.Struct({ store_id: StoreId, checked: Schema.Int, affected: Schema.Int }).annotations({
      description: "Entities that live on the store, and those with an issue there."
    })
  ).annotations({ description: "By domain." }),
  by_field: Schema.Array(
    Schema.Struct({ field: Schema.String, affected: count("Entities with an issue that names the field.") })
  ).annotations({ description: "In the order in which fields are defined, metafields by key." }),
  by_section: Schema.Array(
    Schema.Struct({ section: HealthSection, rows: count("Rows that the pages of the section deliver.") })
  )
}

/** A member that results of earlier versions lack: the last scan may be older than the program. */
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
        checked: count("Entities of the kinds with a field of this level that live on a store."),
        affected: count("Those of them with such a field empty."),
        score: count("As above, of this level.")
      })
    )
  ).annotations({ description: "First `required`, which is the score of the dimension, then `recommended`." }),
  rules: CompletenessRules.annotations({ description: "The rules that the scan went by." })
}).annotations({ identifier: "CompletenessHealth" })

const MediaResult = Schema.Struct({
  ...head,
  unused: entitiesIn("media-unused"),
  missing: entitiesIn("media-missing"),
  alt_missing: entitiesIn("media-alt-missing"),
  unused_on_no_store: count("Files that nothing uses and that live on no store: no section lists them.")
}).annotations({ identifier: "MediaHealth" })

const StructureResult = Schema.Struct({
  ...head,
  no_variants: entitiesIn("structure-no-variants"),
  duplicate_sku: entitiesIn("structure-duplicate-sku"),
  empty_collection: entitiesIn("structure-empty-collection"),
  invalid_value: entitiesIn("structure-invalid-value"),
  rules: addedLater(StructureRules).annotations({ description: "The rules that the scan went by." })
}).annotations({ identifier: "StructureHealth" })

const DivergenceResult = Schema.Struct({
  ...head,
  compared: count("Entities of all kinds on two or more stores: the same as `checked`."),
  rules: addedLater(DivergenceRules).annotations({ description: "The rules that the scan went by." })
}).annotations({ identifier: "DivergenceHealth" })

const TranslationsResult = Schema.Struct({
  ...head,
  untranslated: entitiesIn("translations-untranslated"),
  outdated: entitiesIn("translations-outdated"),
  by_locale: Schema.Array(
    Schema.Struct({ locale: Schema.String, affected: count("Entities with an issue in the language.") })
  ).annotations({ description: "By locale." })
}).annotations({ identifier: "TranslationsHealth" })

/** What a scan found, in numbers. Its members beside the common head depend on the dimension. */
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
    as_of_version: count("The account's version that the scan read.")
  })

/** What is known of a dimension without looking: the numbers of its last scan, or that there was none. */
export const HealthSnapshot = Schema.Union(
  Schema.Struct({
    dimension: HealthDimension,
    scanned: Schema.Literal(false).annotations({ description: "No scan has ever run; not the same as clean." })
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
  dimensions: Schema.Array(HealthSnapshot).annotations({ description: "All of them, always in the same order." })
}).annotations({ identifier: "HealthOverview" })
export type HealthOverview = typeof HealthOverview.Type

/** Most characters of a value that an issue shows. */
export const mostShownCharacters = 200

export const FieldValue = Schema.Struct({ field: Schema.String, value: Schema.String })
export type FieldValue = typeof FieldValue.Type

/** Most entities with the same SKU that an issue lists. */
export const maxDuplicates = 10

/** Another variant with the same SKU. */
export const DuplicateVariant = Schema.Struct({
  entity_id: EntityId,
  title: Schema.String,
  product_id: EntityId,
  product_title: Schema.String
}).annotations({ identifier: "DuplicateVariant" })
export type DuplicateVariant = typeof DuplicateVariant.Type

/** Why a value that fits its type is an issue all the same. */
export const IssueReason = Schema.Struct({
  field: Schema.String,
  reason: Schema.Literal("zero_price").annotations({
    description: "`zero_price`: the price of an active product is 0."
  })
}).annotations({ identifier: "IssueReason" })
export type IssueReason = typeof IssueReason.Type

/** One entity on one store, in a translation section in one language, and what is wrong with it. */
export const HealthIssue = Schema.Struct({
  entity_id: EntityId,
  entity_type: EntityKind,
  title: Schema.String,
  store_id: StoreId,
  fields: fields(
    "The affected fields, in definition order; `variant_ids`, `media_ids` and `members` are relationships."
  ),
  attribute_keys: Schema.optionalWith(Schema.Array(Schema.NullOr(Schema.String)), { exact: true }).annotations({
    description:
      "In the translation sections, where `fields` are the platform's names: the attribute that each of them is, in the same order; null where it is none."
  }),
  locale: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "In the translation sections."
  }),
  values: Schema.optionalWith(Schema.Array(FieldValue), { exact: true }).annotations({
    description: `In the section divergence: what the store says, cut at ${mostShownCharacters} characters.`
  }),
  sku: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "Of a variant: its canonical SKU, at present; in the section structure-duplicate-sku as of the scan."
  }),
  product_id: Schema.optionalWith(EntityId, { exact: true }).annotations({ description: "Of a variant." }),
  product_title: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "Of a variant: the title of its product, at present."
  }),
  duplicates: Schema.optionalWith(Schema.Array(DuplicateVariant), { exact: true }).annotations({
    description: `In the section structure-duplicate-sku: the other variants with this SKU by entity_id, at most ${maxDuplicates}.`
  }),
  duplicates_count: Schema.optionalWith(Schema.Int, { exact: true }).annotations({
    description: "In the section structure-duplicate-sku: all other variants with this SKU."
  }),
  reasons: Schema.optionalWith(Schema.Array(IssueReason), { exact: true }).annotations({
    description: "In the section structure-invalid-value: fields whose value fits its type, and why they are listed."
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
    description: "In the section divergence: entities of all kinds on two or more stores."
  })
}).annotations({ identifier: "HealthIssuePage" })
export type HealthIssuePage = typeof HealthIssuePage.Type

/** A field of a kind, with the type that its values have where no entity says otherwise. */
export const fieldType = (kind: EntityKind, field: string, layers: ReadonlyArray<Attributes> = []): string =>
  typeOf(kind, field, layers)
