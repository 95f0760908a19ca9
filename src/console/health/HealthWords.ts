import type { HealthDimension, HealthSection, IssueReason } from "../../health/Health.ts"
import { relationships } from "../../model/FieldOrder.ts"

/** The dimensions in the words of a merchant. */
export const dimensionWords: Readonly<Record<HealthDimension, { readonly name: string; readonly meaning: string }>> = {
  sync: {
    name: "Sync",
    meaning:
      "Whether your stores have what you have here. Stores without a platform are left out: nothing can be published to them."
  },
  completeness: {
    name: "Completeness",
    meaning: "Whether the required fields are filled. Recommended fields have a score of their own."
  },
  media: { name: "Media", meaning: "Whether products have images, and images are used and described." },
  structure: { name: "Structure", meaning: "Whether products, variants and collections hold together." },
  divergence: {
    name: "Divergence",
    meaning: "Whether your stores say the same of the same product: texts within a language, prices within a currency."
  },
  translations: { name: "Translations", meaning: "Whether texts are translated, and the translations up to date." }
}

/** The lists of issues: what each is called, and what is wrong with everything on it. */
export const sectionWords: Readonly<Record<HealthSection, { readonly name: string; readonly wrong: string }>> = {
  "sync-failed": { name: "Failed to publish", wrong: "The store did not take the last publish" },
  "sync-pending": { name: "Waiting to be published", wrong: "Differs from what the store has" },
  "sync-never-published": { name: "Never published", wrong: "The store never had it" },
  "completeness-required": { name: "Required fields empty", wrong: "Empty, and required" },
  "completeness-recommended": { name: "Recommended fields empty", wrong: "Empty, and recommended" },
  "media-unused": { name: "Files that nothing uses", wrong: "Nothing uses this file" },
  "media-missing": { name: "Without an image", wrong: "Has no image" },
  "media-alt-missing": { name: "Images without a description", wrong: "Is used, and has no alternative text" },
  "structure-no-variants": { name: "Products without a variant", wrong: "Has no variant, so nobody can buy it" },
  "structure-duplicate-sku": { name: "SKUs used more than once", wrong: "Another variant has the same SKU" },
  "structure-empty-collection": { name: "Empty collections", wrong: "Has no product" },
  "structure-invalid-value": { name: "Values that do not fit", wrong: "The value does not fit the field's type" },
  divergence: {
    name: "Stores that differ",
    wrong: "Differs from the canonical value, and from other stores that it is compared with"
  },
  "translations-untranslated": { name: "Not translated", wrong: "Not translated" },
  "translations-outdated": { name: "Outdated translations", wrong: "The text changed after it was translated" }
}

/** Why a value that fits its type is listed. */
export const reasonWords: Readonly<Record<IssueReason["reason"], string>> = {
  zero_price: "The price of an active product is 0"
}

/** The field of an issue as a person reads it: a key as it is, a relationship by its noun. */
export const fieldWords = (field: string): { readonly name: string; readonly isKey: boolean } => {
  const nouns = ["variants", "images", "members"]
  const noun = nouns[relationships.indexOf(field)]
  return noun === undefined ? { name: field, isKey: true } : { name: noun, isKey: false }
}
