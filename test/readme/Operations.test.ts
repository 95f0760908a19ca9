import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { SqlClient } from "@effect/sql"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Database from "../../src/database/Database.ts"
import { names as migrations } from "../../src/database/Migrations.ts"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import { bashArguments, catalog, environment } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { query } from "../support/RunDatabases.ts"
import { layerServerUrl, layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { isLong } from "../support/Volume.ts"
import {
  blocksOf,
  commandsOf,
  inlineRun,
  notRun,
  operationsPage,
  runElsewhere,
  sectionsRun,
  unknownCommands
} from "./OperationsCommands.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** A database of the test's own on the service's server. */
const databaseFrom = (created: Layer.Layer<TestDatabaseUrl>) =>
  Effect.map(Layer.build(Layer.fresh(created)), (context) => Redacted.value(Context.get(context, TestDatabaseUrl)))

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-operations-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const [oldKey, newKey] = ["ab".repeat(32), "cd".repeat(32)] as const
const token = "shpat_0123456789abcdef0123456789abcdef"

const withKey = (key: string) =>
  Layer.fresh(
    SecretBox.layer.pipe(Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make(key) })))
  )

const on = (url: Redacted.Redacted) => Layer.fresh(Database.layerServer({ url, maxConnections: 1 }))

/** An account with a store whose token is encrypted with the old key. */
const anAccountOn = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const created = yield* catalog(["account", "create", "--name", "Kept", "--json"], {
      DATABASE_URL: Redacted.value(url)
    })
    const accountId = AccountId.make(JSON.parse(created.stdout).account_id)
    const storeId = StoreId.make(crypto.randomUUID())
    const sealed = yield* Effect.provide(
      Effect.flatMap(SecretBox, (box) => box.seal(Redacted.make(token), { accountId, storeId })),
      withKey(oldKey)
    )
    yield* Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`
        INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency, credential)
        VALUES (${accountId}, ${storeId}, ${`${storeId}.myshopify.com`}, 'Shop', 'shopify', 'en', '{en}', 'EUR',
                ${Buffer.from(sealed)})`
    ).pipe(Effect.provide(on(url)))
    return { accountId, storeId }
  })

/** The token of a store, read by a process with only this key. */
const tokenOn = (
  url: Redacted.Redacted,
  key: string,
  owner: { readonly accountId: AccountId; readonly storeId: StoreId }
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly credential: Uint8Array }>`
      SELECT credential FROM store WHERE account_id = ${owner.accountId} AND id = ${owner.storeId}`
    return Redacted.value(yield* (yield* SecretBox).open(row?.credential ?? new Uint8Array(), owner))
  }).pipe(Effect.provide(Layer.mergeAll(on(url), withKey(key))))

/** Runs commands, as a script that ends at the first failure. */
const shell = (commands: ReadonlyArray<string>, env: Readonly<Record<string, string>>, cwd = root) =>
  Effect.promise(() => promisify(execFile)("bash", bashArguments(commands.join("\n")), { cwd, env: environment(env) }))

/** A folder with what a deployment consists of. Its packages are those of this checkout. */
const aBuild = Effect.map(temporary, (folder) => {
  for (const name of ["dist", "migrations", "docs", "ops", "package.json"])
    cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
  return folder
})

/** Starts the service by this command, which listens at `PORT`. It must be ready, and stop well when the test ends. */
const served = (command: string, env: Readonly<Record<string, string>>, cwd: string, isReady = true) =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const baseUrl = `http://127.0.0.1:${port}`
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const started = spawn("bash", bashArguments(command), {
          cwd,
          env: environment({ ...env, PORT: String(port), DRAIN_DELAY: "0" }),
          stdio: ["ignore", "pipe", "pipe"]
        })
        let output = ""
        for (const stream of [started.stdout, started.stderr])
          stream.setEncoding("utf8").on("data", (text: string) => {
            output += text
          })
        return { started, output: () => output, ended: once(started, "close") }
      }),
      ({ ended, output, started }) =>
        Effect.promise(async () => {
          started.kill("SIGTERM")
          const [code] = await ended
          assert.strictEqual(code, 0, output())
        })
    )
    const ready = Effect.promise(async () => {
      for (;;) {
        if (child.started.exitCode !== null) throw new Error(`The service ended: ${child.output()}`)
        try {
          const { status } = await fetch(`${baseUrl}/healthz`)
          if (status === 200) break
        } catch {
          // It does not listen yet.
        }
        await sleep(100)
      }
    })
    yield* ready
    if (isReady) assert.deepStrictEqual(yield* readinessAt(baseUrl), [200, undefined], child.output())
    return baseUrl
  })

