import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** A hash of the migrations, which is in the names of databases and images with this schema. */
export const schemaHash: string = readdirSync(`${root}migrations`)
  .sort()
  .reduce((hash, name) => hash.update(name).update(readFileSync(`${root}migrations/${name}`)), createHash("sha256"))
  .digest("hex")
  .slice(0, 12)

const { version } = JSON.parse(readFileSync(`${root}node_modules/@electric-sql/pglite/package.json`, "utf8"))

const cache = `${root}node_modules/.cache`

/** Images of PGlite's data directory with few shared buffers. Loading one is much faster than initdb and the migrations. */
export const emptyImage = `${cache}/embedded-${version}-8mb.tar`
export const schemaImage = `${cache}/embedded-${version}-8mb-${schemaHash}.tar`
