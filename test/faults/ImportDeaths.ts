import { once } from "node:events"
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { AccountId } from "../../src/model/Ids.ts"
import type { FaultStep } from "../../src/runtime/FaultInjector.ts"
import { actingAs, CatalogChanges } from "../../src/testing/index.ts"
import { TestDatabaseUrl } from "../support/TestDatabase.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"

export const leaseSeconds = 60

/** The step at which an import dies with its process. */
export interface Death {
  readonly step: FaultStep
  readonly occurrence: number
}

/** Begins imports in one process, or takes them over, and kills it when each has come to its step. */
export const importDeaths = () => {
  const program = bundledProgram("test/faults/CrashImporter.ts")
  return (deaths: ReadonlyArray<Death & { readonly accountId: AccountId }>, more: Readonly<Record<string, string>>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const child = yield* startProgram(program, {
          IMPORT_DATABASE_URL: Redacted.value(yield* TestDatabaseUrl),
          IMPORT_DEATHS: JSON.stringify(deaths),
          ...more
        })
        if (child.exitCode === null && child.signalCode === null) yield* Effect.promise(() => once(child, "exit"))
        assert.strictEqual(child.signalCode, "SIGKILL", `an import came past its step: ${JSON.stringify(deaths)}`)
      })
    )
}

/** Whether draft writes are refused. The check changes nothing. */
export const refusesWrites = (accountId: AccountId) =>
  Effect.flatMap(CatalogChanges, ({ apply }) => apply([])).pipe(
    Effect.as(false),
    Effect.catchTag("PimLocked", () => Effect.succeed(true)),
    actingAs({ _tag: "Cli", accountId })
  )
