import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Option } from "effect"
import { afterAll } from "vitest"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { ReviewList } from "../../src/imports/StagedImport.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { hintImport } from "../support/PlantedLeases.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "import-jobs-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Products with four entities each. Two transactions write them: 250, then the rest. */
const products = 260
const file = join(folder, "export.csv")
writeFileSync(
  file,
  [
    "Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price,Image Src",
    ...Array.from({ length: products }, (_, index) => [
      `p-${index},Product ${index},Size,S,S-${index},5.00,https://cdn.example/${index}.jpg`,
      `p-${index},,,M,M-${index},5.00,`
    ]).flat(),
    ""
  ].join("\n")
)

const quiet = () => Effect.void

const { heldAt, layerOn } = makeHolding()

/** An import under review, and its job after acceptance. */
const anImport = Effect.gen(function* () {
  const { actor } = yield* anAccount({ domains: ["us.example"] })
  const imports = yield* Imports
  const jobs = yield* Jobs
  const csv = imports.csv(file, "us.example", quiet).pipe(actingAs(actor))
  const { id } = yield* csv
  return {
    actor,
    csv,
    id,
    imports,
    accept: imports.accept(id, quiet).pipe(actingAs(actor)),
    command: (name: "pause" | "resume" | "cancel") => jobs.command(name, JobId.make(id)).pipe(actingAs(actor)),
    job: jobs.get(JobId.make(id)).pipe(actingAs(actor)),
    run: imports.get(id).pipe(actingAs(actor)),
    resume: imports.resume(Option.some(actor.accountId)),
    write: Effect.exit(anEntity("media", { alt: "free" }).pipe(actingAs(actor)))
  }
})

