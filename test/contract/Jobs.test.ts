import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { type JobKindName, maxJobItems } from "../../src/jobs/Job.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { EntityId, JobId, nilUuid } from "../../src/model/Ids.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { advance, layerMovableClock, layerStarted } from "../support/MovableClock.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const dayMillis = 86_400_000

const begin = (actor: Actor, subject: string | null, kind: JobKindName = "publish_waiting") =>
  Effect.flatMap(Jobs, (jobs) => jobs.begin({ kind, title: "Do it", subject, input: { to: "do" }, total: 10 })).pipe(
    actingAs(actor)
  )

const claimed = (actor: Actor, id: JobId) =>
  Effect.map(
    Effect.flatMap(JobsRepo, (repo) => repo.claim({ accountId: actor.accountId, id }, 30)),
    Option.getOrThrow
  )

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`jobs on ${engine.name}`, () => {
    const TestLayer = layerStarted.pipe(Layer.provideMerge(engine.layer), Layer.provideMerge(layerMovableClock))
    layer(TestLayer, { excludeTestServices: true })((it) => {
      it.effect("a job is claimed by one process, keeps the results of its steps, and ends", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { accountId } = actor
          const repo = yield* JobsRepo
          const { id, ...begun } = yield* begin(actor, null)
          const { author, created_at, ...rest } = begun
          assert.strictEqual(author.kind, "cli")
          assert.deepStrictEqual(rest, {
            kind: "publish_waiting",
            title: "Do it",
            state: "queued",
            done: 0,
            total: 10,
            result: {},
            errors: [],
            error_count: 0,
            deleted: [],
            problem: null,
            waiting_for: null,
            waits_for_platform: false,
            started_at: null,
            ended_at: null
          })
          const job = yield* claimed(actor, id)
          assert.deepStrictEqual([job.kind, job.attempts, job.actor], ["publish_waiting", 1, actor])
          assert.isTrue(Option.isNone(yield* repo.claim({ accountId, id }, 30)))
          assert.deepStrictEqual(Option.getOrThrow(yield* repo.lockClaimed(job)), { input: { to: "do" }, cursor: null })
          const error = (number: number) => ({ item: `product ${number}`, message: "no" })
          const ids = Array.from({ length: 2 * maxJobItems + 1 }, () => EntityId.make(randomUUID()))
          const deleted = ids.map((id, index) => ({ id, kind: "variant", name: `Tent: "S", T-${index}` }) as const)
          yield* repo.save(
            job,
            {
              cursor: { at: 3 },
              done: 3,
              counts: { requested: 2, refused: 1 },
              errors: [error(0)],
              deleted: deleted.slice(0, 2)
            },
            30
          )
          assert.deepStrictEqual(Option.getOrThrow(yield* repo.lockClaimed(job)).cursor, { at: 3 })
          yield* repo.save(
            job,
            {
              cursor: null,
              done: 7,
              counts: { requested: 1, changed: 5 },
              errors: Array.from({ length: 2 * maxJobItems }, (_, index) => error(index + 1)),
              deleted: deleted.slice(2)
            },
            30
          )
          const ended = Option.getOrThrow(yield* repo.find(accountId, id))
          assert.deepInclude(ended, {
            state: "done",
            done: 10,
            result: { requested: 3, refused: 1, changed: 5 },
            error_count: 201
          })
          assert.deepStrictEqual(
            ended.errors,
            Array.from({ length: maxJobItems }, (_, index) => error(index))
          )
          assert.deepStrictEqual(ended.deleted, deleted.slice(0, maxJobItems))
          assert.isNotNull(ended.started_at)
          assert.isNotNull(ended.ended_at)
          assert.strictEqual(ended.created_at, created_at)
          assert.isTrue(Option.isNone(yield* repo.lockClaimed(job)))
          assert.isTrue(Option.isNone(yield* repo.claim({ accountId, id }, 30)))
        })
      )

      it.effect("accounts take turns, however many jobs each of them has and whether its jobs end or go on", () =>
        Effect.gen(function* () {
          const [many, one] = [yield* anAccount(), yield* anAccount()]
          const repo = yield* JobsRepo
          const ids: Array<JobId> = []
          for (const { actor } of [many, many, many, one]) {
            ids.push((yield* begin(actor, null)).id)
            yield* advance(1_000)
          }
          /** Gives the next job a turn, and returns its place in the order of begin. Jobs of other tests come later. */
          const turn: Effect.Effect<number, never, JobsRepo> = Effect.gen(function* () {
            const job = Option.getOrThrow(yield* repo.claim(null, 30))
            const place = ids.indexOf(job.id)
            if (place === 0) yield* repo.fail(job, { why: "Why.", next: "Next." })
            else yield* repo.release(job, { delaySeconds: place < 0 ? 86_400 : 0, waitingFor: null, isAttempt: false })
            yield* advance(1_000)
            return place < 0 ? yield* turn : place
          })
          const order = yield* Effect.replicateEffect(turn, 9)
          assert.deepStrictEqual(order, [0, 3, 1, 3, 2, 3, 1, 3, 2])
        })
      )

      it.effect("a step that finds out the number of items replaces the total and the number of processed items", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const repo = yield* JobsRepo
          const { id } = yield* begin(actor, null)
          const job = yield* claimed(actor, id)
          const after = (step: { readonly done: number; readonly total?: number }) =>
            Effect.map(
              Effect.zipRight(
                repo.save(job, { cursor: { at: 1 }, counts: {}, errors: [], ...step }, 30),
                repo.find(actor.accountId, id)
              ),
              (found) => {
                const { done, total } = Option.getOrThrow(found)
                return [done, total]
              }
            )
          assert.deepStrictEqual(yield* after({ done: 4 }), [4, 10])
          assert.deepStrictEqual(yield* after({ done: 5_000_000_000, total: 6_000_000_000 }), [5e9, 6e9])
          assert.deepStrictEqual(yield* after({ done: 0, total: 20 }), [0, 20])
          assert.deepStrictEqual(yield* after({ done: 3 }), [3, 20])
        })
      )

      it.effect(
        "a job whose lease expired or was released is claimed again, and its former holder writes nothing",
        () =>
          Effect.gen(function* () {
            const { actor } = yield* anAccount()
            const { accountId } = actor
            const repo = yield* JobsRepo
            const { id } = yield* begin(actor, null)
            const first = Option.getOrThrow(yield* repo.claim({ accountId, id }, 0))
            const second = yield* claimed(actor, id)
            assert.strictEqual(second.attempts, 2)
            assert.isTrue(Option.isNone(yield* repo.lockClaimed(first)))
            yield* repo.save(first, { cursor: null, done: 9, counts: {}, errors: [] }, 30)
            yield* repo.fail(first, { why: "Why.", next: "Next." })
            yield* repo.release(first, { delaySeconds: 0, waitingFor: "nothing", isAttempt: true })
            assert.deepInclude(Option.getOrThrow(yield* repo.find(accountId, id)), {
              state: "running",
              done: 0,
              problem: null,
              waiting_for: null
            })
            yield* repo.release(second, {
              delaySeconds: 0,
              waitingFor: "a platform",
              isForPlatform: true,
              isAttempt: true
            })
            assert.deepInclude(Option.getOrThrow(yield* repo.find(accountId, id)), {
              state: "queued",
              waiting_for: "a platform",
              waits_for_platform: true
            })
            const third = yield* claimed(actor, id)
            assert.strictEqual(third.attempts, 3)
            yield* repo.save(third, { cursor: 1, done: 1, counts: {}, errors: [] }, 30)
            assert.deepInclude(Option.getOrThrow(yield* repo.find(accountId, id)), {
              waiting_for: null,
              waits_for_platform: false
            })
            yield* repo.release(third, { delaySeconds: 60, waitingFor: null, isAttempt: true })
            assert.isTrue(Option.isNone(yield* repo.claim({ accountId, id }, 30)), "not due yet")
            yield* (yield* Jobs).command("pause", id).pipe(actingAs(actor))
            yield* (yield* Jobs).command("resume", id).pipe(actingAs(actor))
            const fourth = yield* claimed(actor, id)
            assert.strictEqual(fourth.attempts, 1)
            yield* repo.fail(fourth, { why: "The store is gone.", next: "Link it." })
            assert.deepInclude(Option.getOrThrow(yield* repo.find(accountId, id)), {
              state: "failed",
              done: 1,
              problem: { why: "The store is gone.", next: "Link it." }
            })
          })
      )

      it.effect("a job of a feature with leases of its own is claimed by that feature alone", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { accountId } = actor
          const jobs = yield* Jobs
          const repo = yield* JobsRepo
          const { id } = yield* begin(actor, null, "import")
          const own = { accountId, id, claim: id }
          assert.isTrue(Option.isNone(yield* repo.claim({ accountId, id }, 30)))
          const others = yield* begin(actor, null)
          assert.isFalse(yield* repo.claimOwned({ accountId, id: others.id, claim: others.id }))
          assert.isFalse(yield* repo.claimOwned({ ...own, id: JobId.make(nilUuid) }))
          assert.isTrue(yield* repo.claimOwned(own))
          const begun = Option.getOrThrow(yield* repo.find(accountId, id))
          assert.strictEqual(begun.state, "running")
          assert.isNotNull(begun.started_at)
          yield* repo.save(own, { cursor: 4, done: 4, counts: { new: 4 }, errors: [] }, 0)
          assert.isTrue(Option.isNone(yield* repo.claim({ accountId, id }, 30)), "its lease is not that of the job")
          assert.deepInclude(yield* jobs.command("pause", id).pipe(actingAs(actor)), { state: "paused", done: 4 })
          assert.isFalse(yield* repo.claimOwned(own))
          assert.isTrue(Option.isNone(yield* repo.lockClaimed(own)))
          yield* jobs.command("resume", id).pipe(actingAs(actor))
          assert.isTrue(yield* repo.claimOwned(own))
          yield* repo.fail(own, { why: "It was interrupted.", next: "Import the file again." })
          const refused = yield* Effect.flip(jobs.command("resume", id)).pipe(actingAs(actor))
          assert.deepStrictEqual(refused._tag === "ValidationFailed" && refused.issues, [
            { path: "id", message: "the job has failed and cannot be resumed. Import the file again." }
          ])
          assert.deepInclude(Option.getOrThrow(yield* repo.find(accountId, id)), { state: "failed", done: 4 })
        })
      )

      it.effect("is paused, resumed and cancelled in the states that allow it", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { command, get, list } = yield* Jobs
          const { id } = yield* begin(actor, null)
          const job = yield* claimed(actor, id)
          const repo = yield* JobsRepo
          const refusal = (name: "pause" | "resume" | "cancel", of = id) =>
            Effect.map(Effect.flip(command(name, of)), (error) =>
              error._tag === "ValidationFailed" ? error.issues : error._tag
            ).pipe(actingAs(actor))
          const issue = (message: string) => [{ path: "id", message }]
          const run = (name: "pause" | "resume" | "cancel") =>
            Effect.map(command(name, id), ({ state }) => state).pipe(actingAs(actor))

          assert.deepStrictEqual(
            yield* refusal("resume"),
            issue("the job is running: only a paused or failed job can be resumed")
          )
          assert.strictEqual(yield* run("pause"), "paused")
          assert.isTrue(Option.isNone(yield* repo.lockClaimed(job)), "its holder stops")
          assert.isTrue(Option.isNone(yield* repo.claim({ accountId: actor.accountId, id }, 30)))
          assert.deepStrictEqual(
            yield* refusal("pause"),
            issue("the job is paused: only a job that is queued or running can be paused")
          )
          assert.strictEqual(yield* run("resume"), "queued")
          assert.strictEqual(yield* run("cancel"), "cancelled")
          for (const name of ["pause", "resume", "cancel"] as const)
            assert.match(JSON.stringify(yield* refusal(name)), /the job is cancelled: only/)
          const unlink = yield* begin(actor, null, "store_unlink")
          assert.deepStrictEqual(
            yield* refusal("cancel", unlink.id),
            issue(
              "the job cannot be cancelled: the store is unlinked already. Let the job finish, then link the store again to restore it"
            )
          )
          assert.strictEqual(yield* refusal("pause", JobId.make(nilUuid)), "NotFound")
          assert.sameMembers(
            (yield* list.pipe(actingAs(actor))).map((each) => each.id),
            [id, unlink.id]
          )

          const { actor: stranger } = yield* anAccount()
          assert.deepStrictEqual(yield* list.pipe(actingAs(stranger)), [])
          assert.strictEqual((yield* Effect.flip(get(id)).pipe(actingAs(stranger)))._tag, "NotFound")
          assert.strictEqual(
            (yield* Effect.flip(command("pause", unlink.id)).pipe(actingAs(stranger)))._tag,
            "NotFound"
          )
          assert.strictEqual((yield* get(unlink.id).pipe(actingAs(actor))).state, "queued")
        })
      )

      it.effect("an account has each job id once", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { begin, get } = yield* Jobs
          const first = yield* begin({ kind: "bulk_change", title: "One", subject: null, input: {}, total: 1 }).pipe(
            actingAs(actor)
          )
          const again = { id: first.id, kind: "bulk_change", title: "Two", subject: null, input: {}, total: 2 } as const
          const refused = yield* Effect.flip(begin(again).pipe(actingAs(actor)))
          assert.deepStrictEqual(refused.issues, [
            { path: "id", message: "the account has a job with this id already" }
          ])
          assert.deepStrictEqual(yield* get(first.id).pipe(actingAs(actor)), first)
          const { actor: stranger } = yield* anAccount()
          assert.strictEqual((yield* begin(again).pipe(actingAs(stranger))).title, "Two")
        })
      )

      it.effect("two open jobs never have the same subject", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { command, openOn } = yield* Jobs
          const repo = yield* JobsRepo
          const first = yield* begin(actor, "shop")
          const refused = yield* Effect.flip(begin(actor, "shop"))
          assert.strictEqual(
            refused.message,
            `the job "Do it" (${first.id}) is queued and works on the same store: let it finish first`
          )
          yield* command("pause", first.id).pipe(actingAs(actor))
          assert.match((yield* Effect.flip(begin(actor, "shop"))).message, /is paused .*: resume or cancel it first$/)
          yield* command("resume", first.id).pipe(actingAs(actor))
          yield* repo.fail(yield* claimed(actor, first.id), { why: "Why.", next: "Next." })
          const second = yield* begin(actor, "shop")
          assert.strictEqual(Option.getOrThrow(yield* openOn("shop").pipe(actingAs(actor))).id, second.id)
          assert.deepStrictEqual(
            (yield* Effect.flip(command("resume", first.id)).pipe(actingAs(actor)))._tag,
            "ValidationFailed"
          )
          yield* command("cancel", second.id).pipe(actingAs(actor))
          assert.isTrue(Option.isNone(yield* openOn("shop").pipe(actingAs(actor))))
          assert.strictEqual((yield* command("resume", first.id).pipe(actingAs(actor))).state, "queued")
          const { actor: stranger } = yield* anAccount()
          assert.strictEqual((yield* begin(stranger, "shop")).state, "queued")
        })
      )

      it.effect("if two failed jobs are resumed at once, one is queued and the other refused", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { command } = yield* Jobs
          const repo = yield* JobsRepo
          for (let round = 0; round < 10; round++) {
            const failed = Effect.gen(function* () {
              const { id } = yield* begin(actor, `shop ${round}`)
              yield* repo.fail(yield* claimed(actor, id), { why: "Why.", next: "Next." })
              return id
            })
            const ids = [yield* failed, yield* failed]
            const outcomes = yield* Effect.forEach(ids, (id) => Effect.either(command("resume", id)), {
              concurrency: "unbounded"
            }).pipe(actingAs(actor))
            const words = outcomes.map((outcome) =>
              outcome._tag === "Right"
                ? outcome.right.state
                : outcome.left._tag === "ValidationFailed"
                  ? outcome.left.message
                  : ""
            )
            assert.sameMembers(words, [
              "queued",
              "id: another open job works on the same store: resume this one when that one has ended"
            ])
          }
        })
      )

      it.effect("a failed job can be resumed for 30 days, and is deleted then", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const { command, forget, get } = yield* Jobs
          const { id } = yield* begin(actor, null)
          yield* (yield* JobsRepo).fail(yield* claimed(actor, id), { why: "Why.", next: "Next." })
          yield* advance(29 * dayMillis)
          yield* forget
          assert.strictEqual((yield* command("resume", id).pipe(actingAs(actor))).state, "queued")
          yield* (yield* JobsRepo).fail(yield* claimed(actor, id), { why: "Why.", next: "Next." })
          yield* advance(31 * dayMillis)
          const refused = yield* Effect.flip(command("resume", id)).pipe(actingAs(actor))
          assert.strictEqual(
            refused.message,
            "id: the job ended more than 30 days ago and is being deleted: begin a new one"
          )
          assert.strictEqual((yield* get(id).pipe(actingAs(actor))).state, "failed")
          assert.isAtLeast(yield* forget, 1)
          assert.strictEqual((yield* Effect.flip(get(id)).pipe(actingAs(actor)))._tag, "NotFound")
        })
      )
    })
  })
}
