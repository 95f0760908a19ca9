import type { ExportedMetafield } from "../model/Definition.ts"
import { type KeyRule, misfitOf } from "../model/KeyRule.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import type { ShopifyCsvSummary } from "./csv/ShopifyCsv.ts"
import { type ImportedProduct, type ImportProblem, quoted } from "./ImportedProduct.ts"

type Owner = ExportedMetafield["ownerType"]

/** A metafield's column and what its values must satisfy. */
interface RuledColumn {
  readonly owner: Owner
  readonly rule: KeyRule
  /** Its header. */
  readonly column: string
}

type RuledColumns = Readonly<Record<Owner, ReadonlyMap<string, RuledColumn>>>

/** The columns whose keys the rules know: a column without a value may be of none. */
const ruledColumns = (
  { columnNames, productMetafields, variantMetafields }: ShopifyCsvSummary,
  rules: KeyRules
): RuledColumns => {
  const columnsOf = (owner: Owner, columns: ShopifyCsvSummary["productMetafields"]) =>
    new Map(
      columns.flatMap(({ index, key }) => {
        const rule = rules.find(owner, key)
        return rule === undefined ? [] : [[key, { owner, rule, column: columnNames[index] ?? "" }] as const]
      })
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
  readonly columns: RuledColumns
  /** References by handle, which are not kept: how many cells of each column. */
  readonly unresolved = new Map<string, number>()

  constructor(summary: ShopifyCsvSummary, rules: KeyRules) {
    this.columns = ruledColumns(summary, rules)
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
    columns: ReadonlyMap<string, RuledColumn>,
    line: number,
    values: ImportedProduct["values"],
    reject: (problem: ImportProblem) => void
  ): ImportedProduct["values"] {
    if (columns.size === 0) return values
    const settled = { ...values }
    for (const [key, { column, owner, rule }] of columns) {
      const cell = values[key]
      if (cell === undefined || cell === "") continue
      const value = inItsForm(rule.type, cell)
      const wrong = value === null ? undefined : misfitOf(rule, value)
      if (value === null) {
        delete settled[key]
        this.unresolved.set(column, (this.unresolved.get(column) ?? 0) + 1)
      } else if (wrong === undefined) settled[key] = value
      else
        reject({
          line,
          column,
          reason: `${quoted(cell)} does not fit the definition of ${key} (${rule.type}): it ${wrong}. Correct the cell or the definition (in the shop, or with catalog definition set-type ${owner} ${key} TYPE).`
        })
    }
    return settled
  }
}
