import type { EntityKind } from "../../model/Attribute.ts"
import { paths } from "../Paths.ts"

/** The page that lists each kind, and its words. */
export const listPages = {
  product: { path: paths.products, name: "Products", one: "product" },
  variant: { path: paths.variants, name: "Variants", one: "variant" },
  collection: { path: paths.collections, name: "Collections", one: "collection" },
  media: { path: paths.media, name: "Media", one: "media file" }
} as const satisfies Record<EntityKind, { readonly path: string; readonly name: string; readonly one: string }>

/** The section of the navigation to which a kind belongs. */
export const sectionOf = (kind: EntityKind): string => listPages[kind === "variant" ? "product" : kind].path
