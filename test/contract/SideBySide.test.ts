import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Predicate, Redacted } from "effect"
import * as fc from "fast-check"
import { afterAll } from "vitest"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { Accounts, ApiKeys } from "../../src/testing/index.ts"
import { report, seed } from "../faults/Dice.ts"
import { isLong, runsPlanted } from "../support/Volume.ts"
import { carryOut, observe, type World } from "./sidebyside/CarryOut.ts"
import { carryOutService } from "./sidebyside/CarryOutServices.ts"
import { beginning, ending, type Operation, operation } from "./sidebyside/Operations.ts"
import {
  isOfService,
  type ServiceOperation,
  serviceBeginning,
  serviceOperation
} from "./sidebyside/ServiceOperations.ts"
import {
  everySide,
  memorySide,
  type Plant,
  type Provided,
  runOn,
  type Side,
  time,
  uuidsOf
} from "./sidebyside/Sides.ts"

/** The number of sequences that all implementations execute, and their maximum length. */
const volume = isLong ? { sequences: 100, operations: 80 } : { sequences: 3, operations: 20 }

/** The number of sequences in which every planted fault must be found. */
const plantedSequences = 300

const folder = mkdtempSync(join(tmpdir(), "side-by-side-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Outcome<A> {
  readonly answer?: A
  /** Name and message of the error. */
  readonly refusal?: ReadonlyArray<string>
}

/** The outcome of an operation. A defect ends the run. */
const outcomeOf = <A, E>(exit: Exit.Exit<A, E>): Effect.Effect<Outcome<A>> =>
  Exit.match(exit, {
    onSuccess: (answer) => Effect.succeed({ answer }),
    onFailure: (cause) =>
      cause._tag === "Fail" && cause.error instanceof Error
        ? Effect.succeed({ refusal: [cause.error.name, cause.error.message] })
        : Effect.dieMessage(Cause.pretty(cause))
  })

/** The position and the values of the first difference between two answers; undefined if they are equal. */
const differenceOf = (left: unknown, right: unknown, path = "answer"): string | undefined => {
  if (isDeepStrictEqual(left, right)) return undefined
  if (Predicate.isObject(left) && Predicate.isObject(right)) {
    const members = (value: object) => new Map(Object.entries(value))
    const [those, these] = [members(left), members(right)]
    for (const key of new Set([...those.keys(), ...these.keys()])) {
      const inside = differenceOf(those.get(key), these.get(key), `${path}.${key}`)
      if (inside !== undefined) return inside
    }
  }
  return `${path}: ${JSON.stringify(right)} and ${JSON.stringify(left)}`
}

/** Counts of executed operations, to assert that the sequences did something. */
const counts = () => ({ sequences: 0, answered: {} as Record<string, number>, refused: {} as Record<string, number> })

const count = (among: Record<string, number>, name: string) => {
  among[name] = (among[name] ?? 0) + 1
}

const executed = (each: Operation | ServiceOperation, world: World) =>
  Effect.gen(function* () {
    return isOfService(each) ? yield* carryOutService(each, world) : yield* carryOut(each, world)
  })

let started = 0

/** Executes operations on every implementation, in a new account. Dies if two answers differ. */
const compare = (
  sides: ReadonlyArray<Side>,
  operations: ReadonlyArray<Operation | ServiceOperation>,
  counted: ReturnType<typeof counts>
) =>
  Effect.gen(function* () {
    const name = `${seed} ${started++}`
    const hands = sides.map((side) => ({ side, token: "" }))
    type Hand = (typeof hands)[number]
    let step = 0

    const same = <A, E>(what: () => string, effect: (hand: Hand) => Effect.Effect<A, E, Provided>) =>
      Effect.gen(function* () {
        step += 1
        // A transaction that is repeated draws ids again. Each step begins with its own, so later steps are not affected.
        const outcomes = yield* Effect.forEach(hands, (hand) => {
          const on = runOn(hand.side, uuidsOf(`${name}, step ${step}`))
          return hand.side.tell.pipe(Effect.zipRight(Effect.exit(on(effect(hand)))), Effect.flatMap(outcomeOf))
        })
        const [first, ...others] = outcomes
        if (first === undefined) return yield* Effect.dieMessage("there is no side")
        for (const [index, other] of others.entries()) {
          const difference = differenceOf(first, other)
          if (difference !== undefined)
            return yield* Effect.dieMessage(
              `${what()}: ${sides[index + 1]?.name} differs from ${sides[0]?.name} at ${difference}`
            )
        }
        return first
      })

    const created = yield* same(
      () => "a new account",
      (hand) =>
        Effect.gen(function* () {
          const account = yield* (yield* Accounts).create("Side by side")
          const key = yield* (yield* ApiKeys).create(account.id, {
            name: "Main",
            scopes: ["pim:read"],
            expiresAt: null
          })
          hand.token = Redacted.value(key.token)
          return account
        })
    )
    if (created.answer === undefined) return yield* Effect.dieMessage("there is no account")
    const { id: accountId } = created.answer
    const ids = uuidsOf(`${name}, entities`)
    let world: World = {
      accountId,
      folder,
      entities: [],
      storeIds: [],
      keyIds: [],
      importIds: [],
      cursors: [],
      feedCursors: [],
      dropIds: [],
      fresh: []
    }
    const asOurs = Effect.provideService(CurrentActor, { _tag: "Cli", accountId })

    for (const [index, each] of [...beginning, ...operations, ...ending].entries()) {
      if (each.do === "wait") time.millis += each.millis
      world = { ...world, fresh: Array.from({ length: 4 }, () => EntityId.make(ids())) }
      const what = () => `seed ${seed}, operation ${index} ${JSON.stringify(each)}`
      const { answer, refusal } = yield* same(what, () => asOurs(executed(each, world)))
      count(refusal === undefined ? counted.answered : counted.refused, each.do)
      const seen = yield* same(
        () => `after ${what()}`,
        ({ token }) => asOurs(observe(world, token, each))
      )
      if (seen.answer === undefined) return yield* Effect.dieMessage(`after ${what()}: ${seen.refusal?.join()}`)
      const { drops, imports, keys, rows, stores } = seen.answer
      const cursor = (answer as { readonly next_cursor?: string | null } | undefined)?.next_cursor
      world = {
        ...world,
        entities: rows.flatMap(({ data }) =>
          data.map(({ id, product_id, type, updated_at }) => ({
            id,
            kind: type,
            parentId: product_id ?? null,
            updatedAt: updated_at
          }))
        ),
        storeIds: [...new Set([...world.storeIds, ...stores.data.map(({ id }) => id)])],
        keyIds: keys.filter(({ name }) => name !== "Main").map(({ id }) => id),
        importIds: [...imports]
          .sort((left, right) => Number(right.phase === "reviewing") - Number(left.phase === "reviewing"))
          .map(({ id }) => id),
        cursors: each.do === "list" && cursor ? [...world.cursors, cursor] : world.cursors,
        feedCursors: each.do === "feed" && cursor ? [...world.feedCursors, cursor] : world.feedCursors,
        dropIds: drops.map(({ id }) => id)
      }
    }
    yield* same(
      () => `seed ${seed}, at the end`,
      ({ token }) => asOurs(observe(world, token))
    )
    counted.sequences += 1
  })

const sequence = (each: fc.Arbitrary<Operation | ServiceOperation>, operations: number) =>
  fc.array(each, { minLength: operations / 2, maxLength: operations, size: "max" })

const search = (
  sides: ReadonlyArray<Side>,
  {
    counted,
    each = operation,
    first = [],
    ...options
  }: {
    readonly sequences: number
    readonly operations: number
    readonly counted: ReturnType<typeof counts>
    /** The operations of a sequence: these, and then random ones. */
    readonly first?: ReadonlyArray<Operation | ServiceOperation>
    readonly each?: fc.Arbitrary<Operation | ServiceOperation>
  },
  /** Whether a failure is reported as it was found. Otherwise a shorter sequence is searched, which takes longer than a test may. */
  endOnFailure: boolean
) =>
  Effect.promise(() =>
    Promise.resolve(
      fc.check(
        fc.asyncProperty(sequence(each, options.operations), (operations) =>
          Effect.runPromise(compare(sides, [...first, ...operations], counted))
        ),
        { seed, numRuns: options.sequences, endOnFailure }
      )
    )
  )

const reasonOf = <Values>(result: fc.RunDetails<Values>) =>
  `${fc.defaultReportMessage(result)}\n${result.errorInstance instanceof Error ? result.errorInstance.message : ""}`

/** In-memory implementations with one fault each. */
const planted: Readonly<Record<string, Plant>> = {
  "a store edit raises no revision": Layer.effect(
    DraftsRepo,
    Effect.map(DraftsRepo, (drafts) => ({
      ...drafts,
      raise: (accountId, plan) => drafts.raise(accountId, plan && { ...plan, drafted: [] })
    }))
  ),
  "an unlinked store leaves its entities as they were": Layer.effect(
    StoresRepo,
    Effect.map(StoresRepo, (stores) => ({
      ...stores,
      refresh: (...some) => Effect.map(stores.refresh(...some), (refreshed) => ({ ...refreshed, stale: [] }))
    }))
  ),
  "an import leaves no record on its store": Layer.effect(
    StoresRepo,
    Effect.map(StoresRepo, (stores) => ({ ...stores, recordImport: () => Effect.void }))
  ),
  "updated_since left the time itself out": Layer.effect(
    CatalogRepo,
    Effect.map(CatalogRepo, (catalog) => ({
      ...catalog,
      page: (accountId, kind, { updatedSince, ...filters }, after, limit) =>
        catalog.page(
          accountId,
          kind,
          { ...filters, updatedSince: updatedSince && plusMicros(updatedSince, 1) },
          after,
          limit
        )
    }))
  )
}

describe("the in-memory implementations and SQL", () => {
  it.scopedLive("return the same after every operation of random sequences", () =>
    Effect.gen(function* () {
      const sides = yield* everySide
      assert.isAbove(sides.length, 1)
      const counted = counts()
      const result = yield* search(sides, { ...volume, counted }, !isLong)
      assert.isFalse(result.failed, reasonOf(result))
      report("Side by side", { sides: sides.map(({ name }) => name), ...counted })
      assert.strictEqual(counted.sequences, volume.sequences)
      for (const done of ["apply", "link", "unlink", "import"])
        assert.isAtLeast(counted.answered[done] ?? 0, volume.sequences, done)
    })
  )

  it.scopedLive(
    "return the same after every operation of services: drafts, publishes, drops, data health, bulk changes",
    () =>
      Effect.gen(function* () {
        const sides = yield* everySide
        assert.isAbove(sides.length, 1)
        const counted = counts()
        const each = { ...volume, counted, first: serviceBeginning, each: serviceOperation }
        const result = yield* search(sides, each, !isLong)
        assert.isFalse(result.failed, reasonOf(result))
        report("Side by side, services", { sides: sides.map(({ name }) => name), ...counted })
        for (const { do: done } of serviceBeginning)
          assert.isAtLeast(counted.answered[done] ?? 0, volume.sequences, done)
      })
  )

  for (const [difference, plant] of Object.entries(planted))
    it.scopedLive.runIf(runsPlanted)(`are found to differ if ${difference} (planted fault)`, () =>
      Effect.gen(function* () {
        const sides = yield* Effect.all([memorySide("memory"), memorySide("wrong memory", plant)])
        const result = yield* search(sides, { sequences: plantedSequences, operations: 60, counted: counts() }, true)
        assert.isTrue(result.failed, `seed ${seed}`)
        assert.include(reasonOf(result), "wrong memory differs from memory")
      })
    )
})
