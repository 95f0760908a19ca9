import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Schedule } from "effect"
import { AccountDeletion } from "../../src/access/AccountDeletion.ts"
import { Mailer } from "../../src/access/Mailer.ts"
import { Sessions } from "../../src/access/Sessions.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import * as SecurityMails from "../../src/console/SecurityMails.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { warningLog } from "../support/ErrorLog.ts"
import { mailServer, textOfMail } from "../support/MailServer.ts"
import { setClock } from "../support/TestClock.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { bundledProgram, startProgram } from "./BundledProgram.ts"
import { layerPool, layerStoppedClock } from "./ServerServices.ts"

const program = bundledProgram("test/faults/CrashMailer.ts")

const refusal = "450 4.7.1 try again later"
/** The lease of a claim. No pause is as long. */
const leaseSeconds = 45
let users = 0

/** A user of a new account with a second factor whose secret is not readable. */
const aUser = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount({ name: `Tarn ${++users}` })
  const email = `user-${users}@example.com`
  yield* Effect.orDie((yield* Users).invite(accountId, email, { role: "admin" }))
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO second_factor (account_id, user_id, secret, confirmed_at)
    SELECT u.account_id, u.id, '\\x00'::bytea, app_now() FROM app_user u
    WHERE u.account_id = ${accountId} AND u.email = ${email}`
  return { accountId, actor, email, name: `Tarn ${users}` }
}).pipe(Effect.orDie)

type Someone = Effect.Effect.Success<typeof aUser>

const reset = ({ accountId, email }: Someone) =>
  Effect.flatMap(Users, ({ resetSecondFactor }) => Effect.orDie(resetSecondFactor(accountId, email)))

/** The mails of an account that wait. `waits`: the seconds until the next attempt; null: it is due. */
const waiting = ({ accountId }: Someone) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.orDie(sql<{ attempts: number; waits: number | null }>`
      SELECT attempts, CASE WHEN due_at > app_now() THEN extract(epoch FROM due_at - app_now())::int END AS waits
      FROM security_mail WHERE account_id = ${accountId}`)
  )

const until = <A, E, R>(read: Effect.Effect<A, E, R>, isSo: (value: A) => boolean) =>
  Effect.repeat(read, { until: isSo, schedule: Schedule.spaced("20 millis") }).pipe(Effect.zipRight(read))

/** Waits until the mail of an account was refused this many times. */
const refusedTimes = (user: Someone, count: number) =>
  until(waiting(user), ([row]) => row?.attempts === count && row.waits !== leaseSeconds)

/** Sends mails as a process does that has a pool of its own, until the scope ends. */
const sending = (
  { port }: { readonly port: number },
  repo: Layer.Layer<UsersRepo, never, UsersRepo | SqlClient.SqlClient> = Layer.service(UsersRepo)
) =>
  Layer.build(
    Layer.fresh(SecurityMails.layer).pipe(
      Layer.provide(
        Mailer.layer(
          Option.some({ url: Redacted.make(`smtp://ada:secret@127.0.0.1:${port}`), from: "Catalog <c@example.com>" })
        )
      ),
      Layer.provide(Layer.succeed(BaseUrl, "https://pim.example")),
      Layer.provide(repo),
      Layer.provide(Layer.fresh(UsersRepo.layer)),
      Layer.provide(Layer.fresh(layerPool(3)))
    )
  )

/** A claim that takes no lease: the planted fault. */
const Careless = Layer.effect(
  UsersRepo,
  Effect.gen(function* () {
    const repo = yield* UsersRepo
    const sql = yield* SqlClient.SqlClient
    return {
      ...repo,
      claimMails: (limit: number) =>
        Effect.tap(repo.claimMails(limit, 0), () =>
          sql`UPDATE security_mail SET due_at = '-infinity'`.pipe(Effect.delay("5 millis"), Effect.orDie)
        )
    }
  })
)

const counts = (values: ReadonlyArray<string>) => {
  const all: Record<string, number> = {}
  for (const value of values) all[value] = (all[value] ?? 0) + 1
  return all
}

