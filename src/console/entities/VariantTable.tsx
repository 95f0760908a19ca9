import type { IdentifiedSheet, Sheet } from "../../drafts/Drafts.ts"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import { readOptions } from "../../model/ProductOptions.ts"
import type { Store } from "../../model/Store.ts"
import { formNames } from "../creations/NewEntityForm.ts"
import { Hidden, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import type { Words } from "../languages/Words.tsx"
import { EntityLink, PublishStateOf, titleOr } from "../Naming.tsx"
import { paths } from "../Paths.ts"
import { Allowed, useWords } from "../Viewer.tsx"
import type { Editing } from "./CellForm.tsx"
import { type Cell, type FieldRow, rowOf } from "./Cells.ts"
import { type CellPlace, type GridView, parametersOfView, viewPath } from "./GridAddress.ts"
import { type Column, columnsOf, GridCell, type SavedCell } from "./GridCell.tsx"
import { MoveButtons, type Moved, UndoMove } from "./Moves.tsx"
import { type SharedSku, SharedSkus } from "./SharedSkus.tsx"

/** Variants on a page of the table. */
const variantsOnPage = 25

/** The page of the table that a view shows. A page after the last is the last. */
export const variantPageOf = <A,>(
  { variants: page }: GridView,
  all: ReadonlyArray<A>
): { readonly page: number; readonly pages: number; readonly shown: ReadonlyArray<A> } => {
  const pages = Math.max(1, Math.ceil(all.length / variantsOnPage))
  const chosen = Math.min(page, pages)
  return { page: chosen, pages, shown: all.slice((chosen - 1) * variantsOnPage, chosen * variantsOnPage) }
}

interface VariantColumn {
  readonly key: string
  /** The name of the field. */
  readonly label: string
  readonly column: Column
}

/** The columns: options, SKU and price in the catalog, then the price of each store that has the product. */
const variantColumns = (t: Words, product: Sheet, linked: ReadonlyArray<Store>): ReadonlyArray<VariantColumn> => {
  const [catalog, ...stores] = columnsOf(t, product, linked)
  if (catalog === undefined) return []
  return [
    ...readOptions(valueOf(product.attributes, "options")).map(({ name }, index) => ({
      key: `option${index + 1}`,
      label: name,
      column: { ...catalog, label: name }
    })),
    { key: "sku", label: "SKU", column: { ...catalog, label: "SKU" } },
    { key: "price", label: t("Price"), column: { ...catalog, label: t("Price") } },
    ...stores.map((column) => ({
      key: "price",
      label: t("Price"),
      column: { ...column, label: t("Price on {store}", { store: column.name }) }
    }))
  ]
}

const cellIn = (
  sheet: Sheet,
  key: string,
  { storeId }: Pick<CellPlace, "storeId">
): { readonly row: FieldRow; readonly cell: Cell } | undefined => {
  const row = rowOf(sheet, key)
  const cell = row?.cells.find((each) => each.storeId === storeId)
  return row === undefined || cell === undefined ? undefined : { row, cell }
}

/** The cell of the same column of the next variant that has it. Undefined: none. */
export const nextVariantCell = (variants: ReadonlyArray<IdentifiedSheet>, place: CellPlace): CellPlace | undefined => {
  const index = variants.findIndex(({ id }) => id === place.of)
  const next = variants.slice(index + 1).find((sheet) => cellIn(sheet, place.key, place) !== undefined)
  return next === undefined ? undefined : { ...place, of: next.id }
}

interface VariantTableProps {
  readonly csrf: string
  readonly product: Sheet
  /** The stores of the account. */
  readonly linked: ReadonlyArray<Store>
  readonly view: GridView
  /** The variants of the page. */
  readonly variants: ReadonlyArray<IdentifiedSheet>
  readonly sharedSkus: ReadonlyArray<SharedSku>
  readonly total: number
  readonly editing: Editing | undefined
  readonly saved: SavedCell | undefined
  /** The last move of a variant. */
  readonly moved: Moved | undefined
}

const moveForm = "variant-move"

/** The page of the table that has this place, from 1. */
export const variantPageAt = (place: number): number => Math.ceil(place / variantsOnPage)

const Pages = ({ total, view }: Pick<VariantTableProps, "total" | "view">) => {
  const t = useWords()

  const { page, pages } = variantPageOf(view, Array.from({ length: total }))
  if (pages === 1) return null
  const to = (variants: number) => `${viewPath({ ...view, variants })}#variants`
  return (
    <nav class="pages" aria-label={t("Pages of variants")}>
      {page > 1 && <a href={to(page - 1)}>{t("Previous {count, number}", { count: variantsOnPage })}</a>}
      <span class="quiet">
        {t("{first, number} to {last, number} of {all, number}", {
          first: (page - 1) * variantsOnPage + 1,
          last: Math.min(page * variantsOnPage, total),
          all: total
        })}
      </span>
      {page < pages && (
        <a href={to(page + 1)}>
          {t("Next {count, number}", { count: Math.min(variantsOnPage, total - page * variantsOnPage) })}
        </a>
      )}
    </nav>
  )
}

const AddVariant = ({ of }: { readonly of: EntityId }) => {
  const t = useWords()
  return (
    <Allowed to="edit">
      <p>
        <a class="button plain" href={`${paths.newVariant}?${new URLSearchParams({ [formNames.owner]: of })}`}>
          <Icon name="plus" />
          {t("Add a variant")}
        </a>
      </p>
    </Allowed>
  )
}

/** The form that the buttons of all rows send. */
const MoveForm = ({ csrf, view }: Pick<VariantTableProps, "csrf" | "view">) => (
  <Allowed to="edit">
    <form method="post" action={paths.moveVariant} id={moveForm}>
      <HiddenFields csrf={csrf} />
      <Hidden of={Object.entries(parametersOfView(view))} />
    </form>
  </Allowed>
)

/** The variants of a product with their options, SKU and prices, edited in place as the values of the product. */
export const VariantTable = (props: VariantTableProps) => {
  const t = useWords()

  const { csrf, editing, linked, moved, product, saved, sharedSkus, total, variants, view } = props
  if (total === 0)
    return product.kind !== "product" ? (
      <SharedSkus shared={sharedSkus} />
    ) : (
      <section aria-labelledby="variants">
        <h2 id="variants">{t("Variants")}</h2>
        <p class="quiet">{t("There is no variant yet.")}</p>
        <AddVariant of={view.id} />
      </section>
    )
  const columns = variantColumns(t, product, linked)
  const shown = view.on ?? null
  const before = (view.variants - 1) * variantsOnPage
  return (
    <section aria-labelledby="variants">
      <h2 id="variants">
        {t("Variants")}{" "}
        <span class="quiet">{t("{count, plural, one {# variant} other {# variants}}", { count: total })}</span>
      </h2>
      <SharedSkus shared={sharedSkus} />
      <MoveForm csrf={csrf} view={view} />
      <div class="gridframe">
        <table class="grid variants" aria-labelledby="variants" data-grid>
          <thead>
            <tr>
              <th scope="col">{t("Variant")}</th>
              {columns.map(({ column, key, label }) => (
                <th key={`${key} ${column.storeId}`} scope="col">
                  <bdi>{label}</bdi>
                  {key === "price" && (
                    <div class="quiet">
                      {column.storeId === null ? t("All stores") : <bdi>{column.name}</bdi>}
                      {column.store !== undefined && `, ${column.store.currency}`}
                    </div>
                  )}
                </th>
              ))}
              <th scope="col">{t("State")}</th>
            </tr>
          </thead>
          <tbody>
            {variants.map((variant, index) => (
              <tr key={variant.id}>
                <th scope="row">
                  <EntityLink id={variant.id} kind="variant" title={variant.title} />
                  <Allowed to="edit">
                    {total > 1 && (
                      <div class="moves">
                        <MoveButtons
                          form={moveForm}
                          id={variant.id}
                          name={titleOr(t, "variant", variant.title)}
                          place={before + index + 1}
                          count={total}
                        />
                        {moved?.id === variant.id && <UndoMove form={moveForm} moved={moved} />}
                      </div>
                    )}
                  </Allowed>
                </th>
                {columns.map(({ column, key, label }) => {
                  const isShown = column.storeId === null || column.storeId === shown
                  const found = cellIn(variant, key, column)
                  return found === undefined ? (
                    <td
                      key={`${key} ${column.storeId}`}
                      data-label={column.label}
                      class={isShown ? "shown inherited" : "inherited"}
                    >
                      {t("Not on this store")}
                    </td>
                  ) : (
                    <GridCell
                      key={`${key} ${column.storeId}`}
                      grid={{
                        csrf,
                        draftRevision: variant.draftRevision,
                        sheet: variant,
                        linked,
                        view,
                        editing,
                        saved
                      }}
                      of={{ id: variant.id, title: variant.title, label }}
                      row={found.row}
                      cell={found.cell}
                      column={column}
                      isShown={isShown}
                      hasNext={
                        nextVariantCell(variants, { of: variant.id, key, storeId: column.storeId }) !== undefined
                      }
                    />
                  )
                })}
                <td class="shown" data-label={t("State")}>
                  <PublishStateOf stores={variant.stores.map(({ projection }) => projection)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Pages total={total} view={view} />
      <AddVariant of={view.id} />
    </section>
  )
}
