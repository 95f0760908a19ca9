import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { createConnection, createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { FileSystem } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { AccountDeletion } from "../../src/access/AccountDeletion.ts"
import { Accounts } from "../../src/access/Accounts.ts"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { Users } from "../../src/access/Users.ts"
import { AdminClient } from "../../src/admin/AdminClient.ts"
import * as AdminInProcess from "../../src/admin/AdminInProcess.ts"
import * as AdminServer from "../../src/admin/AdminServer.ts"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { Catalog } from "../../src/catalog/Catalog.ts"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { Activity } from "../../src/connections/Activity.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { Undo } from "../../src/connections/Undo.ts"
import * as EmbeddedLock from "../../src/database/EmbeddedLock.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { Demo } from "../../src/demo/Demo.ts"
import { DemoEdits } from "../../src/demo/DemoEdits.ts"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Drafts } from "../../src/drafts/Drafts.ts"
import { OwnDefinitions } from "../../src/drafts/MetafieldDefinitions.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { ExportJobs } from "../../src/exports/ExportJobs.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { DataHealth } from "../../src/health/DataHealth.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import { layerOf } from "../../src/platform/PlatformRegistry.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { SalesChannels } from "../../src/storedata/SalesChannels.ts"
import { StoreData } from "../../src/storedata/StoreData.ts"
import { SecretBox } from "../../src/stores/SecretBox.ts"
import { StoreRecords } from "../../src/stores/StoreRecords.ts"
import { Stores } from "../../src/stores/Stores.ts"
import { Webhooks } from "../../src/webhooks/Webhooks.ts"
import { layerEmbedded } from "../support/TestDatabase.ts"
import { AdminServices } from "./AdminServices.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-admin-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** Holds the directory's lock and accepts commands until the scope closes. */
const serve = (directory: string, services: Layer.Layer<AdminServer.CommandServices> = AdminServices) =>
  Effect.zipRight(
    EmbeddedLock.acquire(directory),
    Layer.build(AdminServer.layer(directory).pipe(Layer.provide(services)))
  )

/** Services of which only the accounts are used. */
const servicesWith = (accounts: Layer.Layer<Accounts>) =>
  Layer.mergeAll(
    accounts,
    Layer.orDie(layerEmbedded),
    Layer.mock(AccountDeletion, {}),
    Layer.mock(SecondFactorsRepo, {}),
    Layer.mock(SecretBox, {}),
    Layer.mock(Jobs, {}),
    layerOf<never>([]),
    Layer.mock(Webhooks, {}),
    Layer.mock(JobWorker, {}),
    Layer.mock(ApiKeys, {}),
    Layer.mock(Activity, {}),
    Layer.mock(Catalog, {}),
    Layer.mock(Connections, {}),
    Layer.mock(DataHealth, {}),
    Layer.mock(OwnDefinitions, {}),
    Layer.mock(StoreData, {}),
    Layer.mock(Demo, { create: Effect.never }),
    Layer.mock(DemoEdits, {}),
    Layer.mock(SalesChannels, {}),
    Layer.mock(StoreRecords, {}),
    Layer.mock(DemoFailures, {}),
    Layer.mock(BulkJobs, {}),
    Layer.mock(Drafts, {}),
    Layer.mock(Drops, {}),
    Layer.mock(Exports, {}),
    Layer.mock(ExportJobs, {}),
    Layer.mock(Imports, {}),
    Layer.mock(MerchantLists, {}),
    Layer.mock(Publishing, {}),
    Layer.mock(PublishJobs, {}),
    Layer.mock(Stores, {}),
    Layer.mock(Transaction, {}),
    Layer.mock(Undo, {}),
    Layer.mock(Users, {})
  )

const record = (directory: string) => JSON.parse(readFileSync(EmbeddedLock.lockPath(directory), "utf8"))

const speak = <A, E, R>(path: string, command: Effect.Effect<A, E, R>, patience?: Duration.Duration) =>
  Effect.provide(command, AdminClient.layerSocket(path, patience))

const createAccount = (name: string) => Effect.flatMap(AdminClient, (admin) => admin.createAccount({ name }))
const listAccounts = Effect.flatMap(AdminClient, (admin) => admin.listAccounts())

const test = (name: string, self: () => Effect.Effect<void, unknown, Scope.Scope | FileSystem.FileSystem>) =>
  it.scopedLive(name, () => Effect.provide(self(), NodeFileSystem.layer))

