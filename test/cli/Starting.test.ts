import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { request } from "undici"
import { openClient } from "../faults/Stalls.ts"
import { catalogProcess, serveCatalog } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { layerServer, layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

/** The message with which PostgreSQL refuses a connection. */
const refusal = (code: string, text: string) => {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${text}\0\0`
  const message = Buffer.alloc(5 + fields.length)
  message.write("E")
  message.writeInt32BE(4 + fields.length, 1)
  message.write(fields, 5)
  return message
}

/**
 * A server whose port is known before it listens. It refuses connections as a starting PostgreSQL does, then forwards
 * them to the suite's database.
 */
const aStartingServer = Effect.gen(function* () {
  const target = new URL(Redacted.value(yield* TestDatabaseUrl))
  const port = yield* Effect.promise(freePort)
  let refusals = 0
  const server = createServer((near) => {
    near.on("error", () => {})
    if (refusals < 2) {
      refusals++
      near.once("data", () => near.end(refusal("57P03", "the database system is starting up")))
      return
    }
    const far = connect(Number(target.port || 5432), target.hostname)
    far.on("error", () => near.destroy())
    near.on("close", () => far.destroy())
    near.pipe(far)
    far.pipe(near)
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  const url = new URL(target)
  url.hostname = "127.0.0.1"
  url.port = String(port)
  return { url: url.href, listen: Effect.promise(() => once(server.listen(port, "127.0.0.1"), "listening")) }
})

describe.skipIf(!serverAnswers)("a start", () => {
  layer(layerServerUrlEmpty, { excludeTestServices: true })("before the database server", (it) => {
    it.scoped("waits for a database server that starts, and logs the wait", () =>
      Effect.gen(function* () {
        const { listen, url } = yield* aStartingServer
        const seen: Array<{ readonly stderr: string }> = []
        const begun = serveCatalog({ DATABASE_URL: url, LOG_FORMAT: "logfmt" }, (output) => seen.push(output))
        // The server starts to listen only after the service's first connection was refused.
        yield* Effect.promise(async () => {
          while (seen[0]?.stderr.includes("ECONNREFUSED") !== true) await sleep(20)
        })
        yield* listen
        const { baseUrl, output, stop } = yield* Effect.acquireRelease(
          Effect.promise(() => begun),
          (server) => Effect.promise(() => server.stop("SIGKILL"))
        )
        const { statusCode } = yield* Effect.promise(() => request(`${baseUrl}/readyz`))
        assert.strictEqual(statusCode, 200)
        assert.match(output.stderr, /level=WARN .*ECONNREFUSED.*; trying again for up to 1m in all/)
        assert.match(output.stderr, /level=WARN .*the database system is starting up; trying again/)
        assert.strictEqual(yield* Effect.promise(() => stop()), 0)
      })
    )

    it.scoped("fails at once if waiting cannot help", () =>
      Effect.gen(function* () {
        const url = new URL(Redacted.value(yield* TestDatabaseUrl))
        url.pathname = "/absent_database"
        const absent = yield* Effect.promise(() => catalogProcess(["serve"], { DATABASE_URL: url.href, PORT: "0" }))
        assert.strictEqual(absent.code, 1)
        assert.match(
          absent.stderr,
          /^DATABASE_URL: Cannot reach the database absent_database at \S+: database "absent_database" does not exist\n$/
        )
      })
    )

    it.scoped("fails at once with a wrong password", () =>
      Effect.gen(function* () {
        const server = createServer((near) => {
          near.on("error", () => {})
          near.once("data", () => near.end(refusal("28P01", 'password authentication failed for user "someone"')))
        })
        yield* Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening"))
        yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
        const { port } = server.address() as AddressInfo
        const wrong = yield* Effect.promise(() =>
          catalogProcess(["serve"], { DATABASE_URL: `postgres://someone:secret@127.0.0.1:${port}/some`, PORT: "0" })
        )
        assert.strictEqual(wrong.code, 1)
        assert.strictEqual(
          wrong.stderr,
          `DATABASE_URL: Cannot reach the database some at 127.0.0.1:${port}: password authentication failed for user "someone"\n`
        )
      })
    )

    it.scoped("gives up when the server does not start in time", () =>
      Effect.gen(function* () {
        const { url } = yield* aStartingServer
        const { code, stderr } = yield* Effect.promise(() =>
          catalogProcess(["serve"], { DATABASE_URL: url, PORT: "0", START_TIMEOUT_S: "1", LOG_FORMAT: "logfmt" })
        )
        assert.strictEqual(code, 1)
        assert.match(stderr, /\nDATABASE_URL: Cannot reach the database \S+ at \S+: connect ECONNREFUSED \S+\n$/)
      })
    )
  })

  layer(layerServer, { excludeTestServices: true })("after a newer version of the service", (it) => {
    it.scoped("is not ready if the schema is newer, and reports it", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const client = yield* openClient(url)
        const { baseUrl, output } = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog({ DATABASE_URL: url, LOG_FORMAT: "logfmt" })),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        const ready = Effect.promise(async () => {
          const { body, statusCode } = await request(`${baseUrl}/readyz`)
          return { statusCode, text: await body.text() }
        })
        assert.deepStrictEqual(yield* ready, { statusCode: 200, text: '{"status":"ready"}' })
        yield* Effect.promise(() =>
          client.query("INSERT INTO catalog_migration (migration_id, name) VALUES (9999, 'of_tomorrow')")
        )
        const reason =
          "The database schema is newer than this version of the service (9999_of_tomorrow): run the version that created it."
        for (let times = 0; times < 2; times++) {
          const { statusCode, text } = yield* ready
          assert.strictEqual(statusCode, 503)
          const { error } = JSON.parse(text)
          assert.deepStrictEqual([error.code, error.message], ["unavailable", reason])
        }
        assert.lengthOf(output.stderr.split(`Not ready: ${reason}`), 2)

        const second = yield* Effect.acquireRelease(
          Effect.promise(() => serveCatalog({ DATABASE_URL: url, LOG_FORMAT: "logfmt" })),
          ({ stop }) => Effect.promise(() => stop("SIGKILL"))
        )
        const until = (line: string, { output }: Pick<typeof second, "output">) =>
          Effect.promise(async () => {
            while (!output.stderr.includes(line)) await sleep(20)
          })
        yield* until(`No background work in this process: ${reason}`, second)
        yield* until(`No background work in this process: ${reason}`, { output })
      })
    )
  })
})
