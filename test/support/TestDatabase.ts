import { readFileSync } from "node:fs"
import { Context, Effect, Layer, Option, Random, Redacted } from "effect"
import pg from "pg"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { emptyImage, schemaHash, schemaImage } from "./SchemaImages.ts"

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

const urlOf = (name: string) => {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return Redacted.make(url.href)
}

const migrated = (url: Redacted.Redacted) =>
  Effect.scoped(Layer.build(Migrations.layer.pipe(Layer.provide(Database.layerServer({ url, maxConnections: 1 })))))

const template = `catalog_template_${schemaHash}`

/** Any number that nothing else in the database of `serverUrl` locks. */
const templateLock = 7_102_026

/**
 * Creates a database as a copy of the template database, which has the schema. The first caller creates the template
 * and drops the templates of other schemas; callers that find it share the lock, so that nobody drops it meanwhile.
 */
const createWithSchema = async (name: string) => {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  const copy = async () => {
    const { rows } = await client.query("SELECT FROM pg_database WHERE datname = $1", [template])
    // The strategy writes the copy to the log; the other one, FILE_COPY, forces two checkpoints, and takes 0.7 s instead of 0.1 s.
    if (rows.length > 0) await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY WAL_LOG`)
    return rows.length > 0
  }
  const createTemplate = async () => {
    const others = await client.query("SELECT datname FROM pg_database WHERE datname LIKE 'catalog\\_template\\_%'")
    for (const { datname } of others.rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`)
    const unfinished = `${template}_unfinished`
    await client.query(`CREATE DATABASE ${unfinished}`)
    await Effect.runPromise(migrated(urlOf(unfinished)))
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`)
  }
  try {
    await client.query("SELECT pg_advisory_lock_shared($1)", [templateLock])
    if (await copy()) return
    await client.query("SELECT pg_advisory_unlock_shared($1)", [templateLock])
    await client.query("SELECT pg_advisory_lock($1)", [templateLock])
    if (await copy()) return
    await createTemplate()
    await copy()
  } finally {
    await client.end()
  }
}

/** A database on the server that `create` creates under the name it is given; dropped with the scope. */
const layerCreated = (create: (name: string) => Promise<unknown>): Layer.Layer<TestDatabaseUrl> =>
  Layer.scoped(
    TestDatabaseUrl,
    Effect.gen(function* () {
      const suffix = (yield* Random.nextIntBetween(0, 2 ** 40)).toString(36)
      const name = `catalog_test_${suffix}`
      yield* Effect.acquireRelease(
        Effect.promise(() => create(name)),
        () => Effect.promise(() => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
      )
      return urlOf(name)
    })
  )

/** A fresh database on the server, without the schema: for suites about migrations or about several installations. */
export const layerServerUrlEmpty = layerCreated((name) => administer(`CREATE DATABASE ${name}`))

/** A fresh database on the server, with the schema. */
export const layerServerUrl = layerCreated(createWithSchema)

/**
 * Commits of the database do not wait for the disk: one takes 0.2 ms instead of 4 ms. Suites of races and crashes keep
 * the wait, so `layerServerUrl` does without this.
 */
const WithoutSync = Layer.effectDiscard(
  Effect.flatMap(TestDatabaseUrl, (url) => {
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    return Effect.promise(() => administer(`ALTER DATABASE ${name} SET synchronous_commit = off`))
  })
)

const onServer = Layer.unwrapEffect(Effect.map(TestDatabaseUrl, (url) => Database.layerServer({ url })))

/** A fresh database on the server, without the schema. */
export const layerServerEmpty = Layer.provideMerge(onServer, layerServerUrlEmpty)

/** A fresh database on the server, with the schema. */
export const layerServer = onServer.pipe(Layer.provide(WithoutSync), Layer.provideMerge(layerServerUrl))

const embeddedFrom = (image: string) =>
  Layer.unwrapEffect(Effect.sync(() => Database.layerEmbeddedMemoryFrom(Option.some(new Blob([readFileSync(image)])))))

/** The embedded engine in memory, without the schema. */
export const layerEmbeddedEmpty = embeddedFrom(emptyImage)

/** The embedded engine in memory, with the schema. */
export const layerEmbedded = embeddedFrom(schemaImage)

/** For suites that run on both: `layer` has the schema, `empty` has not. */
export const engines = [
  { name: "embedded", absent: false, layer: layerEmbedded, empty: layerEmbeddedEmpty },
  { name: "server", absent: !serverAnswers, layer: layerServer, empty: layerServerEmpty }
] as const
