import { once } from "node:events"
import { createWriteStream } from "node:fs"
import { finished } from "node:stream/promises"

export const variantsOf = 3

const header =
  "Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Option1 Name,Option1 Value,Variant SKU,Variant Grams,Variant Price,Variant Requires Shipping,Variant Taxable,Variant Barcode,Image Src,Image Position,Image Alt Text,SEO Title,Status"

const vendors = ["Kestrel", "Tarn", "Fjell", "Brèche", "Sörgel", "Ödland", "Corrie"]
const types = ["Backpack", "Tent", "Lantern", "Bottle", "Jacket"]
const sizes = ["Small", "Medium", "Large"]

const linesOf = (n: number): string => {
  const vendor = vendors[n % vendors.length] ?? ""
  const type = types[n % types.length] ?? ""
  const title = `${vendor} ${type} ${n}`
  const variant = (index: number) => `${sizes[index]},SKU-${n}-${index},${100 + n},${10 + (n % 90)}.50,true,true,`
  const handle = `product-${n}`
  const first = `${handle},${title},"<p>${`${title}, made to last. `.repeat(8)}</p>",${vendor},${type},"new, outdoor",true,Size,${variant(0)},https://cdn.example/${n}.jpg,1,${title},${title},active`
  const rest = Array.from({ length: variantsOf - 1 }, (_, index) => `${handle},,,,,,,,${variant(index + 1)},,,,,`)
  return [first, ...rest].join("\n")
}

/** Writes a Shopify product export. Each product has three variants, one image and about 900 bytes. */
export const writeExport = async (path: string, products: number): Promise<void> => {
  const file = createWriteStream(path)
  file.write(`${header}\n`)
  for (let n = 1; n <= products; n++) if (!file.write(`${linesOf(n)}\n`)) await once(file, "drain")
  file.end()
  await finished(file)
}
