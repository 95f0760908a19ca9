import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { RpcClientError } from "@effect/rpc/RpcClientError"
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Effect, FiberId, Layer, Option, Redacted, Stream } from "effect"
import { afterAll } from "vitest"
import { AdminClient } from "../../src/admin/AdminClient.ts"
import { Refusal } from "../../src/admin/Refusal.ts"
import { failureOf } from "../../src/cli/Failure.ts"
import { followJob, followToTheEnd } from "../../src/cli/JobCommands.ts"
import { followEvents } from "../../src/cli/ProgressLine.ts"
import { publishAll } from "../../src/cli/PublishCommand.ts"
import { errorCode } from "../../src/model/ErrorCode.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import { onTerminal } from "../support/CommandLine.ts"
import { commandsWith } from "../support/Commands.ts"
import { query } from "../support/RunDatabases.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "jobs-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const nobody = "00000000-0000-4000-8000-00000000dead"
const europe = "tern.demo.example"

type Json = Record<string, unknown>

it.effect("an account that is gone before its deletion is followed counts as deleted; other refusals remain", () =>
  Effect.gen(function* () {
    const follow = (code: string) => {
      const gone = new Refusal({ code, message: `There is no account ${nobody}.` })
      const client = Layer.mock(AdminClient, { followJob: () => Stream.fail(gone) } as never)
      return followToTheEnd(Option.some(nobody), { id: nobody } as never).pipe(Effect.provide(client))
    }
    yield* follow(errorCode.NotFound)
    assert.strictEqual((yield* Effect.flip(follow(errorCode.ValidationFailed)))._tag, "Refusal")
  })
)

it.effect(
  "a job that cannot be followed any more, because its process or the database is gone, may go on: where to look",
  () =>
    Effect.gen(function* () {
      const gone = [
        {
          failed: Stream.fail(new RpcClientError({ reason: "Protocol", message: "Error in socket" })),
          why: "The process that holds the database ended before it answered."
        },
        {
          failed: Stream.failCause(Cause.interrupt(FiberId.none)),
          why: "The process that holds the database ended before it answered."
        },
        { failed: Stream.die(new Unavailable()), why: "The database cannot be reached." }
      ]
      for (const { failed, why } of gone) {
        const client = Layer.mock(AdminClient, {
          publishAll: () => Effect.succeed({ jobs: [{ id: nobody }, { id: nobody }], earlier: [], refused: [] }),
          followJob: () => failed
        } as never)
        const told = <A, E>(command: Effect.Effect<A, E, AdminClient>) =>
          Effect.map(Effect.flip(Effect.provide(command, client)), failureOf)
        assert.deepStrictEqual(yield* told(followJob(Option.some(nobody), { id: nobody } as never)), {
          code: "unavailable",
          message: `${why} It is unknown how the job goes on: see \`catalog jobs show ${nobody} --account ${nobody}\`.`
        })
        assert.deepStrictEqual(yield* told(publishAll(Option.none(), Option.none(), false)), {
          code: "unavailable",
          message: `${why} It is unknown how the jobs go on: see \`catalog jobs list\`.`
        })
        const texts = {
          progress: () => "",
          interrupted: () => assert.fail("The command itself was not interrupted."),
          unknown: "Look at it."
        }
        assert.deepStrictEqual(yield* told(followEvents(failed, texts)), {
          code: "unavailable",
          message: `${why} Look at it.`
        })
      }
    })
)

