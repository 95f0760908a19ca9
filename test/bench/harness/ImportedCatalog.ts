import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BenchCatalog, catalog, openFilled } from "./Catalog.ts"
import { variantsOf, writeExport } from "./Export.ts"

/** Raise it when the fill changes. */
const fillVersion = 1

/** The number of entities of a product: itself, its variants and its image. */
export const entitiesOf = 1 + variantsOf + 1

export const storeDomain = "store.example"

/** A database of products with variants and an image each, imported from a file into one store. */
export const openImported = (database: string, products: number): Promise<BenchCatalog> => {
  const account = `Benchmark of ${products} imported products, fill ${fillVersion}`
  return openFilled(database, {
    account,
    products,
    versions: products * entitiesOf,
    fill: async (url) => {
      const folder = mkdtempSync(join(tmpdir(), "bench-import-"))
      try {
        const file = join(folder, "products.csv")
        await writeExport(file, products)
        await catalog(url, "account", "create", "--name", account)
        await catalog(url, "store", "link", storeDomain)
        await catalog(url, "import", "csv", file, "--store", storeDomain, "--accept")
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  })
}
