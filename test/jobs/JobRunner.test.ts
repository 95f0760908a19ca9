import { assert, it } from "@effect/vitest"
import { Effect, Logger, Option, Schema, TestClock } from "effect"
import { StatementTimedOut } from "../../src/database/SqlErrors.ts"
import { JobStopped } from "../../src/jobs/Job.ts"
import { anyKind, type StepResult } from "../../src/jobs/JobKind.ts"
import { makeJobRunner, nextSize } from "../../src/jobs/JobRunner.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { Unavailable } from "../../src/model/Errors.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { actingAs, anAccount, TestServices } from "../../src/testing/index.ts"
import { aSettableClock } from "../support/SettableClock.ts"

const silent = Logger.remove(Logger.defaultLogger)

/** Begins a job whose step number `n` runs `step(n)`. */
const aJob = (step: (number: number) => Effect.Effect<StepResult<number>, JobStopped>) =>
  Effect.gen(function* () {
    const { actor } = yield* anAccount()
    const jobs = yield* Jobs
    let steps = 0
    const kind = anyKind({
      name: "publish_waiting",
      input: Schema.Struct({}),
      cursor: Schema.Int,
      sizes: { first: 1, max: 10 },
      step: () => Effect.suspend(() => step(++steps))
    })
    const { runDue } = yield* makeJobRunner([kind])
    const { id } = yield* jobs
      .begin({ kind: "publish_waiting", title: "Count", subject: null, input: {}, total: null })
      .pipe(actingAs(actor))
    const after = (seconds: number) =>
      Effect.gen(function* () {
        yield* TestClock.adjust(seconds * 1_000)
        yield* runDue
        const job = yield* jobs.get(id).pipe(actingAs(actor))
        return { ...job, steps }
      })
    return { after, id, actor, jobs, runDue }
  })

const progress = (cursor: number | null): StepResult<number> => ({ _tag: "Progress", cursor, done: 1 })

it("the size of a step follows the duration of the last one", () => {
  assert.strictEqual(nextSize(100, 50, 1_000), 200)
  assert.strictEqual(nextSize(100, 50, 150), 150)
  assert.strictEqual(nextSize(100, 200, 1_000), 100)
  assert.strictEqual(nextSize(100, 1_000, 1_000), 20)
  assert.strictEqual(nextSize(1, 60_000, 1_000), 1)
})

