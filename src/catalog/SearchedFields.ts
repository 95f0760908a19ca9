import { Either, Schema } from "effect"
import { type Attributes, type EntityKind, titleOf, valueOf } from "../model/Attribute.ts"
import type { Aggregate, VersionState } from "./Aggregate.ts"
import { searchText } from "./SearchText.ts"

/** Keys whose values are searched. Canonical values and overrides are both searched. */
const searchedKeys: Readonly<Record<EntityKind, ReadonlyArray<string>>> = {
  product: ["title", "vendor"],
  variant: ["title", "sku", "barcode"],
  collection: ["title", "handle"],
  media: ["alt", "file_name"]
}

/** The searched keys of all kinds, and `tags`, which only products have. */
export const everySearchedKey: ReadonlyArray<string> = [...new Set([...Object.values(searchedKeys).flat(), "tags"])]

/** Canonical values and the overrides of some stores. */
interface Layers {
  readonly attributes: Attributes
  readonly versions: ReadonlyArray<Pick<VersionState, "overrides">>
}

/** The values of a key: the canonical value, then the override of each store. `""` where a layer has none. */
export const layersOf = ({ attributes, versions }: Layers, key: string): ReadonlyArray<string> =>
  [attributes, ...versions.map(({ overrides }) => overrides)].map((layer) => valueOf(layer, key))

/** The values from which the search text of an entity is built. */
export interface SearchedFields extends Layers, Pick<Aggregate, "kind"> {
  /** The title of a variant's product; `""` for other kinds. */
  readonly productTitle: string
  /** The SKUs of a product's variants; empty for other kinds. */
  readonly skus: ReadonlyArray<string>
}

const decodeTags = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.String)))

/** The tags in a value, which is a JSON list in a string. Other text counts as one tag. */
const tagsOf = (value: string): ReadonlyArray<string> =>
  // Most versions have no tag overrides. Checking the first character avoids a decoder that fails, which is slow.
  value.trimStart().startsWith("[") ? Either.getOrElse(decodeTags(value), () => [value]) : [value]

export const searchTextOf = (fields: SearchedFields): string =>
  searchText([
    titleOf(fields.kind, fields.attributes),
    ...searchedKeys[fields.kind].flatMap((key) => layersOf(fields, key)),
    ...(fields.kind === "product" ? layersOf(fields, "tags").flatMap(tagsOf) : []),
    ...fields.skus,
    fields.productTitle
  ])
