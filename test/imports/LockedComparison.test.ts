import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { afterAll } from "vitest"
import { Drops } from "../../src/drops/Drops.ts"
import { DataHealth } from "../../src/health/DataHealth.ts"
import { defaultRules } from "../../src/health/Health.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { PimLocked } from "../../src/model/Errors.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { hintImport } from "../support/PlantedLeases.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "locked-comparison-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, "export.csv")
writeFileSync(file, "Handle,Title,Variant SKU,Variant Price\nhat,Hat,H-1,5.00\ncap,Cap,C-1,4.00\n")

const { heldAt, layerOn } = makeHolding()

/** An import whose first comparisons were useless, because the catalog changed. It waits after it has locked the account. */
const aLockedComparison = Effect.gen(function* () {
  const imports = yield* Imports
  const { actor } = yield* anAccount({ domains: ["us.example"] })
  const write = anEntity("media", { alt: "edited meanwhile" }).pipe(actingAs(actor))
  const refusal = Effect.flip(Effect.catchAllDefect(write, (defect) => Effect.fail(defect as PimLocked)))
  const csv = imports.csv(file, "us.example", () => Effect.void).pipe(actingAs(actor))
  const first = yield* heldAt("staged", csv)
  yield* write
  const second = yield* heldAt("staged", Effect.zipRight(first.goOn, Fiber.join(first.fiber)))
  yield* write
  const third = yield* heldAt("locked", Effect.zipRight(second.goOn, Fiber.join(second.fiber)))
  const newest = Effect.flatMap(actingAs(actor)(imports.list), ([run]) => Effect.fromNullable(run))
  return { ...third, actor, csv, first: first.fiber, imports, newest, refusal, write }
})

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`comparisons of imports, on ${engine.name}`, () => {
    const TestLayer = layerOn(engine.layer)

    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("lock the account the third time if it is edited all the time, and begin the review then", () =>
        Effect.gen(function* () {
          const { actor, csv, fiber, goOn, imports, newest, refusal, write } = yield* aLockedComparison
          const run = yield* newest
          assert.deepInclude(run, { phase: "fetching", isLocking: true })
          assert.deepInclude(Option.getOrThrow(yield* imports.holder.pipe(actingAs(actor))), { id: run.id })
          assert.strictEqual((yield* refusal)._tag, "PimLocked")
          assert.strictEqual(
            (yield* Effect.flip(csv)).message,
            `import ${run.id} is being compared with the catalog: see \`catalog import show ${run.id}\`, and accept or discard it when it is under review`
          )
          const comparing = yield* heldAt("staged", Effect.zipRight(goOn, Fiber.join(fiber)))
          // As the outcome of a publish that was requested before.
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            WITH raised AS (
              UPDATE account_state SET version = version + 1 WHERE account_id = ${actor.accountId}
              RETURNING account_id, version
            )
            INSERT INTO change_note (account_id, version, entities, skus, moved, last_seq, at)
            SELECT account_id, version, '{}', '{}', '[]', 0, now() FROM raised`
          yield* comparing.goOn
          const reviewed = yield* Fiber.join(comparing.fiber)
          assert.deepInclude(reviewed, { id: run.id, phase: "reviewing", isLocking: true })
          assert.strictEqual(reviewed.summary.created, 2)
          assert.strictEqual((yield* refusal)._tag, "PimLocked")
          yield* imports.discard(run.id).pipe(actingAs(actor))
          assert.deepInclude(yield* newest, { phase: "discarded", isLocking: false })
          yield* write
        })
      )

      it.effect("are not repeated if only scans, health rules and drops raised the account's version", () =>
        Effect.gen(function* () {
          const imports = yield* Imports
          const { accountId, actor, stores } = yield* anAccount({ domains: ["us.example"] })
          for (const store of stores) yield* (yield* StoresRepo).link(accountId, { ...store, platform: "demo" })
          yield* Effect.gen(function* () {
            const entityId = yield* anEntity("product", { title: "Tent" }, { on: stores })
            let comparisons = 0
            const csv = imports.csv(file, "us.example", ({ done, step, total }) =>
              Effect.sync(() => {
                if (step === "comparing" && done === total) comparisons++
              })
            )
            const { fiber, goOn } = yield* heldAt("staged", csv)
            const health = yield* DataHealth
            yield* health.scan("media")
            yield* health.setRules(defaultRules)
            yield* (yield* Drops).create({
              name: "Sale",
              starts_at: fromMillis(Date.now() + 3_600_000),
              ends_at: null,
              timezone: "Europe/Lisbon",
              changes: [{ entity_id: entityId, store_id: null, field: "vendor", value: "Fell" }]
            })
            yield* goOn
            assert.deepInclude(yield* Fiber.join(fiber), { phase: "reviewing" })
            assert.strictEqual(comparisons, 1)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("refuse a file that was replaced after its check", () =>
        Effect.gen(function* () {
          const imports = yield* Imports
          const { actor } = yield* anAccount({ domains: ["us.example"] })
          yield* Effect.gen(function* () {
            const lines = "Handle,Title\nhat,Hat\n"
            const path = join(folder, "replaced.csv")
            writeFileSync(path, lines)
            const { fiber, goOn } = yield* heldAt(
              "checked",
              imports.csv(path, "us.example", () => Effect.void)
            )
            writeFileSync(join(folder, "newer.csv"), lines.replace("Hat", "Cap"))
            renameSync(join(folder, "newer.csv"), path)
            yield* goOn
            const refused = yield* Effect.flip(Fiber.join(fiber))
            const reason = "The file was changed or replaced while it was read: import it again."
            const problems = [{ line: null, column: null, reason }] as const
            assert.deepInclude(refused, { _tag: "ImportFileRejected", problems, count: 1 })
            const [run] = yield* imports.list
            assert.deepInclude(run, { phase: "failed", error: reason, isLocking: false })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("unlock the account if they are interrupted", () =>
        Effect.gen(function* () {
          const { first, newest, write } = yield* aLockedComparison
          yield* Fiber.interrupt(first)
          assert.deepInclude(yield* newest, {
            phase: "failed",
            error: "The import was interrupted.",
            isLocking: false
          })
          yield* write
        })
      )

      it.effect("unlock the account if their process is gone", () =>
        Effect.gen(function* () {
          const { actor, fiber, goOn, imports, newest, write } = yield* aLockedComparison
          const sql = yield* SqlClient.SqlClient
          yield* sql`UPDATE import_run SET lease_until = app_now() WHERE account_id = ${actor.accountId}`
          yield* hintImport(actor.accountId)
          assert.strictEqual(yield* imports.resume(Option.none()), 1)
          const gone = {
            phase: "failed",
            error: "The process that read the file stopped; import it again.",
            isLocking: false
          } as const
          assert.deepInclude(yield* newest, gone)
          yield* write
          // The process was slow only: its comparison has no effect.
          yield* goOn
          assert.strictEqual(
            (yield* Effect.flip(Fiber.join(fiber))).message,
            "import: stopped because its lease expired: import the file again"
          )
          assert.deepInclude(yield* newest, gone)
          yield* write
        })
      )
    })
  })
