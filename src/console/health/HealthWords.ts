import type { HealthDimension, HealthSection, IssueReason, ScanCause } from "../../health/Health.ts"
import { relationships } from "../../model/FieldOrder.ts"
import type { Sentence } from "../languages/Words.tsx"

export const dimensionWords: Readonly<
  Record<HealthDimension, { readonly name: Sentence; readonly meaning: Sentence }>
> = {
  sync: {
    name: "Sync",
    meaning: "Whether drafts are published to your stores. Stores without a platform are left out."
  },
  completeness: {
    name: "Completeness",
    meaning: "Whether the required fields are filled. Recommended fields have a score of their own."
  },
  media: { name: "Media", meaning: "Whether products have images, and images are used and described." },
  structure: { name: "Structure", meaning: "Whether products, variants and collections are complete and valid." },
  divergence: {
    name: "Divergence",
    meaning: "Whether stores have the same texts in one language and the same prices in one currency."
  },
  translations: { name: "Translations", meaning: "Whether texts are translated and translations are up to date." }
}

/** Why a scan was run. */
export const causeWords: Readonly<Record<ScanCause, Sentence>> = {
  nightly: "the nightly scan",
  import: "after an import or a refresh",
  link: "after a store was linked again",
  unlink: "after a store was unlinked",
  request: "by hand"
}

/** The sections of issues: the name of each section, and the problem of its issues. */
export const sectionWords: Readonly<Record<HealthSection, { readonly name: Sentence; readonly wrong: Sentence }>> = {
  "sync-failed": { name: "Failed to publish", wrong: "The last publish to the store failed." },
  "sync-pending": { name: "Waiting to be published", wrong: "Differs from what the store has." },
  "sync-never-published": { name: "Never published", wrong: "Never published to the store." },
  "completeness-required": { name: "Required fields empty", wrong: "Required but empty." },
  "completeness-recommended": { name: "Recommended fields empty", wrong: "Recommended but empty." },
  "media-unused": { name: "Unused files", wrong: "No item uses this file." },
  "media-missing": { name: "Without an image", wrong: "Has no image." },
  "media-alt-missing": { name: "Images without a description", wrong: "Has no alternative text." },
  "structure-no-variants": { name: "Products without a variant", wrong: "Has no variant, so nobody can buy it." },
  "structure-duplicate-sku": { name: "SKUs used more than once", wrong: "Another variant has the same SKU." },
  "structure-empty-collection": { name: "Empty collections", wrong: "Has no product." },
  "structure-invalid-value": { name: "Invalid values", wrong: "The value does not fit the field's type." },
  divergence: {
    name: "Stores that differ",
    wrong: "Differs from the catalog's value and from comparable stores."
  },
  "translations-untranslated": { name: "Not translated", wrong: "Not translated." },
  "translations-outdated": { name: "Outdated translations", wrong: "The text changed after it was translated." }
}

/** Why a value is an issue although it has the right type. */
export const reasonWords: Readonly<Record<IssueReason["reason"], Sentence>> = {
  zero_price: "The price of an active product is 0."
}

const nouns: ReadonlyArray<Sentence> = ["variants", "images", "members"]

/** The noun of a field that is a relationship. Undefined: the field is shown by its key. */
export const nounOf = (field: string): Sentence | undefined => nouns[relationships.indexOf(field)]
