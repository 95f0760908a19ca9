import type pg from "pg"
import type { Query } from "./products.ts"

/** The built-in values in the order in which the catalog lists them, with their types. */
const values = {
  product: {
    title: "single_line_text_field",
    handle: "single_line_text_field",
    description_html: "html",
    vendor: "single_line_text_field",
    product_type: "single_line_text_field",
    tags: "list.single_line_text_field",
    status: "single_line_text_field",
    options: "json",
    seo_title: "single_line_text_field",
    seo_description: "multi_line_text_field"
  },
  variant: {
    title: "single_line_text_field",
    sku: "single_line_text_field",
    barcode: "single_line_text_field",
    price: "number_decimal",
    compare_at_price: "number_decimal",
    weight: "number_decimal",
    weight_unit: "single_line_text_field",
    option1: "single_line_text_field",
    option2: "single_line_text_field",
    option3: "single_line_text_field",
    taxable: "boolean",
    requires_shipping: "boolean"
  }
}

export type Kind = keyof typeof values

const timeOf = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** PostgreSQL writes the rows, which are only passed on: that is faster than parsing the values here and writing them again. */
const statementOf = (kind: Kind) => `
  SELECT string_agg(p.row, ',' ORDER BY p.change_seq) FILTER (WHERE p.place <= $3) AS rows,
         max(p.change_seq) FILTER (WHERE p.place = $3) AS last, count(*) > $3 AS more
  FROM (
    SELECT e.change_seq, row_number() OVER (ORDER BY e.change_seq) AS place, json_build_object(
             'id', e.id, 'type', e.kind, 'title', e.title,
             'attributes', json_build_array(${Object.entries(values[kind])
               .map(
                 ([key, type]) =>
                   `json_build_object('key', '${key}', 'value', coalesce(e.attributes #>> '{${key},value}', ''), 'type', '${type}')`
               )
               .join(", ")}),
             'draft_revision', e.draft_revision, 'pending_publish', e.pending_publish,
             'last_publish_status', e.last_publish_status,
             'created_at', ${timeOf("e.created_at")}, 'updated_at', ${timeOf("e.canonical_changed_at")}
           )::text AS row
    FROM entity e
    WHERE e.account_id = $1 AND e.kind = '${kind}' AND e.change_seq > $2
    ORDER BY e.change_seq
    LIMIT $3 + 1
  ) p`

const statements = { product: statementOf("product"), variant: statementOf("variant") }

interface Page {
  readonly rows: string | null
  readonly last: string | null
  readonly more: boolean
}

/** The JSON of a page of whole rows. */
export const readIncluded = async (pool: pg.Pool, accountId: string, kind: Kind, { cursor, limit }: Query) => {
  const {
    rows: [page]
  } = await pool.query<Page>({
    name: `included ${kind}`,
    text: statements[kind],
    values: [accountId, cursor ?? "0", limit]
  })
  return `{"data":[${page?.rows ?? ""}],"next_cursor":${page?.more === true ? `"${page.last}"` : null}}`
}
