import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Either, Exit, Fiber, Layer, Option, Redacted, Schedule } from "effect"
import { Secret, TOTP } from "otpauth"
import { Accounts } from "../../src/access/Accounts.ts"
import { PasswordCost } from "../../src/access/Passwords.ts"
import { SecondFactors } from "../../src/access/SecondFactors.ts"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { hashOf } from "../../src/access/Secrets.ts"
import { Sessions } from "../../src/access/Sessions.ts"
import { SignIns } from "../../src/access/SignIns.ts"
import type { Identity } from "../../src/access/User.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { layerDatabase } from "./ServerServices.ts"

const Live = Layer.merge(SignIns.layer({ failuresPerAddress: 50 }), SecondFactors.layer).pipe(
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(layerDatabase(8)),
  Layer.provide(Layer.succeed(PasswordCost, 1_024)),
  Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("cd".repeat(32)) })),
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
      Effect.zipRight(users.disable(accountId, email), users.enable(accountId, email, { isOperator: true }))
    ),
  "a freed address": ({ accountId, email }: Identity) =>
    Effect.flatMap(UsersRepo, (users) =>
      Effect.zipRight(users.takeAddress(accountId, email), users.enable(accountId, email, { isOperator: true }))
    )
}

const sessionsOf = ({ accountId, id }: Identity) =>
  Effect.flatMap(Sessions, (sessions) => Effect.map(sessions.list({ accountId, userId: id }), ({ length }) => length))

/** Waits until this number of connections of this database wait for a lock. */
const waitingFor = (number: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  ).pipe(Effect.repeat({ until: ({ length }) => length >= number, schedule: Schedule.spaced("10 millis") }))

/** Commits `start` only when `change` waits for the user's row. Returns what `start` returned. */
const committedDuring = <A, E, R1, R2>(start: Effect.Effect<A, E, R1>, change: Effect.Effect<unknown, never, R2>) =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    const go = yield* Deferred.make<void>()
    const starting = yield* Effect.fork(
      (yield* Transaction).run(
        Effect.orDie(start).pipe(
          Effect.zipLeft(Deferred.succeed(started, undefined)),
          Effect.zipLeft(Deferred.await(go))
        )
      )
    )
    yield* Deferred.await(started)
    const changing = yield* Effect.fork(change)
    yield* Effect.raceFirst(waitingFor(1), Fiber.await(changing))
    yield* Deferred.succeed(go, undefined)
    const result = yield* Fiber.join(starting)
    yield* Fiber.join(changing)
    return result
  }).pipe(Effect.orDie)

/** Starts a session during `change`. Returns the number of remaining sessions. */
const startDuring = <R>(user: Identity, change: Effect.Effect<unknown, never, R>) =>
  Effect.gen(function* () {
    yield* committedDuring((yield* Sessions).start(user), change)
    return yield* sessionsOf(user)
  })

