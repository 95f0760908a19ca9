import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { afterAll } from "vitest"
import { serveCatalog, startCatalog } from "../support/CommandLine.ts"
import { commandsWith } from "../support/Commands.ts"
import { query } from "../support/RunDatabases.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "publish-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const nobody = "00000000-0000-4000-8000-00000000dead"
const europe = "tern.demo.example"
const gulf = "gulf.demo.example"

type Json = Record<string, unknown>

describe.skipIf(!serverAnswers)("publishing on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("waits for the outcome, runs the publication itself if no server does, and reports failures", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { run, said, json, refusal } = commandsWith({ DATABASE_URL })

        yield* json("account", "create", "--name", "Mine")
        for (const domain of [europe, gulf]) yield* json("store", "link", domain, "--platform", "demo")
        yield* json("store", "link", "files.example")
        const export_ = join(folder, "export.csv")
        writeFileSync(export_, "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\n")
        yield* json("import", "csv", export_, "--store", "files.example", "--accept")
        const rows = yield* Effect.promise(() => query(DATABASE_URL, "SELECT id FROM entity WHERE kind = 'product'"))
        const id = String(rows[0]?.id)
        assert.strictEqual(
          yield* refusal("publish", id),
          "files.example has no platform: nothing can be published to it"
        )
        yield* json("store-version", "add", id, "--store", europe)
        const revision = Number((yield* json("store-version", "add", id, "--store", gulf)).draft_revision)

        assert.strictEqual(
          yield* said("publish", id, "--store", europe.toUpperCase()),
          `${europe}: published draft revision ${revision}`
        )
        assert.strictEqual(
          yield* said("publish", id),
          [
            "files.example: skipped, it has no platform",
            `${gulf}: published draft revision ${revision}`,
            `${europe}: nothing to publish, it already has draft revision ${revision}; --again sends it again`
          ].join("\n")
        )
        const [shops] = yield* Effect.promise(() =>
          query(DATABASE_URL, "SELECT count(*)::int AS records FROM demo_shop_record")
        )
        assert.strictEqual(shops?.records, 4)

        // Only --again sends accepted values again, for example to a shop that lost them.
        yield* Effect.promise(() => query(DATABASE_URL, "DELETE FROM demo_shop_record"))
        assert.strictEqual(
          yield* said("publish", id, "--store", europe),
          `${europe}: nothing to publish, it already has draft revision ${revision}; --again sends it again`
        )
        assert.strictEqual(
          yield* said("publish", id, "--store", europe, "--again"),
          `${europe}: published draft revision ${revision}`
        )
        const sentAgain = yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            "SELECT s.domain, count(*)::int AS records FROM demo_shop_record r JOIN store s ON s.account_id = r.account_id AND s.id = r.store_id GROUP BY 1"
          )
        )
        assert.deepStrictEqual(sentAgain, [{ domain: europe, records: 2 }])

        yield* json("platform", "fail", "--store", europe)
        yield* json("draft", "set", id, "--revision", String(revision), "title=Cap")
        const reason = `${europe}: The demo shop refuses because of \`catalog platform fail\`; \`catalog platform repair\` repairs it. (DEMO_REFUSED)`
        const failed = yield* run("publish", id, "--json")
        assert.deepStrictEqual([failed.code, failed.stderr.trimEnd()], [1, reason])
        const { entity_id, results } = JSON.parse(failed.stdout) as { entity_id: string; results: ReadonlyArray<Json> }
        assert.strictEqual(entity_id, id)
        assert.deepStrictEqual(
          results.map(({ attempts, draft_revision, error, outcome, store_domain }) => [
            store_domain,
            outcome,
            draft_revision,
            attempts,
            error
          ]),
          [
            ["files.example", "skipped", null, 0, null],
            [gulf, "published", revision + 1, 1, null],
            [
              europe,
              "failed",
              revision + 1,
              1,
              {
                code: "DEMO_REFUSED",
                message:
                  "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
              }
            ]
          ]
        )
        assert.strictEqual(yield* refusal("publish", id, "--store", europe), reason)
        assert.deepStrictEqual(
          (yield* said("history", id, "--limit", "2")).split("\n").map((line) => line.replace(/^\S+Z /, "")),
          [
            ` revision ${revision + 1}  cli  ${europe}: publish failed: "The demo shop refuses because of \`catalog platform fail\`; \`catalog platform repair\` repairs it." ("DEMO_REFUSED")`,
            ` revision ${revision + 1}  cli  ${europe}: publish requested`
          ]
        )
        yield* json("platform", "repair", "--store", europe)
        assert.strictEqual(
          yield* said("publish", id, "--store", europe),
          `${europe}: published draft revision ${revision + 1}`
        )

        assert.strictEqual(yield* refusal("publish", nobody), `The account has no entity ${nobody}.`)
        assert.strictEqual(yield* refusal("publish", "nonsense"), "The account has no entity nonsense.")
        assert.strictEqual(
          yield* refusal("publish", nobody, "--store", europe),
          `The account has no entity ${nobody} on ${europe}: \`catalog store-version add ${nobody} --store ${europe}\` adds it if it exists.`
        )
        assert.strictEqual(
          yield* refusal("publish", id, "--store", "nowhere.example"),
          "No store nowhere.example is linked: see `catalog store list`."
        )

        const stateOf = Effect.promise(() =>
          query(
            DATABASE_URL,
            "SELECT state, attempts, error ->> 'code' AS code FROM publication ORDER BY asked_at DESC LIMIT 1"
          )
        )
        const until = (is: (row: Json) => boolean) =>
          Effect.repeat(stateOf, {
            until: ([row]) => row !== undefined && is(row),
            schedule: Schedule.spaced("50 millis")
          })
        // A platform that does not answer at all only delays the publish.
        yield* json("platform", "fail", "--store", gulf, "--kind", "error")
        const delayed = yield* Effect.fork(run("publish", id, "--store", gulf, "--again"))
        yield* until(({ code, state }) => state === "pending" && code === "PUBLISH_DELAYED")
        yield* json("platform", "repair", "--store", gulf)
        const { code, stderr, stdout } = yield* Fiber.join(delayed)
        assert.deepStrictEqual(
          [code, stdout.trimEnd(), stderr.trimEnd()],
          [
            0,
            `${gulf}: published draft revision ${revision + 1}`,
            `${gulf}: waiting. The store's platform cannot be reached: it reports an internal error. The publish is tried again for up to 24 hours.`
          ]
        )

        // A publish that waits can be cancelled by another process.
        yield* json("platform", "fail", "--store", gulf, "--kind", "error")
        const ended = yield* Effect.fork(run("publish", id, "--store", gulf, "--again"))
        // The pause before the next attempt is at least two seconds.
        yield* until((row) => row.state === "pending" && row.code === "PUBLISH_DELAYED" && Number(row.attempts) >= 3)
        const cancelling = yield* run("publish", id, "--store", gulf, "--cancel")
        assert.deepStrictEqual(
          [cancelling.code, cancelling.stdout.trimEnd(), cancelling.stderr],
          [0, `${gulf}: cancelled; the store has its draft`, ""]
        )
        const last = yield* Fiber.join(ended)
        assert.strictEqual(last.code, 1)
        assert.include(last.stderr, `${gulf}: The publish was cancelled before it was sent. (PUBLISH_CANCELLED)`)
        assert.include((yield* run("history", id, "--limit", "1")).stdout, `${gulf}: publish cancelled`)
        assert.strictEqual(
          yield* said("publish", id, "--store", gulf, "--cancel"),
          `${gulf}: cancelled already; the store has its draft`
        )
        assert.strictEqual(
          yield* refusal("publish", id, "--store", europe, "--cancel"),
          "no publish to this store waits: there is nothing to cancel"
        )
        assert.strictEqual(yield* refusal("publish", id, "--again", "--cancel"), "Give either --again or --cancel.")
        yield* json("platform", "repair", "--store", gulf)

        // Nobody waits for this publish request: a server that starts publishes it.
        yield* json("platform", "fail", "--store", gulf, "--kind", "delay", "--delay", "3600")
        yield* json("draft", "set", id, "--revision", String(revision + 1), "title=Hood")
        const left = yield* Effect.fork(run("publish", id, "--store", gulf))
        yield* until(({ attempts, state }) => state === "pending" && attempts === 1)
        yield* Fiber.interrupt(left)
        yield* json("platform", "repair", "--store", gulf)
        yield* Effect.acquireUseRelease(
          Effect.promise(() => serveCatalog({ DATABASE_URL })),
          () => until(({ state }) => state === "published"),
          (server) => Effect.promise(() => server.stop())
        )

        const { import_id: importId } = yield* json("import", "csv", export_, "--store", "files.example")
        assert.match(
          yield* refusal("publish", id, "--store", gulf),
          new RegExp(`^Nothing was written: import ${importId} is under review`)
        )
      })
    )
  })

  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("--all fails if a publish failed or a store was refused, and follows the jobs of the other stores", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, refusal, run, said } = commandsWith({ DATABASE_URL })
        const account = String((yield* json("account", "create", "--name", "Mine")).account_id)
        for (const domain of [europe, gulf]) yield* json("store", "link", domain, "--platform", "demo")
        yield* json("store", "link", "files.example")
        const export_ = join(folder, "all.csv")
        writeFileSync(export_, "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\n")
        yield* json("import", "csv", export_, "--store", "files.example", "--accept")
        for (const domain of [europe, gulf]) yield* json("store-version", "add", "hat", "--store", domain)
        yield* json("platform", "fail", "--store", europe)
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `INSERT INTO job (account_id, id, kind, title, subject, state, input, actor, author)
             SELECT s.account_id, '${nobody}', 'store_link', 'Link ${gulf}', s.id, 'paused', '{}',
                    '{"_tag":"Cli","accountId":"${account}"}', '{"kind":"cli","id":null,"name":null}'
             FROM store s WHERE s.domain = '${gulf}'`
          )
        )
        const published = yield* run("publish", "--all", "--json")
        const { jobs } = JSON.parse(published.stdout) as { readonly jobs: ReadonlyArray<Json> }
        assert.deepStrictEqual(
          jobs.map(({ result, state, title }) => [title, state, result]),
          [[`Publish all changes to ${europe}`, "done", { requested: 1, refused: 0, failed: 1 }]]
        )
        assert.strictEqual(published.code, 1)
        assert.include(published.stderr, `${gulf}: the job "Link ${gulf}" (${nobody}) is paused`)
        assert.include(published.stderr, `Publish all changes to ${europe}: 1 failed.`)

        // The command says that a store's platform does not answer, and goes on waiting.
        yield* json("platform", "repair", "--store", europe)
        yield* json("platform", "fail", "--store", europe, "--kind", "error")
        const child = startCatalog(["publish", "--all", "--store", europe], { DATABASE_URL })
        const ended = once(child, "close")
        let stderr = ""
        const told = new Promise<void>((resolve) => {
          child.stderr?.setEncoding("utf8").on("data", (text: string) => {
            stderr += text
            if (stderr.includes("waits for")) resolve()
          })
        })
        yield* Effect.promise(() => told)
        yield* json("platform", "repair", "--store", europe)
        const [code] = yield* Effect.promise(() => ended)
        const why = "the outcomes of publishes (1 left); the store's platform does not answer"
        assert.strictEqual(code, 0)
        assert.include(stderr.split("\n"), `Publish all changes to ${europe}: waits for ${why}.`)

        // A store may accept a publish, but for a part.
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE publication SET error = '{"code":"SALES_CHANNELS","message":"On none."}' WHERE state = 'published'`
          )
        )
        const listed = (yield* json("jobs", "list")).jobs as ReadonlyArray<Json>
        const done = listed.find(({ kind, result }) => kind === "publish_waiting" && !("failed" in (result as Json)))
        const shown = (yield* run("jobs", "show", String(done?.id))).stdout.split("\n")
        assert.deepStrictEqual(shown.slice(2, 6), [
          "  refused: 0",
          "  requested: 1",
          "  incomplete: 1",
          "  `catalog history ENTITY` says what the store did not do of an incomplete publish."
        ])

        // All publishes that wait are cancelled, and the job that requests more.
        const nothing = "No publish waits: there is nothing to cancel."
        assert.strictEqual(yield* said("publish", "--all", "--cancel"), nothing)
        assert.strictEqual(
          yield* refusal("publish", "--all", "--cancel", "--store", europe),
          "no publish to this store waits: there is nothing to cancel"
        )
        assert.strictEqual(
          yield* refusal("publish", "hat", "--all", "--cancel"),
          "--all is for every entity: omit ENTITY and --again."
        )
        yield* json("platform", "fail", "--store", europe, "--kind", "error")
        const { draft_revision } = yield* json("draft", "show", "hat")
        yield* json("draft", "set", "hat", "--revision", String(draft_revision), "title=Cap")
        const waiting = yield* Effect.fork(run("publish", "--all", "--store", europe))
        const requested = Effect.promise(() =>
          query(
            DATABASE_URL,
            "SELECT 1 FROM publication WHERE state = 'pending' AND error ->> 'code' = 'PUBLISH_DELAYED'"
          )
        )
        yield* Effect.repeat(requested, { until: (rows) => rows.length > 0, schedule: Schedule.spaced("50 millis") })
        // An attempt that is under way is not cancelled.
        const cancelled = yield* Effect.repeat(json("publish", "--all", "--cancel"), {
          until: (answer) => JSON.stringify(answer).includes('"cancelled":1')
        })
        const [job = {}] = cancelled.jobs as ReadonlyArray<Json>
        assert.deepInclude(job, {
          kind: "publish_cancel",
          title: `Cancel the publishes to ${europe}`,
          state: "done",
          done: 1,
          result: { cancelled: 1, refused: 0 }
        })
        const ended2 = yield* Fiber.join(waiting)
        assert.strictEqual(ended2.code, 1)
        assert.match(ended2.stderr, new RegExp(`Publish all changes to ${europe} .*: cancelled`))
        assert.match(
          yield* said("jobs", "show", String(job.id)),
          new RegExp(`^Cancel the publishes to ${europe} \\(${job.id}\\): done, 1 publishes\n`)
        )
      })
    )
  })

  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("--all follows the job of a command that was stopped without a server", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, run } = commandsWith({ DATABASE_URL })
        const account = String((yield* json("account", "create", "--name", "Mine")).account_id)
        yield* json("store", "link", europe, "--platform", "demo")
        yield* json("store", "link", "files.example")
        const export_ = join(folder, "stopped.csv")
        writeFileSync(export_, "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\n")
        yield* json("import", "csv", export_, "--store", "files.example", "--accept")
        yield* json("store-version", "add", "hat", "--store", europe)
        yield* json("platform", "fail", "--store", europe, "--kind", "error")
        const toldOf = (job: unknown, title: string) =>
          `${title} to ${europe}: follows the open job ${job}, which was begun before. Run the command again for what was changed since.`

        const child = startCatalog(["publish", "--all", "--store", europe], { DATABASE_URL })
        const ended = once(child, "close")
        // Between two attempts, so that none of them is interrupted.
        const paused = Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE publication SET next_attempt_at = 'infinity'
             WHERE claim IS NULL AND error ->> 'code' = 'PUBLISH_DELAYED' RETURNING id`
          )
        )
        yield* Effect.repeat(paused, { until: (rows) => rows.length > 0, schedule: Schedule.spaced("50 millis") })
        child.kill("SIGINT")
        yield* Effect.promise(() => ended)
        const open = (yield* json("jobs", "list")).jobs as ReadonlyArray<Json>
        const requesting = open.find(({ kind }) => kind === "publish_waiting")
        assert(requesting !== undefined)
        assert.strictEqual(requesting.state, "queued")

        // A command that cancels, and that was stopped before its first step.
        yield* json("jobs", "cancel", String(requesting.id))
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `INSERT INTO job (account_id, id, kind, title, subject, state, input, actor, author)
             SELECT s.account_id, '${nobody}', 'publish_cancel', 'Cancel the publishes to ${europe}', s.id, 'queued',
                    jsonb_build_object('storeId', s.id, 'until', rfc3339(app_now())),
                    '{"_tag":"Cli","accountId":"${account}"}', '{"kind":"cli","id":null,"name":null}'
             FROM store s WHERE s.domain = '${europe}'`
          )
        )
        const cancels = yield* run("publish", "--all", "--cancel", "--json")
        assert.strictEqual(cancels.code, 0, cancels.stderr)
        const { jobs: cancelling } = JSON.parse(cancels.stdout) as { readonly jobs: ReadonlyArray<Json> }
        assert.deepStrictEqual(
          cancelling.map(({ id, result, state }) => [id, state, result]),
          [[nobody, "done", { cancelled: 1, refused: 0 }]]
        )
        assert.include(cancels.stderr.split("\n"), toldOf(nobody, "Cancel the publishes"))

        // The job of a command that publishes.
        yield* json("platform", "repair", "--store", europe)
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE job SET state = 'queued', ended_at = NULL, due_at = app_now() WHERE id = '${requesting.id}'`
          )
        )
        const publishes = yield* run("publish", "--all", "--json")
        assert.strictEqual(publishes.code, 0, publishes.stderr)
        const { jobs } = JSON.parse(publishes.stdout) as { readonly jobs: ReadonlyArray<Json> }
        assert.deepStrictEqual(
          jobs.map(({ id, state }) => [id, state]),
          [[requesting.id, "done"]]
        )
        assert.include(publishes.stderr.split("\n"), toldOf(requesting.id, "Publish all changes"))
      })
    )
  })
})
