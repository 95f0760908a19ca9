import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AccountEventsRepo } from "../../src/events/AccountEventsRepo.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aConflictReview } from "../support/ConflictReview.ts"
import { featureEngines } from "../support/TestDatabase.ts"

for (const engine of featureEngines)
  describe.skipIf(engine.absent)(`decisions on conflicts on ${engine.name}`, () => {
    const TestLayer = Imports.layer.pipe(
      Layer.provide(FaultInjector.layer),
      Layer.provideMerge(Services),
      Layer.provideMerge(RepositoriesOnDatabase),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("save all decisions of a form or none", () =>
        Effect.gen(function* () {
          const { actor, id } = yield* aConflictReview(4)
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const decided = Effect.map(imports.conflicts(id, 0, 3), (conflicts) =>
              conflicts.map((each) => each.decision)
            )
            yield* imports.decide(id, [2], "take_store")
            const refused = yield* Effect.flip(
              imports.decideEach(id, {
                decisions: new Map([1, 2, 3].map((conflict) => [conflict, "keep_draft"] as const)),
                seen: new Map([1, 2, 3].map((conflict) => [conflict, null]))
              })
            )
            assert.deepInclude(refused, { _tag: "DecidedMeanwhile", conflicts: [2] })
            assert.strictEqual(refused.message, "these conflicts were decided meanwhile: 2")
            assert.deepStrictEqual(yield* decided, [null, "take_store", null])
            // The same choice by two people is not a conflict between them.
            assert.strictEqual(
              yield* imports.decideEach(id, { decisions: new Map([[2, "take_store"]]), seen: new Map([[2, null]]) }),
              1
            )
            const accepting = yield* Effect.flip(
              imports.startAccepting(id, { seen: new Map([[2, null]]), rest: "keep_draft" })
            )
            assert.deepInclude(accepting, { _tag: "DecidedMeanwhile", conflicts: [2] })
            assert.deepStrictEqual(yield* decided, [null, "take_store", null])
            assert.deepInclude(yield* imports.get(id), { phase: "reviewing", applied: 0 })
          }).pipe(actingAs(actor))
        })
      )

      it.effect("are seen by a process that hears no announcements, each time that they change", () =>
        Effect.gen(function* () {
          const { actor, id } = yield* aConflictReview(4)
          const { read } = yield* AccountEventsRepo
          yield* Effect.gen(function* () {
            const imports = yield* Imports
            const before = yield* imports.get(id)
            const state = Effect.map(read(actor.accountId), (work) => work?.import)
            const seen = [yield* state]
            for (const decision of ["take_store", "keep_draft"] as const) {
              yield* imports.decide(id, [2], decision)
              seen.push(yield* state)
            }
            assert.strictEqual(new Set(seen).size, 3)
            // A form without a decision changes nothing.
            assert.strictEqual(yield* imports.decideEach(id, { decisions: new Map(), seen: new Map() }), 0)
            assert.strictEqual(yield* state, seen.at(-1))
            // The review is discarded seven days after it began, however often somebody decides.
            assert.strictEqual((yield* imports.get(id)).updatedAt, before.updatedAt)
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "made for all conflicts at once keep earlier decisions, unless the person confirms that they are replaced",
        () =>
          Effect.gen(function* () {
            const { actor, id } = yield* aConflictReview(4)
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const none = { decisions: new Map(), seen: new Map() }
              const decided = Effect.map(imports.conflicts(id, 0, 4), (conflicts) =>
                conflicts.map((each) => each.decision)
              )
              const digestOf = Effect.map(imports.tally(id), ({ digest }) => digest)
              const refusal = {
                _tag: "DecidedMeanwhile",
                conflicts: [] as ReadonlyArray<number>,
                message: "other decisions were made meanwhile"
              } as const
              yield* imports.decide(id, [2], "take_store")
              const before = yield* digestOf
              const bulk = { decision: "keep_draft", choices: none } as const
              assert.isTrue(yield* imports.decideAll(id, bulk))
              assert.deepStrictEqual(yield* decided, ["keep_draft", "take_store", "keep_draft", "keep_draft"])
              assert.deepInclude(yield* imports.tally(id), { undecided: 0, first: [], keep_draft: 3, take_store: 1 })
              assert.isFalse(yield* imports.decideAll(id, bulk))

              // The page that the person saw does not show the newest decisions.
              const stale = yield* Effect.flip(imports.decideAll(id, { ...bulk, replaces: before }))
              assert.deepInclude(stale, refusal)
              const replacing = { ...bulk, replaces: yield* digestOf }
              assert.isTrue(yield* imports.decideAll(id, replacing))
              assert.deepStrictEqual(yield* decided, Array(4).fill("keep_draft"))
              // A second click changes nothing.
              assert.isFalse(yield* imports.decideAll(id, replacing))

              // The choices of the form are saved before the decision for all.
              const choices = {
                decisions: new Map([[3, "keep_draft"]] as const),
                seen: new Map([[3, "keep_draft"]] as const)
              }
              const taking = { decision: "take_store", choices, replaces: yield* digestOf } as const
              assert.isTrue(yield* imports.decideAll(id, taking))
              assert.deepStrictEqual(yield* decided, ["take_store", "take_store", "keep_draft", "take_store"])
              assert.isTrue(yield* imports.decideAll(id, taking))
              assert.deepStrictEqual(yield* decided, ["take_store", "take_store", "keep_draft", "take_store"])
              const seen = { decisions: new Map([[1, "keep_draft"]] as const), seen: new Map([[1, null]] as const) }
              assert.deepInclude(yield* Effect.flip(imports.decideAll(id, { decision: "take_store", choices: seen })), {
                _tag: "DecidedMeanwhile",
                conflicts: [1]
              })
            }).pipe(actingAs(actor))
          })
      )
    })
  })