/** Sets up a second factor in a browser that has no session. */
const setUpFactor = (user: Identity) =>
  Effect.gen(function* () {
    const factors = yield* SecondFactors
    yield* factors.begin(user)
    const { secret } = Option.getOrThrow(yield* factors.pending(user, user.email))
    yield* factors.confirm(user, new TOTP({ secret: Secret.fromBase32(secret) }).generate(), "session")
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

/** Holds the row locks of a statement while an effect runs. `release` ends them. */
const holding = <A, E, R>(
  lock: Effect.Effect<ReadonlyArray<unknown>, E, R>,
  during: (release: Effect.Effect<void>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const locked = yield* Deferred.make<number>()
    const released = yield* Deferred.make<void>()
    const held = yield* (yield* Transaction)
      .run(
        Effect.flatMap(lock, ({ length }) =>
          Effect.zipRight(Deferred.succeed(locked, length), Deferred.await(released))
        )
      )
      .pipe(Effect.fork)
    assert.isAbove(yield* Deferred.await(locked), 0)
    const result = yield* during(Effect.asVoid(Deferred.succeed(released, undefined)))
    yield* Fiber.join(held)
    return result
  })

/**
 * A user who has one recovery code left renews the codes with it and, at the same time, with a code of the app. `renew` does it. Both
 * begin before either can end. Returns the number of codes that are stored, and how many renewals succeeded.
 */
const renewTwice = <R>(renew: (user: Identity, code: string) => Effect.Effect<unknown, unknown, R>) =>
  Effect.gen(function* () {
    const factors = yield* SecondFactors
    const sql = yield* SqlClient.SqlClient
    const user = yield* signedIn
    yield* factors.begin(user)
    const { secret } = Option.getOrThrow(yield* factors.pending(user, user.email))
    const codeAt = (timestamp: number) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
    const now = Date.now()
    const [last = ""] = yield* factors.confirm(user, codeAt(now), "session")
    const hash = hashOf(`recovery ${user.id} ${last.replace("-", "")}`)
    const own = sql`account_id = ${user.accountId} AND user_id = ${user.id}`
    yield* sql`DELETE FROM recovery_code WHERE ${own} AND hash <> decode(${hash}, 'hex')`
    const renewals = yield* holding(sql`SELECT FROM recovery_code WHERE ${own} FOR UPDATE`, (release) =>
      Effect.gen(function* () {
        const first = yield* Effect.fork(Effect.exit(renew(user, last)))
        yield* waitingFor(1)
        const second = yield* Effect.fork(Effect.exit(renew(user, codeAt(now + 30_000))))
        yield* waitingFor(2)
        yield* release
        return [yield* Fiber.join(first), yield* Fiber.join(second)]
      })
    )
    const stored = yield* sql`SELECT FROM recovery_code WHERE ${own}`
    return { stored: stored.length, succeeded: renewals.filter(Exit.isSuccess).length }
  }).pipe(Effect.orDie)

/** The planted fault: a renewal that does not lock the second factor first. */
const renewUnlocked = ({ accountId, id }: Identity, code: string) =>
  Effect.gen(function* () {
    const factors = yield* SecondFactorsRepo
    const user = { accountId, id }
    const isOfApp = /^\d{6}$/.test(code)
    if (!isOfApp) assert.isTrue(yield* factors.useRecoveryCode(user, hashOf(`recovery ${id} ${code.replace("-", "")}`)))
    yield* factors.deleteRecoveryCodes(user)
    yield* factors.addRecoveryCodes(
      user,
      Array.from({ length: 10 }, (_, index) => hashOf(`${code} ${index}`))
    )
  }).pipe((renewal) => Effect.flatMap(Transaction, ({ run }) => run(renewal)))

/** Two accounts invite the same e-mail, and both invitations are accepted at the same time. Returns both results. */
const acceptTwice = Effect.gen(function* () {
  const { invite, inviteNew } = yield* Users
  const signIns = yield* SignIns
  const email = `racer-${++people}@example.com`
  const tokens: Array<string> = []
  for (const name of ["One", "Other"]) {
    const { id } = yield* (yield* Accounts).create(name)
    yield* invite(id, `owner-${id}@example.com`)
    tokens.push(Redacted.value((yield* inviteNew(id, email, "view")).token))
  }
  const sql = yield* SqlClient.SqlClient
  const links = tokens.map((token) => `\\x${hashOf(token)}`)
  return yield* holding(sql`SELECT hash FROM password_link WHERE hash = ANY(${links}::bytea[]) FOR UPDATE`, (release) =>
    Effect.gen(function* () {
      const accepting = yield* Effect.fork(
        Effect.forEach(tokens, (token) => Effect.either(signIns.setPassword(token, next)), { concurrency: 2 })
      )
      yield* waitingFor(2)
      yield* release
      return yield* Fiber.join(accepting)
    })
  )
}).pipe(Effect.orDie)

/** The number of accepted invitations, and the errors of the others. */
const outcomeOf = (results: Effect.Effect.Success<typeof acceptTwice>) => ({
  accepted: results.filter(Either.isRight).length,
  errors: results.flatMap((result) => (Either.isLeft(result) ? [result.left._tag] : []))
})

describe.skipIf(!serverAnswers)("invitations of one e-mail to two accounts", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect("only one of them is accepted, and the other is told why", () =>
      Effect.gen(function* () {
        for (let round = 0; round < 5; round++)
          assert.deepStrictEqual(outcomeOf(yield* acceptTwice), { accepted: 1, errors: ["EmailTaken"] })
      })
    )

    it.effect("both are accepted without the unique index (planted fault)", () =>
      Effect.gen(function* () {
        yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`DROP INDEX app_user_email`)
        assert.deepStrictEqual(outcomeOf(yield* acceptTwice), { accepted: 2, errors: [] })
      })
    )
  })
})