describe("the socket of a server", () => {
  test("belongs to its user only, is named in the lock file, and is removed with the server", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporary, "data")
      const path = join(directory, "admin.sock")
      const mask = process.umask()
      yield* EmbeddedLock.acquire(directory)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Layer.build(AdminServer.layer(directory).pipe(Layer.provide(AdminServices)))
          assert.isTrue(statSync(path).isSocket())
          assert.strictEqual(statSync(path).mode & 0o777, 0o600)
          assert.strictEqual(statSync(EmbeddedLock.lockPath(directory)).mode & 0o777, 0o600)
          assert.strictEqual(record(directory).socket, path)
        })
      )
      assert.strictEqual(process.umask(), mask)
      assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
      assert.notProperty(record(directory), "socket")
    }))

  test("is in a temporary directory if the data directory's path is long", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporary, "手".repeat(30))
      const folder = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* serve(directory)
          const { socket } = record(directory)
          assert.isAtMost(Buffer.byteLength(socket), 100)
          assert.strictEqual(statSync(dirname(socket)).mode & 0o777, 0o700)
          assert.strictEqual(statSync(socket).mode & 0o777, 0o600)
          assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
          yield* speak(socket, createAccount("A"))
          return dirname(socket)
        })
      )
      assert.isFalse(existsSync(folder))
    }))

  test("replaces the socket of a killed process", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const path = join(directory, "admin.sock")
      yield* Effect.promise(async () => {
        const listening = `require("net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`
        const child = spawn(process.execPath, ["-e", listening], { stdio: ["ignore", "pipe", "inherit"] })
        await once(child.stdout, "data")
        child.kill("SIGKILL")
        await once(child, "exit")
      })
      assert.isTrue(statSync(path).isSocket())
      assert.strictEqual((yield* Effect.flip(speak(path, listAccounts)))._tag, "NoAnswer")
      yield* serve(directory)
      yield* speak(path, createAccount("A"))
    }))

  test("serves clients concurrently, and survives malformed input", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const path = join(directory, "admin.sock")
      yield* serve(directory)
      for (const nonsense of ["\0\u00ff\n{}", "nonsense\n", `${"x".repeat(100_000)}`])
        yield* Effect.promise(async () => {
          const client = createConnection(path)
          client.end(nonsense).resume()
          await once(client, "close")
        })
      const names = Array.from({ length: 10 }, (_, index) => `Account ${index}`)
      yield* Effect.forEach(names, (name) => speak(path, createAccount(name)), { concurrency: "unbounded" })
      const listed = yield* speak(path, listAccounts)
      assert.sameMembers(
        listed.map(({ name }) => name),
        names
      )
    }))

  test("does not keep the process alive while a client is connected", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const scope = yield* Scope.make()
      yield* Scope.extend(serve(directory), scope)
      const idle = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const client = createConnection(join(directory, "admin.sock"))
          await once(client, "connect")
          return client
        }),
        (client) => Effect.sync(() => client.destroy())
      )
      // The client disconnects only afterwards: a close that waited for it would never end.
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(readdirSync(directory), [])
      idle.destroy()
    }))

  test("fails a running command with a clear error when the server ends", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const scope = yield* Scope.make()
      const isRunning = yield* Deferred.make<void>()
      const never = Layer.mock(Accounts, {
        list: Effect.zipRight(Deferred.succeed(isRunning, undefined), Effect.never)
      })
      yield* Scope.extend(serve(directory, servicesWith(never)), scope)
      const command = yield* Effect.fork(Effect.exit(speak(join(directory, "admin.sock"), listAccounts)))
      yield* Deferred.await(isRunning)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(command)))
    }))

  test("reports a defect by its message, without a stack", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const failing = Layer.mock(Accounts, { list: Effect.die(new Unavailable()) })
      yield* serve(directory, servicesWith(failing))
      const defect = yield* speak(join(directory, "admin.sock"), listAccounts).pipe(
        Effect.as(new Error("no defect")),
        Effect.catchAllDefect((defect) => Effect.succeed(defect as Error))
      )
      assert.strictEqual(defect.message, new Unavailable().message)
      assert.notInclude(defect.stack ?? "", directory)
    }))

  test("is optional: the service runs without it", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* EmbeddedLock.acquire(directory)
      // A folder has the socket's name.
      mkdirSync(join(directory, "admin.sock"))
      yield* Layer.build(AdminServer.layer(directory).pipe(Layer.provide(AdminServices)))
      assert.notProperty(record(directory), "socket")
    }))
})

