import type { ExportedMetafield } from "../model/Definition.ts"
import { type KeyRule, misfitOf } from "../model/KeyRule.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { measurementTypes } from "../model/Measurement.ts"
import type { ShopifyCsvSummary } from "./csv/ShopifyCsv.ts"
import { type ImportedProduct, type ImportProblem, quoted } from "./ImportedProduct.ts"

type Owner = ExportedMetafield["ownerType"]

/** The column of a metafield, and the rule for the values. */
interface RuledColumn {
  readonly rule: KeyRule
  /** The column's header. */
  readonly column: string
}

type RuledColumns = Readonly<Record<Owner, ReadonlyMap<string, RuledColumn>>>

/** The metafield columns that have a rule. A column without values may have no rule, because it needs no definition. */
const ruledColumns = (
  { columnNames, productMetafields, variantMetafields }: ShopifyCsvSummary,
  rules: KeyRules
): RuledColumns => {
  const columnsOf = (owner: Owner, columns: ShopifyCsvSummary["productMetafields"]) =>
    new Map(
      columns.flatMap(({ index, key }) => {
        const rule = rules.find(owner, key)
        return rule === undefined ? [] : [[key, { rule, column: columnNames[index] ?? "" }] as const]
      })
    )
  return { product: columnsOf("product", productMetafields), variant: columnsOf("variant", variantMetafields) }
}

/** A measurement that a person typed in a cell, such as `25 cm`, as JSON. Other texts stay. */
const toMeasurement = (cell: string): string => {
  const [, value, unit] = /^(-?\d+(?:\.\d+)?)\s*([a-z][\w ]*)$/i.exec(cell.trim()) ?? []
  return value === undefined || unit === undefined
    ? cell
    : JSON.stringify({ value: Number(value), unit: unit.replaceAll(" ", "_") })
}

const isReference = (type: string) => type.endsWith("_reference")

/**
 * Converts a cell to the format of the metafield type. Exports separate list items with semicolons. null: a reference written
 * as a handle, which only the shop can resolve.
 */
const toTypedValue = (type: string, cell: string): string | null => {
  if (type.startsWith("list.")) {
    if (cell.trimStart().startsWith("[")) return cell
    return isReference(type) ? null : JSON.stringify(cell.split(";").flatMap((item) => item.trim() || []))
  }
  if (isReference(type)) return cell.startsWith("gid://") ? cell : null
  if (measurementTypes.includes(type)) return toMeasurement(cell)
  if (type === "boolean") return cell.trim().toLowerCase()
  return type.startsWith("number_") ? cell.trim() : cell
}

/** Converts the metafields of products to the format of their types. */
export class ImportedMetafields {
  readonly columns: RuledColumns
  /** Number of references by handle, by column. Such cells are not imported. */
  readonly unresolved = new Map<string, number>()

  constructor(summary: ShopifyCsvSummary, rules: KeyRules) {
    this.columns = ruledColumns(summary, rules)
  }

  /** Converts the product's metafields. Calls `reject` for each value that does not fit. */
  convertProduct(product: ImportedProduct, reject: (problem: ImportProblem) => void): ImportedProduct {
    const { product: productColumns, variant: variantColumns } = this.columns
    if (productColumns.size + variantColumns.size === 0) return product
    return {
      ...product,
      values: this.convert(productColumns, product.line, product.values, reject),
      variants:
        variantColumns.size === 0
          ? product.variants
          : product.variants.map((variant) => ({
              ...variant,
              values: this.convert(variantColumns, variant.line, variant.values, reject)
            }))
    }
  }

  private convert(
    columns: ReadonlyMap<string, RuledColumn>,
    line: number,
    values: ImportedProduct["values"],
    reject: (problem: ImportProblem) => void
  ): ImportedProduct["values"] {
    if (columns.size === 0) return values
    const converted = { ...values }
    for (const [key, { column, rule }] of columns) {
      const cell = values[key]
      if (cell === undefined || cell === "") continue
      const value = toTypedValue(rule.type, cell)
      const misfit = value === null ? undefined : misfitOf(rule, value)
      if (value === null) {
        delete converted[key]
        this.unresolved.set(column, (this.unresolved.get(column) ?? 0) + 1)
      } else if (misfit === undefined) converted[key] = value
      else
        reject({
          line,
          column,
          reason: `${quoted(cell)} does not fit the definition of ${key} (${rule.type}): it ${misfit}. Correct the cell, or change the definition in the shop or in this service.`
        })
    }
    return converted
  }
}