/** The status of `/readyz` and the reason of a refusal. */
const readinessAt = (baseUrl: string) =>
  Effect.promise(async () => {
    const answer = await fetch(`${baseUrl}/readyz`)
    const { error } = (await answer.json()) as { readonly error?: { readonly message: string } }
    return [answer.status, error?.message] as const
  })

const healthAt = (baseUrl: string) => Effect.promise(async () => (await fetch(`${baseUrl}/healthz`)).status)

/** Runs `catalog` of a build. */
const catalogIn = (folder: string, args: ReadonlyArray<string>, url: string) =>
  Effect.map(shell([["node dist/main.js", ...args].join(" ")], { DATABASE_URL: url }, folder), ({ stdout }) => stdout)

/** The next version of the service: this one with one more migration. */
const aNewerBuild = Effect.map(aBuild, (folder) => {
  const newest = migrations.at(-1) ?? ""
  const next = `${String(Number(newest.slice(0, 4)) + 1).padStart(4, "0")}_of_tomorrow`
  writeFileSync(join(folder, `migrations/${next}.sql`), "CREATE TABLE of_tomorrow (id int PRIMARY KEY);\n")
  const changed = readdirSync(join(folder, "dist/chunks"))
    .filter((name) => name.endsWith(".cjs"))
    .filter((name) => {
      const path = join(folder, "dist/chunks", name)
      const text = readFileSync(path, "utf8")
      if (!text.includes(`"${newest}"`)) return false
      writeFileSync(path, text.replace(`"${newest}"`, `"${newest}", "${next}"`))
      return true
    })
  assert.lengthOf(changed, 1)
  return { folder, next }
})

const hasTools = await promisify(execFile)("pg_restore", ["--version"]).then(
  () => true,
  () => false
)

describe("the commands of docs/operations.md", () => {
  it("are all run by a test, or named as commands that cannot run here", () => {
    assert.deepStrictEqual(unknownCommands(operationsPage), [])
    const blocks = blocksOf(operationsPage)
    const written = blocks.flatMap(({ commands }) => commands)
    assert.isAtLeast(written.length, 30)
    for (const command of [...Object.keys(notRun), ...Object.keys(runElsewhere), ...inlineRun])
      assert.include(written, command)
    const titles = blocks.filter(({ isInline }) => !isInline).map(({ title }) => title)
    for (const title of sectionsRun) assert.include(titles, title)
    for (const file of Object.values(runElsewhere)) assert.isTrue(statSync(file).isFile(), file)
  })

  it("are reported if they are new (planted fault)", () => {
    const block = operationsPage.replace("## Capacity\n", "## Capacity\n\n```sh\nnpm run one && npm run two\n```\n")
    assert.deepStrictEqual(unknownCommands(block), ["npm run one", "npm run two"])
    const sentence = operationsPage.replace("## Capacity\n", "## Capacity\n\nRun `docker run catalog:new` first.\n")
    assert.deepStrictEqual(unknownCommands(sentence), ["docker run catalog:new"])
  })
})

