import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Either, Fiber, Layer, Redacted, Schedule } from "effect"
import { ServicesOnDatabase } from "../../src/App.ts"
import { Accounts } from "../../src/access/Accounts.ts"
import { PasswordCost } from "../../src/access/Passwords.ts"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { hashOf } from "../../src/access/Secrets.ts"
import { Sessions } from "../../src/access/Sessions.ts"
import { SignIns } from "../../src/access/SignIns.ts"
import type { Identity } from "../../src/access/User.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { layerDatabase } from "./ServerServices.ts"

const Live = SignIns.layer({ failuresPerAddress: 50 }).pipe(
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(layerDatabase(8)),
  Layer.provide(Layer.succeed(PasswordCost, 1_024)),
  Layer.orDie
)

const [old, next] = ["tern over tarn 1", "tarn under tern 2"]

const linkFor = ({ accountId, email }: Pick<Identity, "accountId" | "email">) =>
  Effect.map(
    Effect.flatMap(Users, (users) => Effect.orDie(users.invite(accountId, email))),
    ({ token }) => Redacted.value(token)
  )

let people = 0

/** A user with the password `old`, as read by a sign-in. */
const signedIn = Effect.gen(function* () {
  const signIns = yield* SignIns
  const { id: accountId } = yield* Effect.orDie((yield* Accounts).create("Raced"))
  const email = `racer-${++people}@example.com`
  yield* Effect.orDie(signIns.setPassword(yield* linkFor({ accountId, email }), old))
  return yield* Effect.orDie(signIns.signIn(email, old, { address: "192.0.2.1", device: undefined }))
})

/** Changes that must end everything that the old password has started. */
const changes: Readonly<
  Record<string, (user: Identity) => Effect.Effect<unknown, never, SignIns | Users | UsersRepo>>
> = {
  "a changed password": ({ accountId, id, password }: Identity) =>
    Effect.flatMap(UsersRepo, (users) =>
      users.changePassword(accountId, id, { before: String(password), after: "another digest", sessionHash: "" })
    ),
  "a link": (user: Identity) =>
    Effect.flatMap(SignIns, (signIns) =>
      Effect.orDie(Effect.flatMap(linkFor(user), (token) => signIns.setPassword(token, next)))
    ),
  "being disabled and enabled": ({ accountId, email }: Identity) =>
    Effect.flatMap(UsersRepo, (users) =>
      Effect.zipRight(users.disable(accountId, email), users.enable(accountId, email))
    )
}

const sessionsOf = ({ accountId, id }: Identity) =>
  Effect.flatMap(Sessions, (sessions) => Effect.map(sessions.list({ accountId, userId: id }), ({ length }) => length))

/** Connections of this database that wait for a lock. */
const waiting = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
).pipe(Effect.repeat({ until: ({ length }) => length > 0, schedule: Schedule.spaced("10 millis") }))

/**
 * Starts a session, and commits it only when `change` waits for the user's row. Returns the number of remaining
 * sessions.
 */
const startDuring = <R>(user: Identity, change: Effect.Effect<unknown, never, R>) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const started = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const start = yield* Effect.fork(
      (yield* Transaction).run(
        Effect.orDie(sessions.start(user)).pipe(
          Effect.zipLeft(Deferred.succeed(started, undefined)),
          Effect.zipLeft(Deferred.await(go))
        )
      )
    )
    yield* Deferred.await(started)
    const changing = yield* Effect.fork(change)
    yield* waiting
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.join(start)
    yield* Fiber.join(changing)
    return yield* sessionsOf(user)
  }).pipe(Effect.orDie)

/** The planted fault: one statement, which sees only the sessions that were committed before it began to wait. */
const inOneStatement = ({ accountId, id }: Identity) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      WITH changed AS (
        UPDATE app_user SET password = 'another digest' WHERE account_id = ${accountId} AND id = ${id}
        RETURNING account_id, id
      )
      DELETE FROM session s USING changed c WHERE s.account_id = c.account_id AND s.user_id = c.id`
  ).pipe(Effect.orDie)

describe.skipIf(!serverAnswers)("a sign-in while the user changes", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    for (const [name, change] of Object.entries(changes)) {
      it.effect(`starts no session after ${name}`, () =>
        Effect.gen(function* () {
          const user = yield* signedIn
          yield* change(user)
          const started = yield* Effect.either((yield* Sessions).start(user))
          const isSamePassword = name === "being disabled and enabled"
          assert.strictEqual(Either.isRight(started), isSamePassword)
        })
      )

      it.effect(`leaves no session if it was being started during ${name}`, () =>
        Effect.gen(function* () {
          const user = yield* signedIn
          assert.strictEqual(yield* startDuring(user, change(user)), 0)
        })
      )

      it.effect(`ends a sign-in that waits for a code, after ${name}`, () =>
        Effect.gen(function* () {
          const factors = yield* SecondFactorsRepo
          const user = yield* signedIn
          const step = hashOf(`step ${user.id}`)
          yield* factors.addSignIn(user, step, 600)
          yield* change(user)
          assert.strictEqual((yield* factors.findSignIn(step))._tag, "None")
        })
      )
    }

    it.effect("starts no session for a user who is disabled", () =>
      Effect.gen(function* () {
        const user = yield* signedIn
        yield* (yield* UsersRepo).disable(user.accountId, user.email)
        assert.isTrue(Either.isLeft(yield* Effect.either((yield* Sessions).start(user))))
      })
    )

    it.effect("leaves a session if one statement changes the user and ends the sessions (planted fault)", () =>
      Effect.gen(function* () {
        const user = yield* signedIn
        assert.strictEqual(yield* startDuring(user, inOneStatement(user)), 1)
      })
    )
  })
})