describe.skipIf(!serverAnswers)("jobs on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("publish all, list and show, unlink, pause and resume, and delete an account", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { said, json, refusal } = commandsWith({ DATABASE_URL })
        const account = String((yield* json("account", "create", "--name", "Mine")).account_id)
        assert.strictEqual(
          yield* said("jobs", "list"),
          "There are no jobs. Imports, publishing or changing many drafts, unlinking a store and deleting an account each begin a job."
        )
        yield* json("store", "link", europe, "--platform", "demo")
        assert.strictEqual(yield* said("publish", "--all"), "There is nothing to publish.")
        yield* json("store", "link", "files.example")
        const export_ = join(folder, "export.csv")
        const rows = Array.from({ length: 3 }, (_, index) => `hat-${index},Hat ${index},H-${index},5.00`)
        writeFileSync(export_, ["Handle,Title,Variant SKU,Variant Price", ...rows, ""].join("\n"))
        yield* json("import", "csv", export_, "--store", "files.example", "--accept")
        for (let index = 0; index < 3; index++) yield* json("store-version", "add", `hat-${index}`, "--store", europe)

        assert.strictEqual(yield* refusal("publish"), "Give ENTITY, or --all.")
        assert.strictEqual(
          yield* refusal("publish", "hat-0", "--all"),
          "--all is for every entity: omit ENTITY and --again."
        )
        assert.strictEqual(
          yield* refusal("publish", "--all", "--store", "files.example"),
          "files.example has no platform: nothing can be published to it"
        )
        const published = yield* said("publish", "--all")
        assert.match(
          published,
          new RegExp(
            `^Publish all changes to ${europe} \\([0-9a-f-]{36}\\): done, 3 entities\n {2}begun \\S+Z by the command line, ended \\S+Z\n {2}refused: 0\n {2}requested: 3$`
          )
        )
        const { jobs } = (yield* json("jobs", "list")) as unknown as { readonly jobs: ReadonlyArray<Json> }
        assert.lengthOf(jobs, 2)
        const [job = {}, imported = {}] = jobs
        assert.deepInclude(imported, {
          kind: "import",
          title: "Import export.csv into files.example",
          state: "done",
          done: 3,
          total: 3,
          result: { new: 3, changed: 0, removed: 0 }
        })
        assert.deepInclude(job, { kind: "publish_waiting", state: "done", done: 3, error_count: 0, problem: null })
        assert.deepStrictEqual(yield* json("jobs", "show", String(job.id)), job)
        assert.strictEqual(yield* said("jobs", "show", String(job.id)), published)
        const versions = yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `SELECT count(*)::integer AS count FROM store_version v JOIN store s ON s.id = v.store_id
             WHERE s.domain = '${europe}' AND v.last_publish_status = 'published'`
          )
        )
        assert.deepStrictEqual(versions, [{ count: 6 }], "with their variants")

        assert.match(
          yield* said("store", "unlink", europe),
          /^Unlinked tern\.demo\.example \(\S+\): 6 entities have no version on it any more\.\nOnly a saved token or saved credentials are deleted: /
        )
        assert.match(
          yield* said("store", "link", europe),
          /again: 6 entities have their versions on it again\.\nNext: catalog import refresh --store tern\.demo\.example$/
        )
        const said_ = yield* said("jobs", "list")
        assert.match(said_, / {2}done {7}Link tern\.demo\.example {2}6 entities\n.* {2}Unlink /)

        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE store SET status = 'unlinked', unlinked_at_seq = 0 WHERE domain = '${europe}';
             INSERT INTO job (account_id, id, kind, title, subject, state, input, actor, author)
             SELECT s.account_id, '${nobody}', 'store_unlink', 'Unlink ${europe}', s.id, 'paused', '{}',
                    '{"_tag":"Cli","accountId":"${account}"}', '{"kind":"cli","id":null,"name":null}'
             FROM store s WHERE s.domain = '${europe}'`
          )
        )
        assert.strictEqual(
          yield* refusal("store", "link", europe),
          `the job "Unlink ${europe}" (${nobody}) is paused and works on the same store: resume it first`
        )
        yield* Effect.promise(() => query(DATABASE_URL, `DELETE FROM job WHERE id = '${nobody}'`))

        const missing = (id: string) => `The account has no job ${id}: see \`catalog jobs list\`.`
        for (const command of ["show", "pause", "resume", "cancel"])
          for (const id of [nobody, "x"]) assert.strictEqual(yield* refusal("jobs", command, id), missing(id))
        assert.strictEqual(
          yield* refusal("jobs", "cancel", String(job.id)),
          "the job is done: only a job that is queued, running or paused can be cancelled"
        )

        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `INSERT INTO job (account_id, id, kind, title, input, actor, author) VALUES
             ('${account}', '${nobody}', 'publish_selected', 'Publish 0 selected', '{}', '{"_tag":"Cli","accountId":"${account}"}',
              '{"kind":"cli","id":null,"name":null}')`
          )
        )
        assert.match(
          yield* said("jobs", "pause", nobody),
          new RegExp(
            `^Paused: Publish 0 selected\\. Finished steps are not undone\\.[\\s\\S]*Next: catalog jobs resume ${nobody}$`
          )
        )
        assert.match(
          yield* said("jobs", "resume", nobody),
          /^Resumed: Publish 0 selected\. A running server continues it/
        )
        assert.deepInclude(yield* json("jobs", "cancel", nobody), { state: "cancelled" })

        const other = String((yield* json("account", "create", "--name", "Theirs")).account_id)
        assert.strictEqual(
          yield* refusal("jobs", "show", String(job.id), "--account", other),
          `The account has no job ${String(job.id)}: see \`catalog jobs list --account ${other}\`.`
        )
        const key = String((yield* json("key", "create", "--name", "Key", "--account", account)).key_id)
        assert.isNotEmpty(key)
        assert.strictEqual(
          yield* refusal("account", "delete", account),
          "--yes: give the name of the account. This deletes it with all its data, for good."
        )
        // Ctrl-C at the question.
        const asked = yield* Effect.promise(() =>
          onTerminal(
            ["account", "delete", account],
            { DATABASE_URL },
            { at: "Type its name to confirm:", keys: "\u0003" }
          )
        )
        assert.strictEqual(asked.code, 130)
        assert.include(asked.stdout, "Interrupted: nothing was deleted.\r\n")
        assert.strictEqual(
          yield* refusal("account", "delete", account, "--yes", "Theirs"),
          '--yes: is not the name of the account, which is "Mine"'
        )
        assert.strictEqual(
          yield* said("account", "delete", account, "--yes", "Mine"),
          `Deleted the account Mine (${account}) and everything in it.\nOnly a record remains: its id and name, the time, and who deleted it.`
        )
        assert.match(yield* said("account", "list"), new RegExp(`^${other} .* {2}Theirs$`))
        assert.match(yield* refusal("account", "delete", account, "--yes", "Mine"), /^There is no account/)
        const left = yield* Effect.promise(() =>
          query(DATABASE_URL, "SELECT id, name, deleted_by FROM deleted_account")
        )
        assert.deepStrictEqual(left, [{ id: account, name: "Mine", deleted_by: { kind: "cli", name: null } }])
      })
    )

    it.effect("an account that is being deleted takes no other commands, and its keys are refused", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { json, refusal, said } = commandsWith({ DATABASE_URL })
        const account = String((yield* json("account", "create", "--name", "Going")).account_id)
        yield* Effect.promise(() =>
          query(DATABASE_URL, `UPDATE account SET deleting_since = app_now() WHERE id = '${account}'`)
        )
        assert.match(yield* said("account", "list"), /Going {2}\(is being deleted\)/)
        assert.strictEqual(
          yield* refusal("key", "create", "--name", "Key", "--account", account),
          `The account ${account} is being deleted: see \`catalog jobs list --account ${account}\`.`
        )
        assert.match(yield* said("jobs", "list", "--account", account), /^There are no jobs\./)
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `INSERT INTO job (account_id, id, kind, title, subject, state, input, actor, author) VALUES
             ('${account}', '${nobody}', 'account_deletion', 'Delete the account Going', '${account}', 'paused', '{}',
              '{"_tag":"Cli","accountId":"${account}"}', '{"kind":"cli","id":null,"name":null}')`
          )
        )
        assert.strictEqual(
          yield* refusal("account", "delete", account, "--yes", "Going"),
          `the account is being deleted already, and the job is paused: \`catalog jobs resume ${nobody} --account ${account}\``
        )
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE job SET state = 'failed', problem = '{"why":"Why.","next":"Next."}', ended_at = app_now()
             WHERE account_id = '${account}'`
          )
        )
        assert.match(yield* said("account", "delete", account, "--yes", "Going"), /^Deleted the account Going /)
        assert.notMatch(yield* said("account", "list"), /Going/)
      })
    )

    it.effect("pause, resume and cancel an import that is applied, and say that it locks the account", () =>
      Effect.gen(function* () {
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        const { said, json, refusal } = commandsWith({ DATABASE_URL })
        const account = String((yield* json("account", "create", "--name", "Importing")).account_id)
        const named = ["--account", account]
        yield* json("store", "link", "files.example", ...named)
        const file = join(folder, "hats.csv")
        writeFileSync(file, "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\ncap,Cap,C-1,4.00\n")
        const id = String((yield* json("import", "csv", file, "--store", "files.example", ...named)).import_id)
        // As if a process of another host applied it.
        yield* Effect.promise(() =>
          query(
            DATABASE_URL,
            `UPDATE import_run SET phase = 'applying', lease_until = now() + interval '1 hour' WHERE id = '${id}';
             INSERT INTO job (account_id, id, kind, title, total, input, actor, author)
             VALUES ('${account}', '${id}', 'import', 'Import hats.csv into files.example', 2, '{}',
                     '{"_tag":"Cli","accountId":"${account}"}', '{"kind":"cli","id":null,"name":null}')`
          )
        )
        assert.match(
          yield* said("jobs", "pause", id, ...named),
          new RegExp(
            `^Paused: Import hats\\.csv into files\\.example\\. Finished steps are not undone\\.[\\s\\S]* paused, 0 of 2 changes\n[\\s\\S]* {2}The account is locked until the job is resumed or cancelled\\.\nNext: catalog jobs resume ${id} --account ${account}$`
          )
        )
        const next = `catalog jobs resume ${id} --account ${account}, or catalog jobs cancel ${id} --account ${account}`
        assert.include(
          yield* said("import", "show", id, ...named),
          `Applying it is paused, and the account is locked. Next: ${next}`
        )
        assert.strictEqual(
          yield* refusal("import", "accept", id, ...named),
          "import: is paused: resume or cancel its job"
        )
        assert.strictEqual(
          yield* refusal("import", "csv", file, "--store", "files.example", ...named),
          `import ${id} is paused while it is applied: continue it with \`catalog jobs resume ${id} --account ${account}\` or end it with \`catalog jobs cancel ${id} --account ${account}\` first`
        )
        assert.match(yield* said("jobs", "resume", id, ...named), /^Resumed: Import hats\.csv into files\.example\./)
        assert.deepInclude(yield* json("jobs", "cancel", id, ...named), { id, state: "cancelled", done: 0 })
        assert.match(
          yield* said("import", "show", id, ...named),
          /: failed\n[\s\S]* {2}The import was cancelled while it was applied; 0 of 2 products were applied\. Import the file again to complete it\./
        )
        assert.strictEqual(
          yield* refusal("jobs", "resume", id, ...named),
          "the job is cancelled: only a paused or failed job can be resumed"
        )
        assert.deepInclude(yield* json("import", "csv", file, "--store", "files.example", "--accept", ...named), {
          phase: "applied"
        })
      })
    )
  })
})