describe.skipIf(!serverAnswers)("mails about changed sign-ins", () => {
  layer(layerStoppedClock, { excludeTestServices: true })((it) => {
    let clock = 0
    const pass = (seconds: number) =>
      Effect.suspend(() => {
        clock += seconds
        return Effect.orDie(setClock(clock))
      })

    it.scoped("are sent by another process if theirs is killed, and twice only if it was killed after sending", () =>
      Effect.gen(function* () {
        const server = yield* mailServer
        const url = Redacted.value(yield* TestDatabaseUrl)
        const told: Array<Someone> = []
        for (const MAIL_STEP of ["changed", "claimed", "sent"]) {
          const user = yield* aUser
          told.push(user)
          const child = yield* startProgram(program, {
            MAIL_DATABASE_URL: url,
            MAIL_PORT: String(server.port),
            MAIL_ACCOUNT: user.accountId,
            MAIL_EMAIL: user.email,
            MAIL_STEP
          })
          if (child.exitCode === null && child.signalCode === null) yield* Effect.promise(() => once(child, "exit"))
          assert.strictEqual(child.signalCode, "SIGKILL", MAIL_STEP)
        }
        const [changed = assert.fail(), claimed = assert.fail(), sent = assert.fail()] = told
        assert.deepStrictEqual(
          server.mails.map(({ to }) => to),
          [sent.email]
        )
        // The second process has claimed the mail of the first one too.
        for (const user of told) assert.deepStrictEqual(yield* waiting(user), [{ attempts: 1, waits: leaseSeconds }])
        yield* pass(3_600)
        yield* sending(server)
        for (const user of told) yield* until(waiting(user), (rows) => rows.length === 0)
        assert.deepStrictEqual(counts(server.mails.map(({ to }) => to)), {
          [changed.email]: 1,
          [claimed.email]: 1,
          [sent.email]: 2
        })
        const [first, second] = server.mails.filter(({ to }) => to === sent.email).map(textOfMail)
        const idOf = (text = "") => /^Message-ID: (<[0-9a-f-]{36}@example.com>)$/m.exec(text)?.[1] ?? assert.fail(text)
        assert.strictEqual(idOf(first), idOf(second))
        // It tells the time of the change.
        const timeOf = (text = "") => /^.*: Reset the second factor of .*$/m.exec(text)?.[0] ?? assert.fail(text)
        assert.strictEqual(timeOf(first), timeOf(second))
      })
    )

    const mails = 60

    /** Two processes send many mails. Returns how many mails each user got. */
    const sentByTwo = (repo?: typeof Careless) =>
      Effect.gen(function* () {
        const server = yield* mailServer
        const user = yield* aUser
        const { addMail } = yield* UsersRepo
        yield* Effect.repeatN(addMail(user.accountId, user.email, "codes_guessed", null), mails - 1)
        yield* Effect.all([sending(server, repo), sending(server, repo)], { concurrency: 2 })
        yield* until(waiting(user), (rows) => rows.length === 0)
        const ids = server.mails.map((mail) => String(/^Message-ID: (.*)$/m.exec(textOfMail(mail))?.[1]))
        assert.lengthOf(Object.keys(counts(ids)), mails)
        return Object.values(counts(ids)).filter((count) => count > 1).length
      }).pipe(Effect.scoped)

    it.scoped("are sent once by two processes", () => Effect.map(sentByTwo(), (twice) => assert.strictEqual(twice, 0)))

    it.scoped.runIf(runsPlanted)("a claim without a lease is detected (planted fault)", () =>
      Effect.map(sentByTwo(Careless), (twice) => assert.isAbove(twice, 0))
    )

    it.scoped("wait for a mail server that is down: 1, 5, 15 and 60 minutes, then an hour each, for a day", () =>
      Effect.gen(function* () {
        const server = yield* mailServer
        const user = yield* aUser
        server.refusal = refusal
        yield* reset(user)
        yield* sending(server)
        const pauses: Array<unknown> = []
        for (const attempt of [1, 2, 3, 4, 5]) {
          const [row] = yield* refusedTimes(user, attempt)
          pauses.push(row?.waits)
          if (attempt < 5) yield* pass(Number(row?.waits))
        }
        assert.deepStrictEqual(pauses, [60, 300, 900, 3_600, 3_600])
        assert.lengthOf(server.mails, 0)
        server.refusal = undefined
        yield* pass(3_600)
        yield* until(waiting(user), (rows) => rows.length === 0)
        assert.deepStrictEqual(
          server.mails.map(({ to }) => to),
          [user.email]
        )
      })
    )

    it.scoped("do not delay the end of a process while the mail server hangs, and are sent again", () =>
      Effect.gen(function* () {
        const user = yield* aUser
        const sockets: Array<Socket> = []
        const silent = yield* Effect.acquireRelease(
          Effect.sync(() => createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1")),
          (server) =>
            Effect.sync(() => {
              for (const socket of sockets) socket.destroy()
              server.close()
            })
        )
        yield* Effect.promise(() => once(silent, "listening"))
        const address = silent.address()
        const port = typeof address === "object" && address !== null ? address.port : assert.fail()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const called = once(silent, "connection")
            yield* sending({ port })
            yield* reset(user)
            yield* Effect.promise(() => called)
          })
        )
        // An attempt that had ended would be followed by a pause.
        assert.deepStrictEqual(yield* waiting(user), [{ attempts: 1, waits: leaseSeconds }])
        yield* pass(leaseSeconds)
        const server = yield* mailServer
        yield* sending(server)
        yield* until(waiting(user), (rows) => rows.length === 0)
        assert.deepStrictEqual(
          server.mails.map(({ to }) => to),
          [user.email]
        )
      })
    )

    it.scoped("are given up after a day, or if the server refuses them for good, and the log says so", () => {
      const log = warningLog()
      return Effect.gen(function* () {
        const server = yield* mailServer
        const sql = yield* SqlClient.SqlClient
        const [late, unknown, mended] = [yield* aUser, yield* aUser, yield* aUser]
        yield* reset(late)
        yield* sql`
          UPDATE security_mail SET at = app_now() - interval '23 hours 1 minute', attempts = 9
          WHERE account_id = ${late.accountId}`
        server.refusal = refusal
        yield* sending(server)
        yield* until(waiting(late), (rows) => rows.length === 0)
        const ended = () => log.warnings.filter((text) => text.startsWith("A mail about"))
        const given = (reason: string) => `A mail about a changed sign-in is not sent again: ${reason}`
        assert.deepStrictEqual(ended(), [given(refusal)])

        const forGood = "550 5.1.1 no such mailbox"
        server.refusal = forGood
        yield* reset(unknown)
        yield* until(waiting(unknown), (rows) => rows.length === 0)
        assert.deepStrictEqual(ended(), [given(refusal), given(forGood)])

        // The settings may be mended.
        server.refusal = "535 5.7.8 wrong password"
        yield* reset(mended)
        const [row] = yield* refusedTimes(mended, 1)
        assert.strictEqual(row?.waits, 60)
        assert.lengthOf(ended(), 2)
        assert.lengthOf(server.mails, 0)
      }).pipe(Effect.provide(log.layer))
    })

    it.scoped("are deleted with their account, and after a day without a mail server or a user", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [gone, kept] = [yield* aUser, yield* aUser]
        yield* reset(gone)
        yield* reset(kept)
        assert.lengthOf(yield* waiting(gone), 1)
        yield* Effect.flatMap(AccountDeletion, ({ begin }) => begin(gone.name)).pipe(actingAs(gone.actor))
        assert.lengthOf(yield* waiting(gone), 0)

        // A mail whose user is gone is not sent, and delays no other one.
        yield* sql`
          INSERT INTO security_mail (account_id, user_id, kind)
          SELECT ${kept.accountId}, gen_random_uuid(), 'password_set' FROM generate_series(1, 10)`
        const server = yield* mailServer
        yield* Effect.scoped(
          Effect.zipRight(
            sending(server),
            until(waiting(kept), (rows) => rows.length === 10)
          )
        )
        assert.lengthOf(server.mails, 1)
        const { forget } = yield* Sessions
        yield* pass(86_399)
        yield* forget
        assert.lengthOf(yield* waiting(kept), 10)
        yield* pass(1)
        yield* forget
        assert.lengthOf(yield* waiting(kept), 0)
      })
    )
  })
})
