import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { PGlite } from "@electric-sql/pglite"
import { Context, Effect, Layer, Option, Random, Redacted } from "effect"
import pg from "pg"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"

/** Any database of the server that tests may use; each suite makes its own beside it. */
const serverUrl = process.env.TEST_DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/test"

/** The url of the suite's own database, for a second pool or process on it. */
export class TestDatabaseUrl extends Context.Tag("test/TestDatabaseUrl")<TestDatabaseUrl, Redacted.Redacted>() {}

const administer = async (statement: string) => {
  const client = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 1_000 })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** For `describe.skipIf(!serverAnswers)`. */
export const serverAnswers: boolean = await administer("SELECT 1").then(
  () => true,
  () => false
)

/** A fresh, empty database on the server; dropped with the scope. */
export const layerServerUrl: Layer.Layer<TestDatabaseUrl> = Layer.scoped(
  TestDatabaseUrl,
  Effect.gen(function* () {
    const suffix = (yield* Random.nextIntBetween(0, 2 ** 40)).toString(36)
    const name = `catalog_test_${suffix}`
    yield* Effect.acquireRelease(
      Effect.promise(() => administer(`CREATE DATABASE ${name}`)),
      () => Effect.promise(() => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    )
    const url = new URL(serverUrl)
    url.pathname = `/${name}`
    return Redacted.make(url.href)
  })
)

/** A fresh database on the server, without the schema. */
export const layerServerEmpty: Layer.Layer<
  Database.Database | TestDatabaseUrl,
  Database.DatabaseUnreachable | Database.DatabaseTooOld
> = Layer.unwrapEffect(Effect.map(TestDatabaseUrl, (url) => Database.layerServer({ url }))).pipe(
  Layer.provideMerge(layerServerUrl)
)

/** A fresh database on the server, with the schema. */
export const layerServer = Migrations.layer.pipe(Layer.provideMerge(layerServerEmpty))

/** An empty data directory, made once for all suites: opening it takes a third of the time of making one. */
const image = Effect.promise(async () => {
  const { version } = JSON.parse(readFileSync("node_modules/@electric-sql/pglite/package.json", "utf8"))
  const file = `node_modules/.cache/embedded-${version}.tar`
  if (!existsSync(file)) {
    const lite = await PGlite.create()
    const dump = await lite.dumpDataDir("none")
    await lite.close()
    mkdirSync("node_modules/.cache", { recursive: true })
    // Suites start together: each sees the whole file, or none.
    writeFileSync(`${file}.${process.pid}`, Buffer.from(await dump.arrayBuffer()))
    renameSync(`${file}.${process.pid}`, file)
  }
  return new Blob([readFileSync(file)])
})

/** The embedded engine in memory, without the schema. */
export const layerEmbeddedEmpty: Layer.Layer<Database.Database, Database.DatabaseUnreachable> = Layer.unwrapEffect(
  Effect.map(image, (blob) => Database.layerEmbeddedMemoryFrom(Option.some(blob)))
)

/** The embedded engine in memory, with the schema. */
export const layerEmbedded = Migrations.layer.pipe(Layer.provideMerge(layerEmbeddedEmpty))

/** For suites that run on both: `layer` has the schema, `empty` has not. */
export const engines = [
  { name: "embedded", absent: false, layer: layerEmbedded, empty: layerEmbeddedEmpty },
  { name: "server", absent: !serverAnswers, layer: layerServer, empty: layerServerEmpty }
] as const
