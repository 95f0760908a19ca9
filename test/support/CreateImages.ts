import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { emptyImage, schemaImage } from "./SchemaImages.ts"

const write = async (lite: PGlite, file: string) => {
  // The start fills the shared buffers, which takes a fifth of its processor time with the 128 MB of the default.
  await lite.exec("ALTER SYSTEM SET shared_buffers = '8MB'")
  const dump = await lite.dumpDataDir("none")
  await lite.close()
  // Another run may read the file at the same time: it must see the complete file, or none.
  writeFileSync(`${file}.${process.pid}`, Buffer.from(await dump.arrayBuffer()))
  renameSync(`${file}.${process.pid}`, file)
}

/** Writes the images of PGlite's data directory, without and with the schema. Deletes older images. */
export const createImages = async () => {
  const cache = dirname(schemaImage)
  mkdirSync(cache, { recursive: true })
  for (const name of readdirSync(cache)) if (/^embedded-.*\.tar$/.test(name)) rmSync(join(cache, name))
  await write(await PGlite.create(), emptyImage)
  const dataDirectory = mkdtempSync(join(tmpdir(), "catalog-image-"))
  const migrated = Layer.build(Migrations.layer.pipe(Layer.provide(Database.layerEmbedded({ dataDirectory }))))
  await Effect.runPromise(Effect.scoped(migrated))
  await write(await PGlite.create(`${dataDirectory}/pgdata`), schemaImage)
  rmSync(dataDirectory, { recursive: true })
}