const done = {
  state: "done",
  done: products,
  total: products,
  result: { new: products, changed: 0, removed: 0 }
} as const

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`the job of an import on ${engine.name}`, () => {
    const TestLayer = layerOn(engine.layer)

    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("begins when the import is accepted, and has its progress, author and result", () =>
        Effect.gen(function* () {
          const { accept, actor, id, job } = yield* anImport
          const jobs = yield* Jobs
          assert.deepStrictEqual(yield* actingAs(actor)(jobs.list), [])
          const { fiber, goOn } = yield* heldAt("committed", accept)
          assert.deepInclude(yield* job, {
            id: JobId.make(id),
            kind: "import",
            title: "Import export.csv into us.example",
            state: "running",
            done: 250,
            total: products,
            result: {}
          })
          assert.strictEqual((yield* job).author.kind, "cli")
          yield* (yield* JobWorker).runDue
          assert.deepInclude(yield* job, { state: "running", done: 250 }, "workers leave it to the import")
          yield* goOn
          assert.strictEqual((yield* Fiber.join(fiber)).phase, "applied")
          assert.deepInclude(yield* job, done)
          assert.deepStrictEqual(
            (yield* actingAs(actor)(jobs.list)).map((each) => each.id),
            [JobId.make(id)]
          )
        })
      )

      it.effect("is paused between two batches, with the account locked, and resumed by any process", () =>
        Effect.gen(function* () {
          const { accept, command, id, job, resume, run, write } = yield* anImport
          const { fiber, goOn } = yield* heldAt("committed", accept)
          assert.deepInclude(yield* command("pause"), { state: "paused", done: 250 })
          yield* goOn
          assert.deepInclude(yield* Fiber.join(fiber), {
            ...{ id, phase: "applying", isPaused: true, applied: 250 },
            wasTakenOver: true
          })
          assert.isTrue(Exit.isFailure(yield* write))
          assert.strictEqual(yield* resume, 0)
          const refused = yield* Effect.flip(accept)
          assert.deepStrictEqual(refused._tag === "ValidationFailed" && refused.issues, [
            { path: "import", message: "is paused: resume or cancel its job" }
          ])
          // Each pause takes the lease away. None of them counts as an interruption, of which the fourth fails the import.
          for (let round = 0; round < 5; round++) {
            yield* command("resume")
            yield* command("pause")
          }
          assert.deepInclude(yield* run, { phase: "applying", isPaused: true, applied: 250 })
          assert.deepInclude(yield* command("resume"), { state: "queued", done: 250 })
          assert.isFalse((yield* run).isPaused)
          assert.strictEqual(yield* resume, 1)
          assert.deepInclude(yield* run, { phase: "applied", applied: products, error: null })
          assert.deepInclude(yield* job, done)
          assert.isTrue(Exit.isSuccess(yield* write))
        })
      )

      it.effect("is resumed before the paused process has noticed, which writes nothing more", () =>
        Effect.gen(function* () {
          const { accept, command, job, resume, run } = yield* anImport
          const { fiber, goOn } = yield* heldAt("committed", accept)
          yield* command("pause")
          yield* command("resume")
          yield* goOn
          assert.deepInclude(yield* Fiber.join(fiber), { phase: "applying", applied: 250 })
          assert.deepInclude(yield* job, { state: "queued", done: 250 })
          assert.strictEqual(yield* resume, 1)
          assert.deepInclude(yield* run, { phase: "applied", applied: products })
          assert.deepInclude(yield* job, done)
        })
      )

      for (const isPausedBefore of [false, true])
        it.effect(
          `is cancelled ${isPausedBefore ? "while it is paused" : "while it runs"}: what is applied stays`,
          () =>
            Effect.gen(function* () {
              const { accept, command, csv, imports, actor, job, run, write } = yield* anImport
              const sql = yield* SqlClient.SqlClient
              const { fiber, goOn } = yield* heldAt("committed", accept)
              if (isPausedBefore) yield* command("pause")
              assert.deepInclude(yield* command("cancel"), { state: "cancelled", done: 250 })
              const error =
                "The import was cancelled while it was applied; 250 of 260 products were applied. Import the file again to complete it."
              assert.deepInclude(yield* run, { phase: "failed", applied: 250, error })
              assert.isTrue(Exit.isSuccess(yield* write), "the account is unlocked at once")
              const { id } = yield* run
              const listed = yield* Effect.forEach(ReviewList.literals, (list) =>
                imports.reviewList(id, list, 249, 500)
              ).pipe(actingAs(actor))
              assert.deepStrictEqual(listed.flat(), [])
              assert.strictEqual(yield* imports.forgetStaged, 10)
              const left = sql`SELECT ordinal FROM import_item WHERE run_id = ${id} AND ordinal >= 250`
              assert.deepStrictEqual(yield* left, [])
              yield* goOn
              const refused = yield* Effect.flip(Fiber.join(fiber))
              assert.deepStrictEqual(refused._tag === "ValidationFailed" && refused.issues, [
                { path: "import", message: error }
              ])
              assert.deepInclude(yield* job, { state: "cancelled", done: 250, total: products })
              const late = yield* Effect.flip(command("resume"))
              assert.deepStrictEqual(late._tag === "ValidationFailed" && late.issues, [
                { path: "id", message: "the job is cancelled: only a paused or failed job can be resumed" }
              ])
              const again = yield* csv
              assert.deepInclude(again.summary, { created: 10, updated: 0, unchanged: 250 })
              assert.deepInclude(yield* imports.accept(again.id, quiet).pipe(actingAs(actor)), { phase: "applied" })
            })
        )

      it.effect("waits for another process when its process is stopped, and is made for an import that has none", () =>
        Effect.gen(function* () {
          const { accept, actor, id, job, resume, run } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const { fiber } = yield* heldAt("committed", accept)
          yield* Fiber.interrupt(fiber)
          assert.deepInclude(yield* job, { state: "queued", done: 250 })
          // An earlier version of the service accepts imports without a job.
          yield* sql`DELETE FROM job WHERE account_id = ${actor.accountId} AND id = ${id}`
          assert.strictEqual(yield* resume, 1)
          assert.deepInclude(yield* run, { phase: "applied", applied: products })
          assert.deepInclude(yield* job, done)
        })
      )

      it.effect("fails with the import, and cannot be resumed then", () =>
        Effect.gen(function* () {
          const { accept, actor, command, id, job, resume } = yield* anImport
          const sql = yield* SqlClient.SqlClient
          const repo = yield* ImportsRepo
          const { fiber } = yield* heldAt("committed", accept)
          yield* Fiber.interrupt(fiber)
          const expire = Effect.zipRight(
            sql`UPDATE import_run SET lease_until = app_now() WHERE account_id = ${actor.accountId}`,
            hintImport(actor.accountId)
          )
          // The first takeover follows a stop that released the lease, so it is no interruption.
          for (let takeover = 0; takeover <= 3; takeover++) {
            assert.isTrue(Option.isSome(yield* repo.takeOver({ accountId: actor.accountId, id })))
            yield* expire
          }
          assert.strictEqual(yield* resume, 1)
          const next = "Import the file again to complete it."
          assert.deepInclude(yield* job, {
            state: "failed",
            done: 250,
            problem: { why: "Applying the import was interrupted 4 times; 250 of 260 products were applied.", next }
          })
          const refused = yield* Effect.flip(command("resume"))
          assert.deepStrictEqual(refused._tag === "ValidationFailed" && refused.issues, [
            { path: "id", message: `the job has failed and cannot be resumed. ${next}` }
          ])
        })
      )
    })
  })