describe.skipIf(!serverAnswers || !hasTools)("the commands of docs/operations.md", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.scoped("deploy a build, create the first account and answer its key", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const [[...commands] = [], ...more] = commandsOf("Deploy")
        assert.isEmpty(more)
        const start = (commands.pop() ?? "").replace("postgres://catalog@db.internal/catalog", url)
        const folder = isLong ? yield* temporary : yield* aBuild
        if (isLong) {
          assert.lengthOf(commands, 3)
          yield* shell([`git archive HEAD | tar -x -C ${folder}`], {})
          yield* shell(commands, {}, folder)
        }
        const baseUrl = yield* served(start, {}, folder)
        const [create = ""] = inlineRun
        const named = create.replace('"…"', "Deployed").replace("…", "owner@example.com")
        const { stdout } = yield* shell([named], { DATABASE_URL: url }, folder)
        assert.include(stdout, "https://pim.example.com/set-password?token=")
        const { accounts } = JSON.parse(yield* catalogIn(folder, ["account", "list", "--json"], url)) as {
          readonly accounts: ReadonlyArray<{ readonly account_id: string; readonly name: string }>
        }
        const id = accounts.find(({ name }) => name === "Deployed")?.account_id ?? assert.fail()
        const made = yield* catalogIn(folder, ["key", "create", "--account", id, "--name", "Reader"], url)
        const [key = assert.fail(made)] = /pk_live_\w+/.exec(made) ?? []
        const answer = yield* Effect.promise(() =>
          fetch(`${baseUrl}/api/v1/products`, { headers: { authorization: `Bearer ${key}` } })
        )
        assert.deepStrictEqual(
          [answer.status, yield* Effect.promise(() => answer.json())],
          [200, { data: [], next_cursor: null }]
        )
      })
    )

    it.scoped("copy a build to where the unit starts it", () =>
      Effect.gen(function* () {
        const url = Redacted.value(yield* TestDatabaseUrl)
        const [machine, build] = [yield* temporary, yield* aBuild]
        const onMachine = (text: string) => text.replaceAll(/(?<=[ =])\/(?=(?:opt|etc)\/)/g, `${machine}/`)
        const [commands = [], ...more] = commandsOf("A systemd unit")
        assert.isEmpty(more)
        assert.lengthOf(commands, 4)
        const units = join(machine, "etc/systemd/system")
        mkdirSync(units, { recursive: true })
        yield* shell(
          commands.map((command) => onMachine(command).replace("postgres://…", url)),
          {},
          build
        )
        const unit = readFileSync(join(units, "catalog.service"), "utf8")
        const [, environmentFile = ""] = /^EnvironmentFile=(.*)$/m.exec(unit) ?? []
        const [, start = ""] = /^ExecStart=\/usr\/bin\/(.*)$/m.exec(unit) ?? []
        const settings = join(machine, environmentFile)
        assert.strictEqual(statSync(settings).mode & 0o777, 0o600)
        const env = Object.fromEntries(
          readFileSync(settings, "utf8")
            .trim()
            .split("\n")
            .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
        )
        assert.deepStrictEqual(env, { DATABASE_URL: url })
        yield* served(onMachine(start), env, "/")
        const [, list = ""] = Object.keys(notRun).flatMap((command) => /^systemd-run .*?(node .*)$/.exec(command) ?? [])
        const { stderr } = yield* shell([onMachine(list)], env, "/")
        assert.strictEqual(stderr, "")
      })
    )

    it.scoped("make secrets that the service accepts", () =>
      Effect.gen(function* () {
        const [commands = [], ...more] = commandsOf("Compose files")
        assert.isEmpty(more)
        assert.lengthOf(commands, 1)
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const printed = yield* shell(
          [
            ...commands,
            "node dist/main.js account list > /dev/null",
            'echo "$POSTGRES_PASSWORD $SECRET_KEY $BASE_URL"'
          ],
          { DATABASE_URL }
        )
        const [password = "", key = "", address] = printed.stdout.trim().split(" ")
        assert.match(password, /^[0-9a-f]{48}$/)
        assert.strictEqual(Buffer.from(key, "base64").length, 32)
        assert.strictEqual(address, "https://pim.example.com")
      })
    )

    it.scoped("give a database the settings that it needs behind a pooler", () =>
      Effect.gen(function* () {
        const url = yield* databaseFrom(layerServerUrl)
        const name = new URL(url).pathname.slice(1)
        yield* Effect.promise(() => query(url, `ALTER DATABASE ${name} SET timezone = 'Asia/Tokyo'`))
        const behindPooler = catalog(["migrate"], { DATABASE_URL: url, DATABASE_POOLER: "transaction" })
        const refused = yield* behindPooler
        assert.strictEqual(refused.code, 1)
        assert.include(refused.stderr, `Run there: ALTER DATABASE "${name}" SET timezone = 'UTC'`)
        const [commands = [], ...more] = commandsOf("A pooler")
        assert.isEmpty(more)
        assert.lengthOf(commands, 4)
        for (const command of commands) {
          const statement = command.replace("ALTER DATABASE catalog ", `ALTER DATABASE ${name} `)
          assert.include(statement, name)
          yield* Effect.promise(() => query(url, statement))
        }
        const settings = yield* Effect.promise(() =>
          query(
            url,
            "SELECT current_setting('timezone') AS timezone, current_setting('statement_timeout') AS statement, current_setting('jit') AS jit, current_setting('client_connection_check_interval') AS check"
          )
        )
        assert.deepStrictEqual(settings, [{ timezone: "UTC", statement: "30s", jit: "off", check: "1s" }])
        const accepted = yield* behindPooler
        assert.deepStrictEqual(accepted, { code: 0, stdout: "The schema is up to date.\n", stderr: "" })
      })
    )

    it.scoped("back up a database and restore it, with the tokens of its stores", () =>
      Effect.gen(function* () {
        const url = yield* TestDatabaseUrl
        const restored = Redacted.make(yield* databaseFrom(layerServerUrlEmpty))
        const owner = yield* anAccountOn(url)
        const env = {
          DATABASE_URL: Redacted.value(url),
          RESTORED: Redacted.value(restored),
          BACKUP: join(yield* temporary, "catalog.dump")
        }
        const [dump = [], restore = [], ...more] = commandsOf("Back up and restore")
        assert.isEmpty(more)
        const dumped = yield* shell(dump, env)
        assert.isAbove(Number(dumped.stdout), 30)
        const { stdout } = yield* shell(restore, env)
        assert.include(stdout, owner.accountId)
        assert.strictEqual(yield* tokenOn(restored, oldKey, owner), token)
      })
    )

    it.scoped("upgrade to a version with a migration, and roll back by restoring the dump", () =>
      Effect.gen(function* () {
        const [url, restored] = [yield* databaseFrom(layerServerUrl), yield* databaseFrom(layerServerUrlEmpty)]
        const [{ folder: newer, next }, previous] = [yield* aNewerBuild, yield* aBuild]
        const env = { DATABASE_URL: url, BACKUP: join(yield* temporary, "catalog.dump"), RESTORED: restored }
        const start = "exec node dist/main.js serve"
        yield* catalogIn(previous, ["account", "create", "--name", "Before"], url)
        const running = yield* served(start, { DATABASE_URL: url }, previous)

        const [commands = [], ...more] = commandsOf("Upgrade and roll back")
        assert.isEmpty(more)
        const { stdout } = yield* shell(commands, env, newer)
        assert.strictEqual(stdout, `Applied ${next}\n`)
        const tooNew = `The database schema is newer than this version of the service (${next}): run the version that created it.`
        assert.deepStrictEqual(yield* readinessAt(running), [503, tooNew])
        assert.strictEqual(yield* healthAt(running), 200)
        const upgraded = yield* served(start, { DATABASE_URL: url }, newer)
        yield* catalogIn(newer, ["account", "create", "--name", "After"], url)

        // The previous version starts, and does not become ready.
        const again = yield* served(start, { DATABASE_URL: url }, previous, false)
        assert.deepStrictEqual(yield* readinessAt(again), [503, tooNew])

        const restore = commandsOf("Back up and restore")[1] ?? []
        const listed = yield* shell(restore, env, previous)
        assert.include(listed.stdout, "Before")
        assert.notInclude(listed.stdout, "After")
        yield* served(start, { DATABASE_URL: restored }, previous)
        assert.deepStrictEqual(yield* readinessAt(upgraded), [200, undefined])
      })
    )

    it.scoped("change the key that encrypts tokens", () =>
      Effect.gen(function* () {
        const url = yield* databaseFrom(layerServerUrl)
        const owner = yield* anAccountOn(Redacted.make(url))
        const [commands = [], ...more] = commandsOf("Change SECRET_KEY")
        assert.isEmpty(more)
        const { stdout } = yield* shell(commands, { DATABASE_URL: url, OLD_KEY: oldKey, NEW_KEY: newKey })
        assert.match(stdout, /^Encrypted \d+ secrets? with SECRET_KEY; 0 secrets already used it\.\n/)
        assert.strictEqual(yield* tokenOn(Redacted.make(url), newKey, owner), token)
        assert.isTrue((yield* Effect.exit(tokenOn(Redacted.make(url), oldKey, owner)))._tag === "Failure")
      })
    )
  })
})