describe.skipIf(!serverAnswers)("a sign-in while the user changes", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    for (const [name, change] of Object.entries(changes)) {
      const isSamePassword = name === "being disabled and enabled"

      it.effect(`starts no session after ${name}`, () =>
        Effect.gen(function* () {
          const user = yield* signedIn
          yield* change(user)
          const started = yield* Effect.either((yield* Sessions).start(user))
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
          assert.isTrue(yield* factors.addSignIn(user, step, 600))
          yield* change(user)
          assert.strictEqual((yield* factors.findSignIn(step))._tag, "None")
        })
      )

      it.effect(`asks for no code after ${name}`, () =>
        Effect.gen(function* () {
          const user = yield* signedIn
          yield* change(user)
          const waiting = yield* Effect.either((yield* SecondFactors).await(user))
          assert.strictEqual(Either.isRight(waiting), isSamePassword)
        })
      )

      it.effect(`ends a sign-in that begins to wait for a code during ${name}`, () =>
        Effect.gen(function* () {
          const user = yield* signedIn
          const token = yield* committedDuring((yield* SecondFactors).await(user), change(user))
          const found = yield* (yield* SecondFactorsRepo).findSignIn(hashOf(Redacted.value(token)))
          assert.strictEqual(found._tag, "None")
        })
      )
    }

    it.effect("starts no session after a second factor was set up, unless a code was checked", () =>
      Effect.gen(function* () {
        const user = yield* signedIn
        const { start } = yield* Sessions
        yield* setUpFactor(user)
        assert.isTrue(Either.isLeft(yield* Effect.either(start(user))))
        assert.isTrue(Either.isRight(yield* Effect.either(start({ ...user, hasSecondFactor: true }))))
      })
    )

    it.effect("leaves no session if it was being started while a second factor was set up", () =>
      Effect.gen(function* () {
        const user = yield* signedIn
        assert.strictEqual(yield* startDuring(user, setUpFactor(user)), 0)
      })
    )

    it.effect("starts no session that waits for the set-up of a second factor", () =>
      Effect.gen(function* () {
        const user = yield* signedIn
        const { start } = yield* Sessions
        const started = yield* committedDuring(setUpFactor(user), Effect.asVoid(Effect.option(start(user))))
        assert.isUndefined(started)
        assert.strictEqual(yield* sessionsOf(user), 0)
      })
    )

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

describe.skipIf(!serverAnswers)("two renewals of recovery codes at once", () => {
  layer(Live, { excludeTestServices: true })((it) => {
    it.effect("leave ten codes, those of the last renewal", () =>
      Effect.gen(function* () {
        const renewed = yield* renewTwice((user, code) =>
          Effect.flatMap(SecondFactors, (factors) => factors.renewCodes(user, code, `session ${code}`))
        )
        assert.deepStrictEqual(renewed, { stored: 10, succeeded: 2 })
      })
    )

    it.effect("leave twenty codes if the second factor is not locked (planted fault)", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* renewTwice(renewUnlocked), { stored: 20, succeeded: 2 })
      })
    )
  })
})
