import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeSaving } from "../../src/imports/Imports.ts"
import type { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { AccountId, ImportId } from "../../src/model/Ids.ts"
import { aSettableClock } from "../support/SettableClock.ts"

it.effect("progress of a step is saved each half second, also if the clock is set back by two hours", () =>
  Effect.gen(function* () {
    const { adjust, setBack, withClock } = yield* aSettableClock
    const saved: Array<string> = []
    const repo: Pick<ImportsRepo["Type"], "saveProgress"> = {
      saveProgress: (_, { done, step }) => Effect.sync(() => saved.push(`${step} ${done}`))
    }
    const id = "0d0e0a0d-0000-4000-8000-000000000001"
    const report = makeSaving(repo)(AccountId.make(id), ImportId.make(id))
    yield* Effect.gen(function* () {
      for (let done = 0; done < 8; done++) {
        if (done === 3) setBack()
        yield* report({ step: "fetching", done, total: 0 })
        yield* adjust("250 millis")
      }
      yield* report({ step: "comparing", done: 0, total: 8 })
    }).pipe(withClock)
    assert.deepStrictEqual(saved, ["fetching 0", "fetching 2", "fetching 4", "fetching 6", "comparing 0"])
  })
)
