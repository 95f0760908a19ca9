import type { Permission } from "../PlatformAdapter.ts"
import { PlatformRefused } from "../PlatformErrors.ts"

/** The access scopes of a token, by Shopify's names (https://shopify.dev/docs/api/usage/access-scopes). */
export const permissions: ReadonlyArray<Permission> = [
  { name: "write_products", without: "products, variants and collections cannot be published" },
  { name: "write_files", without: "pictures and videos cannot be published" },
  { name: "read_inventory", without: "SKUs and weights cannot be read" },
  { name: "read_markets", without: "markets cannot be read" },
  { name: "read_metaobjects", without: "entries cannot be read" },
  { name: "read_metaobject_definitions", without: "definitions of entries cannot be read" },
  { name: "read_translations", without: "translations cannot be read" },
  { name: "read_locales", without: "the languages of the store cannot be read" },
  { name: "read_publications", without: "sales channels are not shown", isOptional: true },
  {
    name: "write_publications",
    without: "new products and collections are put on no sales channel",
    isOptional: true
  }
]

/** The permissions that these access scopes do not contain. Shopify says that a scope that writes contains the one that reads. */
export const missingIn = (granted: ReadonlySet<string>): ReadonlyArray<Permission> =>
  permissions.filter(({ name }) => !granted.has(name) && !granted.has(name.replace(/^read_/, "write_")))

/** The refusal of a token without required permissions. */
export const missingPermissions = (missing: ReadonlyArray<Permission>) =>
  new PlatformRefused({
    code: "MISSING_PERMISSIONS",
    message: `The access token lacks permissions: ${missing
      .map(({ name, without }) => `${name} (${without})`)
      .join(", ")}. Grant them to the app in the store, then link the store again with the app's token.`,
    field: null
  })
