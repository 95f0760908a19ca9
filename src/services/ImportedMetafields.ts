import { valueRule } from "../domain/AttributeRules.ts"
import type { ExportedMetafield, MetafieldType } from "../domain/Definition.ts"
import { type ImportedProduct, type ImportProblem, quoted } from "../domain/ImportedProduct.ts"
import type { ShopifyCsvSummary } from "./ShopifyCsv.ts"

type Owner = ExportedMetafield["ownerType"]

/** A metafield's column and the type of its values. */
interface TypedColumn {
  readonly type: string
  /** Its header. */
  readonly column: string
}

type TypedColumns = Readonly<Record<Owner, ReadonlyMap<string, TypedColumn>>>

/** The type of each metafield: that of its definition, else the one that its values have. A column without a value has none. */
export const typesOf = (
  metafields: ReadonlyArray<ExportedMetafield>,
  definitions: ReadonlyArray<MetafieldType>
): ReadonlyArray<MetafieldType> => {
  const isDefined = ({ key, ownerType }: ExportedMetafield) =>
    definitions.some((defined) => defined.ownerType === ownerType && defined.key === key)
  return [...definitions, ...metafields.filter((metafield) => metafield.count > 0 && !isDefined(metafield))]
}

const typedColumns = (
  { columnNames, productMetafields, variantMetafields }: ShopifyCsvSummary,
  types: ReadonlyArray<MetafieldType>
): TypedColumns => {
  const columnsOf = (owner: Owner, columns: ShopifyCsvSummary["productMetafields"]) =>
    new Map(
      columns.flatMap(({ index, key }) =>
        types
          .filter((each) => each.ownerType === owner && each.key === key)
          .map(({ type }) => [key, { type, column: columnNames[index] ?? "" }] as const)
      )
    )
  return { product: columnsOf("product", productMetafields), variant: columnsOf("variant", variantMetafields) }
}

const isReference = (type: string) => type.endsWith("_reference")

/**
 * A cell in the form of its type. Exports write the items of a list with semicolons between them, and references by the
 * handles of what they refer to, which only the shop can resolve: null.
 */
const inItsForm = (type: string, cell: string): string | null => {
  if (type.startsWith("list.")) {
    if (cell.trimStart().startsWith("[")) return cell
    return isReference(type) ? null : JSON.stringify(cell.split(";").flatMap((item) => item.trim() || []))
  }
  if (isReference(type)) return cell.startsWith("gid://") ? cell : null
  if (type === "boolean") return cell.trim().toLowerCase()
  return type.startsWith("number_") ? cell.trim() : cell
}

/** Brings the metafields of products to the forms of their types. */
export class ImportedMetafields {
  readonly columns: TypedColumns
  /** References by handle, which are not kept: how many cells of each column. */
  readonly unresolved = new Map<string, number>()

  constructor(summary: ShopifyCsvSummary, types: ReadonlyArray<MetafieldType>) {
    this.columns = typedColumns(summary, types)
  }

  /** The product with its metafields in these forms; `reject` is told of those that do not fit. */
  settle(product: ImportedProduct, reject: (problem: ImportProblem) => void): ImportedProduct {
    const { product: ofProducts, variant: ofVariants } = this.columns
    if (ofProducts.size + ofVariants.size === 0) return product
    return {
      ...product,
      values: this.valuesOf(ofProducts, product.line, product.values, reject),
      variants:
        ofVariants.size === 0
          ? product.variants
          : product.variants.map((variant) => ({
              ...variant,
              values: this.valuesOf(ofVariants, variant.line, variant.values, reject)
            }))
    }
  }

  private valuesOf(
    columns: ReadonlyMap<string, TypedColumn>,
    line: number,
    values: ImportedProduct["values"],
    reject: (problem: ImportProblem) => void
  ): ImportedProduct["values"] {
    if (columns.size === 0) return values
    const settled = { ...values }
    for (const [key, { column, type }] of columns) {
      const cell = values[key]
      if (cell === undefined || cell === "") continue
      const value = inItsForm(type, cell)
      const rule = value === null ? undefined : valueRule(type, value)
      if (value === null) {
        delete settled[key]
        this.unresolved.set(column, (this.unresolved.get(column) ?? 0) + 1)
      } else if (rule === undefined) settled[key] = value
      else
        reject({ line, column, reason: `${quoted(cell)} does not fit the definition of ${key} (${type}): it ${rule}.` })
    }
    return settled
  }
}
