import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs"
import { type IncomingMessage, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { HttpServer } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, Schedule } from "effect"
import { Exports } from "../../src/exports/Exports.ts"
import { ExportsRepo } from "../../src/exports/ExportsRepo.ts"
import { listeningOn } from "../../src/http/BaseUrl.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { productsOnStores } from "../bench/harness/Catalog.ts"
import { csrfOf } from "../console/Merchant.ts"
import { aBrowser, addressOf, ask, Node, nodeOf } from "../oauth/PagesServer.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { query } from "../support/RunDatabases.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { layerPool, untilQuiet } from "./ServerServices.ts"

const products = amount(20_000, 100_000)

/** A browser in which a user of the account with many products is signed in, and the account's store. */
const aLargeMerchant = Effect.gen(function* () {
  const url = Redacted.value(yield* TestDatabaseUrl)
  yield* Effect.promise(() => productsOnStores(products).fill(url))
  // Without statistics PostgreSQL joins so slowly that the export ends at its deadline.
  yield* Effect.promise(() => query(url, "ANALYZE"))
  const [row] = yield* Effect.promise(() => query(url, "SELECT account_id, id FROM store ORDER BY domain LIMIT 1"))
  const accountId = AccountId.make(String(row?.account_id))
  const { cookie } = yield* aBrowser(accountId, "large@example.com")
  return { accountId, cookie, url, storeId: String(row?.id) }
})

type Merchant = Effect.Effect.Success<typeof aLargeMerchant>

interface Download {
  readonly path: string
  readonly form?: Readonly<Record<string, string>>
}

/** Starts a download and reads its first bytes only. */
const begin = (base: string, cookie: string, { form, path }: Download) =>
  Effect.async<IncomingMessage>((resume) => {
    const body = form === undefined ? undefined : `${new URLSearchParams(form)}`
    const sent = request(new URL(path, base), {
      method: body === undefined ? "GET" : "POST",
      headers: { cookie, ...(body === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }) }
    })
    sent.on("error", (error) => resume(Effect.die(error)))
    sent.on("response", (response) => {
      response.on("error", () => {})
      response.once("data", () => resume(Effect.succeed(response.pause())))
      response.once("close", () => resume(Effect.die("The download ended before its first bytes were read")))
    })
    sent.end(body)
  })

/** The sizes of the spool files that a process has open. They have no name, so they are found by its descriptors. */
const spoolSizes = (pid: number | "self") =>
  readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    const path = `/proc/${pid}/fd/${descriptor}`
    try {
      return readlinkSync(path).includes("/catalog-export-") ? [statSync(path).size] : []
    } catch {
      // It was closed meanwhile.
      return []
    }
  })

/** Open transactions of other connections. An export has one or two. */
const openTransactions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* Effect.orDie(sql<{ readonly count: number }>`
    SELECT count(*)::integer AS count FROM pg_stat_activity
    WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`)
  return row?.count ?? 0
})

/** Interrupts a download by its client. Returns the size of its spool file at the end, before it was closed. */
const interrupt = (base: string, cookie: string, download: Download) =>
  Effect.gen(function* () {
    const response = yield* begin(base, cookie, download)
    assert.strictEqual(response.statusCode, 200)
    assert.isAtLeast(yield* openTransactions, 1, "the export is being read")
    assert.lengthOf(spoolSizes("self"), 1)
    response.destroy()
    let written = 0
    yield* Effect.sync(() => {
      const sizes = spoolSizes("self")
      written = Math.max(written, ...sizes)
      return sizes.length
    }).pipe(Effect.repeat({ until: (open) => open === 0, schedule: Schedule.spaced("5 millis") }))
    yield* untilQuiet
    assert.isFalse(response.complete)
    return written
  })

const jsonl: Download = { path: "/exports/catalog.jsonl" }

/** The download that counts as a publish of the store, and the form of the page that begins it. */
const publishing = ({ cookie, storeId }: Merchant) =>
  Effect.map(ask("/stores", { cookie }), (page): Download & { readonly form: Readonly<Record<string, string>> } => ({
    path: "/exports/products.csv",
    form: { csrf: csrfOf(page), id: storeId }
  }))

/** The export jobs of the account, and the number of publishes to the store in its history. */
const recorded = ({ accountId, storeId }: Merchant) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const jobs = yield* sql`SELECT kind, title, total FROM job WHERE account_id = ${accountId} AND kind = 'export'`
    const [published] = yield* sql`
      SELECT count(*)::integer AS count FROM entity_history h
      WHERE h.account_id = ${accountId} AND h.store_id = ${storeId} AND h.action = 'published'`
    return { jobs, published: published?.count }
  }).pipe(Effect.orDie)

const nothing = { jobs: [], published: 0 }

