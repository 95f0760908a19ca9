import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { buildClientSchema, type GraphQLSchema } from "graphql"

/**
 * The only package in which Shopify publishes the introspection of its Admin API. As a dependency it would add 366 MB.
 */
const packageName = "@shopify/dev-mcp"
const packageVersion = "1.16.0"
const packageSha512 = "tqgRnK7sQhjew+htxtleTH23nXB5fZcsrhWgEkomsorGXvLOB2mh2upwZm8uzuTDNTZnqtLMe64yIwh6s2awtw=="
const member = "package/dist/data/admin_2026-07.json.gz"

const folder = "node_modules/.cache"
const file = `${folder}/shopify-admin-2026-07-${packageVersion}.json.gz`

const fetchSchema = () => {
  const place = mkdtempSync(join(tmpdir(), "catalog-schema-"))
  try {
    execFileSync("npm", ["pack", `${packageName}@${packageVersion}`, "--silent", "--pack-destination", place], {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: 60_000
    })
    const archive = join(place, `shopify-dev-mcp-${packageVersion}.tgz`)
    const checksum = createHash("sha512").update(readFileSync(archive)).digest("base64")
    if (checksum !== packageSha512)
      throw new Error(`${packageName}@${packageVersion} is not the package it was: sha512-${checksum}`)
    execFileSync("tar", ["-xzf", archive, "-C", place, member])
    mkdirSync(folder, { recursive: true })
    // Test files run at the same time: each must see the complete file, or none.
    writeFileSync(`${file}.${process.pid}`, readFileSync(join(place, member)))
    renameSync(`${file}.${process.pid}`, file)
  } finally {
    rmSync(place, { recursive: true })
  }
}

const load = (): GraphQLSchema => {
  if (!existsSync(file)) fetchSchema()
  return buildClientSchema(JSON.parse(gunzipSync(readFileSync(file)).toString()).data)
}

const attempt = (): GraphQLSchema | undefined => {
  try {
    return load()
  } catch (error) {
    if (String(error).includes("is not the package it was")) throw error
    console.warn(`SKIPPED: Shopify's introspection cannot be fetched, so nothing is held against it: ${String(error)}`)
    return undefined
  }
}

/** Shopify's Admin API 2026-07; undefined if it is not installed and the registry cannot be reached. */
export const adminSchema: GraphQLSchema | undefined = attempt()
