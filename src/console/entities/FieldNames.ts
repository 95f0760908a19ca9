import type { Sentence, Words } from "../languages/Words.tsx"

/** Names of built-in fields in merchants' words. */
const names: Readonly<Record<string, Sentence>> = {
  title: "Title",
  handle: "Handle",
  description_html: "Description",
  vendor: "Vendor",
  product_type: "Type",
  tags: "Tags",
  status: "Status",
  options: "Options",
  seo_title: "Search title",
  seo_description: "Search description",
  sku: "SKU",
  barcode: "Barcode",
  price: "Price",
  compare_at_price: "Compare-at price",
  weight: "Weight",
  weight_unit: "Unit of weight",
  option1: "Option 1",
  option2: "Option 2",
  option3: "Option 3",
  taxable: "Taxable",
  requires_shipping: "Needs shipping",
  sort_order: "Order",
  alt: "Alt text",
  url: "Address",
  mime_type: "File type",
  width: "Width",
  height: "Height",
  file_size: "File size",
  file_name: "File name",
  variant_ids: "Variants",
  media_ids: "Gallery",
  members: "Products",
  // Shopify names the fields of its translations differently.
  body_html: "Description",
  meta_title: "Search title",
  meta_description: "Search description"
}

/** The name of a field. A metafield is named by the last part of its key. */
export const fieldName = (t: Words, key: string): string => {
  const known = Object.hasOwn(names, key) ? names[key] : undefined
  if (known !== undefined) return t(known)
  const words = (key.split(".").at(-1) ?? key).replaceAll(/[_-]+/g, " ").trim()
  return words === "" ? key : `${words[0]?.toUpperCase()}${words.slice(1)}`
}