const aJob = { kind: "export", title: "Count the export of store-1.example as published", total: products }

/** Checks that a download is complete. */
const assertComplete = ({ cookie }: Merchant) =>
  Effect.map(ask(jsonl.path, { cookie }), ({ text }) => {
    assert.isTrue(text.endsWith(`{"type":"end","entities":${products}}\n`), text.slice(-200))
    return Buffer.byteLength(text)
  })

/** The pages with all services, on a database that is provided. */
const pagesOf = <A, E, R>(node: Layer.Layer<A, E, R>) =>
  node.pipe(
    Layer.provideMerge(ServicesOnDatabase),
    Layer.provideMerge(layerPool(8)),
    Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
    Layer.orDie
  )

const Pages = Layer.provideMerge(pagesOf(Layer.provideMerge(addressOf(), nodeOf())), layerServerUrl)

/** Planted fault: exports cannot be interrupted while they read. */
const Planted = pagesOf(
  nodeOf().pipe(
    Layer.provide(
      Layer.fresh(Exports.layer).pipe(
        Layer.provide(
          Layer.effect(
            ExportsRepo,
            Effect.map(ExportsRepo, (repo) =>
              ExportsRepo.of({ ...repo, inSnapshot: (reads) => Effect.uninterruptible(repo.inSnapshot(reads)) })
            )
          )
        )
      )
    )
  )
)

describe.skipIf(!serverAnswers)("a download of an export that is interrupted", () => {
  layer(Pages, { excludeTestServices: true })((it) => {
    it.scoped(
      "by its client stops reading, keeps nothing open and counts nothing as published; the next one is complete",
      () =>
        Effect.gen(function* () {
          const base = listeningOn((yield* HttpServer.HttpServer).address)
          const merchant = yield* aLargeMerchant
          const whole = yield* assertComplete(merchant)
          const written = yield* interrupt(base, merchant.cookie, jsonl)
          assert.isBelow(written, whole / 2)

          const csv = yield* publishing(merchant)
          yield* interrupt(base, merchant.cookie, csv)
          assert.deepStrictEqual(yield* recorded(merchant), nothing)

          // Two downloads at the same time are the most: interrupted ones do not count.
          yield* Effect.all([assertComplete(merchant), assertComplete(merchant)], { concurrency: 2 })
          const file = yield* ask(csv.path, { cookie: merchant.cookie, form: csv.form })
          assert.strictEqual(file.status, 200)
          assert.deepStrictEqual((yield* recorded(merchant)).jobs, [aJob])

          const planted = yield* Effect.gen(function* () {
            return yield* interrupt(listeningOn((yield* HttpServer.HttpServer).address), merchant.cookie, jsonl)
          }).pipe(Effect.provide(Planted))
          report("Downloads interrupted", { whole, written, planted })
          // Planted fault: an export that cannot be interrupted reads the catalog to its end for nobody.
          assert.isAbove(planted, whole / 2)
        })
    )
  })

  layer(Pages, { excludeTestServices: true })((it) => {
    it.scoped(
      "by kill -9 of its process keeps nothing open and counts nothing as published; the next process makes it",
      () =>
        Effect.gen(function* () {
          const merchant = yield* aLargeMerchant
          const folder = mkdtempSync(join(tmpdir(), "downloads-"))
          yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
          const start = Effect.acquireRelease(
            Effect.promise(() =>
              serveCatalog({ DATABASE_URL: merchant.url, SECRET_KEY: "c".repeat(64), TMPDIR: folder })
            ),
            ({ stop }) => Effect.promise(() => stop("SIGKILL"))
          )
          const killed = yield* start
          const csv = yield* Effect.provideService(publishing(merchant), Node, killed.baseUrl)
          const response = yield* begin(killed.baseUrl, merchant.cookie, csv)
          assert.strictEqual(response.statusCode, 200)
          assert.lengthOf(spoolSizes(killed.pid ?? assert.fail("no process")), 1)
          yield* Effect.promise(() => killed.stop("SIGKILL"))
          yield* untilQuiet
          assert.isFalse(response.complete)
          assert.deepStrictEqual(
            readdirSync(folder).filter((name) => name.startsWith("catalog-export-")),
            []
          )
          assert.deepStrictEqual(yield* recorded(merchant), nothing)

          const next = yield* start
          const file = yield* Effect.provideService(
            ask(csv.path, { cookie: merchant.cookie, form: csv.form }),
            Node,
            next.baseUrl
          )
          assert.strictEqual(file.status, 200)
          assert.lengthOf(file.text.match(/^product-\d+,/gm) ?? [], products)
          assert.deepStrictEqual((yield* recorded(merchant)).jobs, [aJob])
        })
    )
  })
})
