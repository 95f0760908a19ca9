import { type DocumentNode, visit } from "graphql"

/** The access scope that Shopify's documentation of each field names ("Requires `read_locales` access scope"). */
const scopeOf: Readonly<Record<string, string>> = {
  shopLocales: "read_locales",
  publications: "read_publications",
  resourcePublicationsV2: "read_publications",
  publishablePublish: "write_publications",
  markets: "read_markets",
  metaobjectDefinitions: "read_metaobject_definitions",
  metaobjects: "read_metaobjects",
  translatableResources: "read_translations",
  inventoryItem: "read_inventory",
  files: "read_files",
  fileCreate: "write_files",
  fileUpdate: "write_files",
  products: "read_products",
  collections: "read_products",
  productSet: "write_products",
  collectionCreate: "write_products",
  collectionUpdate: "write_products"
}

/** A merchant grants the scopes that write; each contains the one that reads (https://shopify.dev/docs/api/usage/access-scopes). */
export const allScopes: ReadonlySet<string> = new Set([
  "write_products",
  "write_files",
  "read_inventory",
  "write_publications",
  "read_markets",
  "read_metaobjects",
  "read_metaobject_definitions",
  "read_translations",
  "read_locales"
])

export const scopesWithout = (...names: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set([...allScopes].filter((name) => !names.includes(name)))

/** The first field of a document that a token with these scopes must not use. */
export const deniedField = (document: DocumentNode, scopes: ReadonlySet<string>) => {
  let denied: { readonly field: string; readonly scope: string } | undefined
  visit(document, {
    Field: ({ name: { value: field } }) => {
      const scope = scopeOf[field]
      if (scope !== undefined && !scopes.has(scope) && !scopes.has(scope.replace(/^read_/, "write_")))
        denied ??= { field, scope }
    }
  })
  return denied
}