describe("AdminClient.layer", () => {
  /** Runs commands in this process, which first takes the embedded database's lock, as opening the database does. */
  const inProcess = (directory: string) =>
    AdminInProcess.layer.pipe(
      Layer.provide(AdminServices),
      Layer.provide(Layer.scopedDiscard(EmbeddedLock.acquire(directory))),
      Layer.provide(NodeFileSystem.layer)
    )

  const patience = Duration.millis(800)

  /** A wait that is longer than the test, even on a slow machine. */
  const long = Duration.minutes(10)

  const open = <A, E, R>(directory: string, command: Effect.Effect<A, E, R>) =>
    Effect.provide(command, AdminClient.layer(inProcess(directory), patience))

  /** Creates the account A. Returns when the database was found in use once, while the command goes on trying. */
  const waiting = (directory: string) =>
    Effect.gen(function* () {
      const isRefused = yield* Deferred.make<void>()
      const watched = Layer.tapError(inProcess(directory), () => Deferred.succeed(isRefused, undefined))
      const command = yield* Effect.fork(Effect.provide(createAccount("A"), AdminClient.layer(watched, long)))
      yield* Deferred.await(isRefused)
      return command
    })

  const refused = (directory: string, isSilent = false) =>
    Effect.gen(function* () {
      const [duration, error] = yield* Effect.timed(Effect.flip(open(directory, listAccounts)))
      assert.deepInclude(error, { _tag: "DatabaseInUse", pid: process.pid })
      assert.strictEqual(
        error instanceof Error ? error.message : "",
        isSilent
          ? `Process ${process.pid}, which holds the database in ${directory}, does not answer. It may be busy: try again, or stop it.`
          : `The database in ${directory} is in use by process ${process.pid}: stop that process, or choose another DATA_DIR.`
      )
      return Duration.toMillis(duration)
    })

  test("uses this process if no process holds the database", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      assert.deepStrictEqual(yield* open(directory, listAccounts), [])
      assert.deepStrictEqual(readdirSync(directory), [])
    }))

  test("uses the process that holds the database", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* serve(directory)
      yield* open(directory, createAccount("A"))
      assert.deepStrictEqual(
        (yield* open(directory, listAccounts)).map(({ name }) => name),
        ["A"]
      )
    }))

  test("waits for the holder's socket, then fails with its pid", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* EmbeddedLock.acquire(directory)
      assert.isAtLeast(yield* refused(directory), Duration.toMillis(patience) - 200)
    }))

  test("uses a holder whose socket appears during the wait", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* EmbeddedLock.acquire(directory)
      const command = yield* waiting(directory)
      yield* Layer.build(AdminServer.layer(directory).pipe(Layer.provide(AdminServices)))
      assert.strictEqual((yield* Fiber.join(command)).name, "A")
    }))

  test("uses this process if the holder ends during the wait", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const scope = yield* Scope.make()
      yield* Scope.extend(EmbeddedLock.acquire(directory), scope)
      const command = yield* waiting(directory)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(command)).name, "A")
    }))

  for (const [name, answers] of [
    ["refuses", false],
    ["never answers", true]
  ] as const)
    test(`fails with the pid of a holder whose socket ${name}`, () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const path = join(directory, "other.sock")
        yield* EmbeddedLock.acquire(directory)
        yield* EmbeddedLock.announce(directory, path)
        if (answers)
          yield* Effect.acquireRelease(
            Effect.promise(async () => {
              const server = createServer((client) => client.resume().on("error", () => undefined))
              await once(server.listen(path), "listening")
              return server
            }),
            (server) => Effect.sync(() => server.close())
          )
        yield* refused(directory, true)
      }))

  test("does not retry other failures", () =>
    Effect.gen(function* () {
      let tries = 0
      const failing = Layer.unwrapEffect(
        Effect.sync(() => {
          tries += 1
          return Layer.fail("broken" as const)
        })
      )
      const error = yield* Effect.flip(Effect.provide(listAccounts, AdminClient.layer(failing, Duration.seconds(1))))
      assert.strictEqual(error, "broken")
      assert.strictEqual(tries, 1)
    }))
})
