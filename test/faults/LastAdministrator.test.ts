import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Either, Layer, Redacted, Ref } from "effect"
import { Accounts } from "../../src/access/Accounts.ts"
import { hashOf } from "../../src/access/Secrets.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount } from "../support/Volume.ts"
import { layerDatabase } from "./ServerServices.ts"

const rounds = amount(30, 150)

const Live = ServicesOnDatabase.pipe(Layer.provideMerge(layerDatabase(8)), Layer.orDie)

/** Adds an administrator who has set a password. */
const addAdministrator = (accountId: AccountId, email: string) =>
  Effect.gen(function* () {
    const { token } = yield* (yield* Users).invite(accountId, email, { role: "admin" })
    yield* (yield* UsersRepo).setPassword(hashOf(Redacted.value(token)), "digest")
  })

/** An account with two administrators who have set their passwords. */
const twoAdministrators = Effect.gen(function* () {
  const { id: accountId } = yield* (yield* Accounts).create("Two")
  const emails = ["one", "other"].map((name) => `${name}-${accountId}@example.com`) as [string, string]
  for (const email of emails) yield* addAdministrator(accountId, email)
  return { accountId, emails }
}).pipe(Effect.orDie)

const administrators = (accountId: AccountId) =>
  Effect.map(
    Effect.flatMap(Users, ({ list }) => list(accountId)),
    (all) => all.filter(({ disabledAt, role }) => role === "admin" && disabledAt === null).length
  )

/** Two administrators remove each other at the same time. Returns the number of successes. */
const raced = (round: number) =>
  Effect.gen(function* () {
    const users = yield* Users
    const { accountId, emails } = yield* twoAdministrators
    const remove = (email: string, index: number) =>
      (round + index) % 2 === 0 ? users.setRole(accountId, email, "publish") : users.disable(accountId, email)
    const results = yield* Effect.all(
      emails.map((email, index) => Effect.either(remove(email, index))),
      { concurrency: 2 }
    )
    return {
      left: yield* administrators(accountId),
      succeeded: results.filter(Either.isRight).length,
      refused: results.flatMap((result) => (Either.isLeft(result) ? [result.left.message] : []))
    }
  })

/**
 * The service with a planted fault: it reads the administrators without a lock. Both removals read them before one of
 * them writes.
 */
const withoutLock = Effect.gen(function* () {
  const repo = yield* UsersRepo
  const waiting = yield* Ref.make(0)
  const both = yield* Deferred.make<void>()
  const planted: UsersRepo["Type"] = {
    ...repo,
    lockAdministrators: (accountId) =>
      Effect.gen(function* () {
        const all = yield* repo.list(accountId)
        if ((yield* Ref.updateAndGet(waiting, (count) => count + 1)) === 2) yield* Deferred.succeed(both, undefined)
        yield* Deferred.await(both)
        return all.filter(({ disabledAt, role }) => role === "admin" && disabledAt === null)
      })
  }
  return yield* raced(0).pipe(
    Effect.provide(Layer.fresh(Users.layer).pipe(Layer.provide(Layer.succeed(UsersRepo, planted))))
  )
})

describe.skipIf(!serverAnswers)("two administrators who remove each other", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect("always leave one administrator", () =>
      Effect.gen(function* () {
        for (let round = 0; round < rounds; round++) {
          const { left, refused, succeeded } = yield* raced(round)
          assert.deepStrictEqual([left, succeeded], [1, 1], `round ${round}`)
          assert.deepStrictEqual(refused, [
            "email: is the last administrator of the account; make somebody else administrator first"
          ])
        }
      })
    )

    it.effect("do not both succeed if a third one remains", () =>
      Effect.gen(function* () {
        const users = yield* Users
        for (let round = 0; round < 10; round++) {
          const { accountId, emails } = yield* twoAdministrators
          yield* addAdministrator(accountId, `third-${accountId}@example.com`)
          const all = yield* users.list(accountId)
          const results = yield* Effect.forEach(
            emails,
            (email, index) =>
              ((round + index) % 2 === 0
                ? users.setRole(accountId, email, "view")
                : users.disable(accountId, email)
              ).pipe(
                Effect.provideService(CurrentActor, {
                  _tag: "User",
                  accountId,
                  userId: all.find((each) => each.email === emails[1 - index])?.id ?? assert.fail()
                }),
                Effect.either
              ),
            { concurrency: 2 }
          )
          const refused = results.flatMap((result) => (Either.isLeft(result) ? [result.left.message] : []))
          assert.deepStrictEqual(
            refused,
            ["email: is not changed: you are no administrator any more"],
            `round ${round}`
          )
          assert.strictEqual(yield* administrators(accountId), 2)
        }
      }).pipe(Effect.orDie)
    )

    it.effect("leave none without the lock (planted fault)", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* withoutLock, { left: 0, succeeded: 2 })
      })
    )

    it.effect("a user who cannot sign in yet does not count as a remaining administrator", () =>
      Effect.gen(function* () {
        const users = yield* Users
        const { accountId, emails } = yield* twoAdministrators
        yield* users.invite(accountId, `new-${accountId}@example.com`, { role: "admin" })
        yield* users.setRole(accountId, emails[0], "view")
        const refused = yield* Effect.flip(users.disable(accountId, emails[1]))
        assert.match(refused.message, /is the last administrator/)
        const demoted = yield* Effect.flip(users.invite(accountId, emails[1], { role: "edit" }))
        assert.match(demoted.message, /is the last administrator/)
        yield* users.cancelInvitation(accountId, `new-${accountId}@example.com`)
        assert.strictEqual(yield* administrators(accountId), 1)
      })
    )
  })
})
