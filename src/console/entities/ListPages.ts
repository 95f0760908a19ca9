import type { EntityKind } from "../../model/Attribute.ts"
import type { Sentence } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"

/** The page that lists each kind, and its words. */
export const listPages = {
  product: {
    path: paths.products,
    name: "Products",
    backTo: "To products",
    pages: "Pages of products",
    none: "There is no product yet."
  },
  variant: {
    path: paths.variants,
    name: "Variants",
    backTo: "To variants",
    pages: "Pages of variants",
    none: "There is no variant yet."
  },
  collection: {
    path: paths.collections,
    name: "Collections",
    backTo: "To collections",
    pages: "Pages of collections",
    none: "There is no collection yet."
  },
  media: {
    path: paths.media,
    name: "Media",
    backTo: "To media",
    pages: "Pages of media",
    none: "There is no media file yet."
  }
} as const satisfies Readonly<
  Record<EntityKind, { readonly path: string } & Readonly<Record<"name" | "backTo" | "pages" | "none", Sentence>>>
>

/** The section of the navigation to which a kind belongs. */
export const sectionOf = (kind: EntityKind): string => listPages[kind === "variant" ? "product" : kind].path