it.effect("a step that always fails ends the job, which keeps its finished steps and can be resumed", () =>
  Effect.gen(function* () {
    let isBroken = true
    const { actor, after, id, jobs } = yield* aJob((number) =>
      number === 1
        ? Effect.succeed(progress(1))
        : isBroken
          ? Effect.dieMessage("broken")
          : Effect.succeed(progress(null))
    )
    const first = yield* after(0)
    assert.deepInclude(first, {
      state: "queued",
      done: 1,
      steps: 2,
      waiting_for: "another attempt, because a step failed"
    })
    assert.deepInclude(yield* after(0), { steps: 2 }, "not before a second has passed")
    for (const [seconds, steps] of [
      [1, 3],
      [1, 4],
      [2, 5],
      [4, 6]
    ] as const)
      assert.deepInclude(yield* after(seconds), { state: "queued", steps })
    const failed = yield* after(8)
    assert.deepInclude(failed, {
      state: "failed",
      done: 1,
      problem: {
        why: "One step was begun 5 times and never finished. The service's log names the cause.",
        next: "Remove the cause, then resume the job: it continues after its last finished step."
      }
    })
    isBroken = false
    yield* jobs.command("resume", id).pipe(actingAs(actor))
    assert.deepInclude(yield* after(0), { state: "done", done: 2, problem: null })
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("the failures of a step that finished in the end do not count for the next step", () =>
  Effect.gen(function* () {
    const { after } = yield* aJob((number) =>
      number === 5
        ? Effect.succeed(progress(1))
        : number === 7
          ? Effect.succeed(progress(null))
          : Effect.dieMessage("broken")
    )
    for (const [seconds, steps] of [
      [0, 1],
      [1, 2],
      [2, 3],
      [4, 4]
    ] as const)
      assert.deepInclude(yield* after(seconds), { state: "queued", steps })
    assert.deepInclude(yield* after(8), { state: "queued", done: 1, steps: 6 })
    assert.deepInclude(yield* after(1), { state: "done", done: 2, steps: 7 })
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("waits for the database without giving up, states what it waits for, and stops with a reason", () =>
  Effect.gen(function* () {
    const { after } = yield* aJob((number) =>
      number <= 20
        ? Effect.die(new Unavailable())
        : number <= 22
          ? Effect.succeed<StepResult<number>>({ _tag: "Wait", why: "the end of an import", seconds: 2 })
          : new JobStopped({ why: "The store is gone.", next: "Link it." })
    )
    assert.deepInclude(yield* after(0), { state: "queued", waiting_for: "the database", steps: 1 })
    for (let steps = 2; steps <= 20; steps++)
      assert.deepInclude(yield* after(5), { state: "queued", waiting_for: "the database", steps })
    assert.deepInclude(yield* after(5), { state: "queued", waiting_for: "the end of an import", steps: 21 })
    assert.deepInclude(yield* after(1), { steps: 21 })
    assert.deepInclude(yield* after(1), { steps: 22 })
    assert.deepInclude(yield* after(2), {
      state: "failed",
      steps: 23,
      waiting_for: null,
      problem: { why: "The store is gone.", next: "Link it." }
    })
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

/** Begins a job of a kind whose steps are `step`, and returns a function that runs the due jobs. `sizes`: those of all its steps. */
const aSizedJob = (step: (size: number, number: number) => Effect.Effect<StepResult<number>>) =>
  Effect.gen(function* () {
    const { actor } = yield* anAccount()
    const jobs = yield* Jobs
    const sizes: Array<number> = []
    const kind = anyKind({
      name: "publish_waiting",
      input: Schema.Struct({}),
      cursor: Schema.Int,
      sizes: { first: 10, max: 200 },
      step: ({ size }) => Effect.suspend(() => step(size, sizes.push(size)))
    })
    const { runDue } = yield* makeJobRunner([kind])
    const { id } = yield* jobs
      .begin({ kind: "publish_waiting", title: "Count", subject: null, input: {}, total: null })
      .pipe(actingAs(actor))
    const after = (seconds: number) =>
      TestClock.adjust(seconds * 1_000).pipe(Effect.zipRight(runDue), Effect.zipRight(jobs.get(id)), actingAs(actor))
    return { after, sizes }
  })

it.effect("a turn begins with the size that the last step of the job led to", () =>
  Effect.gen(function* () {
    const { after, sizes } = yield* aSizedJob((size, number) =>
      Effect.as(TestClock.adjust(size * 300), progress(number < 4 ? number : null))
    )
    assert.deepInclude(yield* after(0), { state: "done" })
    // 3 s for 10 items end the first turn.
    assert.deepStrictEqual(sizes, [10, 1, 1, 1])
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("a step whose statement takes too long is repeated with fewer items", () =>
  Effect.gen(function* () {
    const { after, sizes } = yield* aSizedJob((_, number) =>
      number <= 2 ? Effect.die(new StatementTimedOut()) : Effect.succeed(progress(number < 4 ? number : null))
    )
    yield* after(0)
    yield* after(5)
    assert.deepInclude(yield* after(5), { state: "done", done: 2 })
    assert.deepStrictEqual(sizes, [10, 5, 2, 4])
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("a job whose processes died begins again with smaller steps", () =>
  Effect.gen(function* () {
    const { after, sizes } = yield* aSizedJob((_, number) => Effect.succeed(progress(number < 3 ? number : null)))
    const { claim } = yield* JobsRepo
    for (const _ of [1, 2]) {
      assert.isTrue(Option.isSome(yield* claim(null, 30)))
      yield* TestClock.adjust("31 seconds")
    }
    assert.deepInclude(yield* after(0), { state: "done" })
    assert.deepStrictEqual(sizes, [2, 4, 8])
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("a step of one item whose statement always takes too long ends the job, which says why", () =>
  Effect.gen(function* () {
    const { after, sizes } = yield* aSizedJob(() => Effect.die(new StatementTimedOut()))
    for (const seconds of [0, 5, 5])
      assert.deepInclude(yield* after(seconds), { state: "queued", waiting_for: "the database" })
    for (const seconds of [5, 1, 2, 4])
      assert.deepInclude(yield* after(seconds), {
        state: "queued",
        waiting_for: "another attempt, because a step failed"
      })
    assert.deepInclude(yield* after(8), {
      state: "failed",
      problem: {
        why: "One step with a single item was begun 5 times, and each time a statement of the database took too long. It may have waited for a lock.",
        next: "Remove the cause, then resume the job: it continues after its last finished step."
      }
    })
    assert.deepStrictEqual(sizes, [10, 5, 2, 1, 1, 1, 1, 1])
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("a job of a kind that this version does not know does not stop the others", () =>
  Effect.gen(function* () {
    const { actor, jobs } = yield* aJob(() => Effect.succeed(progress(null)))
    const { runDue } = yield* makeJobRunner([])
    assert.isAbove(yield* runDue, 0)
    const [job] = yield* jobs.list.pipe(actingAs(actor))
    assert.deepInclude(job, { state: "queued", done: 0 })
    assert.isTrue(Option.isSome(Option.fromNullable(job?.waiting_for)))
  }).pipe(Effect.provide([TestServices, FaultInjector.layer, silent]))
)

it.effect("a turn ends after two seconds, also if the clock is set back in it by two hours", () =>
  Effect.gen(function* () {
    const { adjust, setBack, withClock } = yield* aSettableClock
    let steps = 0
    const { runDue } = yield* aJob((number) => {
      steps = number
      if (number === 1) setBack()
      return Effect.as(adjust("1 second"), progress(number < 6 ? number : null))
    })
    assert.strictEqual(yield* withClock(runDue), 3, "turns of two seconds")
    assert.strictEqual(steps, 6)
  }).pipe(Effect.provide([TestServices, FaultInjector.layer]))
)
