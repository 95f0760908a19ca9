import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Either, Layer, Ref } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { ConflictDecision } from "../../src/imports/Import.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import type { ImportId } from "../../src/model/Ids.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aConflictReview } from "../support/ConflictReview.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { layerServices } from "./ServerServices.ts"

const conflictCount = 24
const rounds = amount(10, 100)
const numbers = Array.from({ length: conflictCount }, (_, n) => n + 1)
const both: ReadonlyArray<ConflictDecision> = ["keep_draft", "take_store"]

const ImportsLive = Imports.layer.pipe(Layer.provide(FaultInjector.layer))
const Live = ImportsLive.pipe(Layer.provideMerge(layerServices(8)), Layer.orDie)

/**
 * The service with a planted fault: decisions share the import lock, as writers of drafts do, so two of them can run
 * at the same time. `repo` makes both read before one of them writes.
 */
const withoutLock = (repo: (right: ImportsRepo["Type"]) => Partial<ImportsRepo["Type"]>) =>
  Layer.fresh(ImportsLive).pipe(
    Layer.provide(
      Layer.effect(
        ImportLockRepo,
        Effect.map(ImportLockRepo, (lock) => ({ ...lock, takeDuringImport: lock.shareDuringImport }))
      )
    ),
    Layer.provide(
      Layer.effect(
        ImportsRepo,
        Effect.map(ImportsRepo, (right) => ({ ...right, ...repo(right) }))
      )
    )
  )

const decide = (id: ImportId, conflict: number, decision: ConflictDecision, seen: ConflictDecision | null) =>
  Effect.flatMap(Imports, (imports) =>
    Effect.either(
      imports.decideEach(id, { decisions: new Map([[conflict, decision]]), seen: new Map([[conflict, seen]]) })
    )
  )

/** Two people decide the same conflicts differently at the same time. Returns the conflicts whose saved decision was lost. */
const raceOfTwo = (id: ImportId, conflicts: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const answers = yield* Effect.forEach(
      conflicts.flatMap((conflict) => both.map((decision) => ({ conflict, decision }))),
      (choice) =>
        Effect.map(decide(id, choice.conflict, choice.decision, null), (answer) => ({ ...choice, ...{ answer } })),
      { concurrency: "unbounded" }
    )
    for (const { answer, conflict } of answers)
      if (Either.isLeft(answer)) assert.deepInclude(answer.left, { _tag: "DecidedMeanwhile", conflicts: [conflict] })
    return yield* lostOf(
      id,
      answers.filter(({ answer }) => Either.isRight(answer))
    )
  })

/** The conflicts whose final decision is not the last saved one. */
const lostOf = (
  id: ImportId,
  saved: ReadonlyArray<{ readonly conflict: number; readonly decision: ConflictDecision }>
) =>
  Effect.gen(function* () {
    const stored = yield* (yield* Imports).conflicts(id, 0, conflictCount)
    const decisionOf = new Map(stored.map(({ conflict, decision }) => [conflict, decision]))
    return saved
      .filter(({ conflict, decision }) => decisionOf.get(conflict) !== decision)
      .map(({ conflict }) => conflict)
  })

/**
 * One person takes every value of the store, and confirms that this replaces an earlier decision. At the same time others, who saw
 * the store's value, keep the draft of these conflicts. Returns the conflicts whose saved decision was lost.
 */
const raceWithAll = (id: ImportId, conflicts: ReadonlyArray<number>, begin: Effect.Effect<void> = Effect.void) =>
  Effect.gen(function* () {
    const imports = yield* Imports
    yield* imports.decide(id, "all", "take_store")
    yield* imports.decide(id, [1], "keep_draft")
    const { digest } = yield* imports.tally(id)
    const all = imports.decideAll(id, {
      decision: "take_store",
      choices: { decisions: new Map(), seen: new Map() },
      replaces: digest
    })
    const [answer, saved] = yield* Effect.all(
      [
        Effect.either(all),
        Effect.zipRight(
          begin,
          Effect.forEach(
            conflicts,
            (conflict) =>
              Effect.map(decide(id, conflict, "keep_draft", "take_store"), (each) => {
                assert.isTrue(Either.isRight(each))
                return { conflict, decision: "keep_draft" as const }
              }),
            { concurrency: "unbounded" }
          )
        )
      ],
      { concurrency: 2 }
    )
    if (Either.isLeft(answer)) assert.deepInclude(answer.left, { _tag: "DecidedMeanwhile", conflicts: [] })
    return yield* lostOf(id, saved)
  })

describe.skipIf(!serverAnswers)("two people who decide the conflicts of an import at once", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect("lose no decision: one of them is saved, and the other person is told", () =>
      Effect.gen(function* () {
        const { actor, id } = yield* aConflictReview(conflictCount)
        assert.deepStrictEqual(yield* raceOfTwo(id, numbers).pipe(actingAs(actor)), [])
      })
    )

    it.effect("lose one without the lock (planted fault)", () =>
      Effect.gen(function* () {
        const { actor, id } = yield* aConflictReview(conflictCount)
        const reads = yield* Ref.make(0)
        const read = yield* Deferred.make<void>()
        const planted = withoutLock((repo) => ({
          decisions: (...conflicts) =>
            Effect.tap(repo.decisions(...conflicts), () =>
              Effect.flatMap(
                Ref.updateAndGet(reads, (count) => count + 1),
                (count) => (count === 2 ? Deferred.succeed(read, undefined) : Deferred.await(read))
              )
            )
        }))
        assert.deepStrictEqual(yield* raceOfTwo(id, [7]).pipe(Effect.provide(planted), actingAs(actor)), [7])
      })
    )

    it.effect("lose no decision while one of them replaces all decisions", () =>
      Effect.gen(function* () {
        const { actor, id } = yield* aConflictReview(conflictCount)
        for (let round = 0; round < rounds; round++)
          assert.deepStrictEqual(
            yield* raceWithAll(id, [2 + (round % 5), 12]).pipe(actingAs(actor)),
            [],
            `round ${round}`
          )
      })
    )

    it.effect("lose decisions between the count and the replacement without the lock (planted fault)", () =>
      Effect.gen(function* () {
        const { actor, id } = yield* aConflictReview(conflictCount)
        const counted = yield* Deferred.make<void>()
        const decided = yield* Deferred.make<void>()
        const counts = yield* Ref.make(0)
        const planted = withoutLock((repo) => ({
          // The first count is for the page, the second one for the replacement.
          tally: (...run) =>
            Effect.tap(repo.tally(...run), () =>
              Effect.flatMap(
                Ref.updateAndGet(counts, (count) => count + 1),
                (count) =>
                  count === 2
                    ? Effect.zipRight(Deferred.succeed(counted, undefined), Deferred.await(decided))
                    : Effect.void
              )
            )
        }))
        const lost = yield* Effect.gen(function* () {
          const imports = yield* Imports
          const telling = Imports.of({
            ...imports,
            decideEach: (...choices) =>
              Effect.ensuring(imports.decideEach(...choices), Deferred.succeed(decided, undefined))
          })
          return yield* raceWithAll(id, [9], Deferred.await(counted)).pipe(Effect.provideService(Imports, telling))
        }).pipe(Effect.provide(planted), actingAs(actor))
        assert.deepStrictEqual(lost, [9])
      })
    )
  })
})
