import { HttpServer } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Schedule } from "effect"
import { hashOf } from "../../src/access/Secrets.ts"
import { Users } from "../../src/access/Users.ts"
import { Authorization } from "../../src/connections/Authorization.ts"
import { parametersOf } from "../../src/connections/AuthorizationRequest.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { OAuthRepo } from "../../src/connections/OAuthRepo.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { listeningOn } from "../../src/http/BaseUrl.ts"
import { ConnectionId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import {
  aBrowser,
  aClient,
  aCode,
  aConnection,
  addressOf,
  ask,
  aUser,
  bodyOf,
  Node,
  newVerifier,
  nodeOf,
  redeem,
  refresh,
  tokensOf
} from "../oauth/PagesServer.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { layerDatabase } from "./ServerServices.ts"

const races = amount(50, 200)
const audience = "http://127.0.0.1/mcp"

/** All services and a node on a fresh database of the server; its issuer is the same for every node. */
const Served = addressOf({ baseUrl: "http://127.0.0.1" }).pipe(
  Layer.provideMerge(nodeOf({ baseUrl: "http://127.0.0.1" })),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(layerDatabase(10)),
  Layer.orDie
)

const opens = (token: string) =>
  Effect.flatMap(Connections, ({ authenticate }) => Effect.map(authenticate(token, audience), Option.isSome))

/** All tokens in these answers, and whether each is still valid. */
const usable = (clientId: string, tokens: ReadonlyArray<{ readonly access: string; readonly refresh: string }>) =>
  Effect.forEach(tokens, (each) =>
    Effect.gen(function* () {
      const opened = yield* opens(each.access)
      const refreshed = (yield* refresh(clientId, each.refresh)).status === 200
      return opened || refreshed
    })
  )

const successes = (
  answers: ReadonlyArray<{ readonly status: number; readonly text: string; readonly headers: Headers }>
) => answers.filter(({ status }) => status === 200).map(tokensOf)

/**
 * The server with a planted fault: a refresh token is read and its successor written without the lock of the
 * connection, and tokens are checked without the connection. It represents an authorization server whose tokens are
 * valid by themselves.
 */
const withoutLock = (oauth: OAuthRepo["Type"]): OAuthRepo["Type"] => ({
  ...oauth,
  lockRefresh: (hash) =>
    Effect.map(oauth.findToken(hash), (found) =>
      Option.map(found, ({ accountId, clientId, grantId }) => ({
        accountId,
        clientId,
        grantId,
        tier: "pim:read" as const,
        role: "admin" as const,
        resource: audience,
        dead: false,
        usedAgoSeconds: null,
        successors: 0,
        successorUsed: false
      }))
    )
})

describe.skipIf(!serverAnswers)("tokens under races", () => {
  layer(Served, { excludeTestServices: true })((it) => {
    it.effect("one of ten concurrent uses of a code succeeds, and its connection is ended then", () =>
      Effect.gen(function* () {
        const { cookie } = yield* aUser()
        let refused = 0
        for (let round = 0; round < 10; round++) {
          const clientId = yield* aClient()
          const verifier = newVerifier()
          const code = yield* aCode(cookie, { clientId, verifier })
          const answers = yield* Effect.all(
            Array.from({ length: 10 }, () => redeem({ clientId, verifier }, code)),
            { concurrency: "unbounded" }
          )
          const issued = successes(answers)
          assert.lengthOf(issued, 1)
          for (const answer of answers.filter(({ status }) => status !== 200)) {
            assert.strictEqual(bodyOf(answer).error, "invalid_grant")
            refused += 1
          }
          assert.deepStrictEqual(yield* usable(clientId, issued), [false])
        }
        assert.strictEqual(refused, 90)
      })
    )

    it.effect(`after ${races} races of revocation and refresh no token is valid`, () =>
      Effect.gen(function* () {
        const { accountId, cookie } = yield* aUser()
        // A second process.
        const other = yield* Layer.build(Layer.fresh(nodeOf({ baseUrl: "http://127.0.0.1" })))
        const elsewhere = Effect.map(HttpServer.HttpServer, ({ address }) => listeningOn(address))
        const otherNode = yield* Effect.provide(elsewhere, other)
        const connections = yield* Connections
        const counts = { refreshed: 0, refused: 0, usable: 0 }
        for (let race = 0; race < races; race++) {
          const { access, clientId, refresh: token } = yield* aConnection(cookie)
          const [connection] = yield* connections.list(accountId)
          assert(connection !== undefined)
          const ending =
            race % 2 === 0
              ? Effect.as(ask("/oauth/revoke", { form: { token, client_id: clientId } }), undefined)
              : Effect.as(connections.disconnect(accountId, connection.id), undefined)
          const refreshing = [
            refresh(clientId, token),
            Effect.provideService(refresh(clientId, token), Node, otherNode),
            refresh(clientId, token)
          ]
          const order = race % 3 === 0 ? [ending, ...refreshing] : [...refreshing, ending]
          const results = yield* Effect.all(order, { concurrency: "unbounded" })
          const answers = results.filter((result) => result !== undefined)
          const issued = successes(answers)
          counts.refreshed += issued.length
          counts.refused += answers.length - issued.length
          const left = yield* usable(clientId, [...issued, { access, refresh: token }])
          counts.usable += left.filter(Boolean).length
        }
        report("Revoking tokens while they are refreshed", counts)
        assert.strictEqual(counts.refreshed + counts.refused, 3 * races)
        assert.isAtLeast(counts.refreshed, races / 5)
        assert.isAtLeast(counts.refused, races / 5)
        assert.strictEqual(counts.usable, 0)
      }).pipe(Effect.scoped)
    )

    it.effect.runIf(runsPlanted)("planted fault: tokens survive if a refresh does not check the connection", () =>
      Effect.gen(function* () {
        const { accountId, cookie } = yield* aUser()
        const planted = yield* Effect.provide(
          Authorization,
          Layer.fresh(Authorization.layer).pipe(
            Layer.provide(Layer.effect(OAuthRepo, Effect.map(OAuthRepo, withoutLock)))
          )
        )
        let usable = 0
        for (let race = 0; race < 10; race++) {
          const { clientId, refresh: token } = yield* aConnection(cookie)
          const [connection] = yield* (yield* Connections).list(accountId)
          assert(connection !== undefined)
          const form = `${new URLSearchParams({ grant_type: "refresh_token", client_id: clientId, refresh_token: token })}`
          const refreshing = planted.exchange(parametersOf(form), "http://127.0.0.1")
          yield* Effect.all([refreshing, (yield* Connections).disconnect(accountId, connection.id)], {
            concurrency: "unbounded"
          })
          usable += Option.isSome(yield* Effect.option(planted.exchange(parametersOf(form), "http://127.0.0.1")))
            ? 1
            : 0
        }
        assert.isAbove(usable, 0)
      })
    )

    it.effect(`after ${races} races of ending all connections and redeeming a code, no token is valid`, () =>
      Effect.gen(function* () {
        const { accountId, cookie } = yield* aUser()
        const connections = yield* Connections
        const clientId = yield* aClient()
        const counts = { redeemed: 0, refused: 0, usable: 0 }
        for (let race = 0; race < races; race++) {
          const verifier = newVerifier()
          const code = yield* aCode(cookie, { clientId, verifier })
          const redeeming = redeem({ clientId, verifier }, code)
          const ending = Effect.as(connections.disconnectAll(accountId), undefined)
          // One begins up to a few milliseconds after the other, so that either may be first.
          const held = (milliseconds: number) => Effect.sleep(`${Math.max(0, milliseconds)} millis`)
          const ahead = (race % 9) - 2
          const [, answer] = yield* Effect.all(
            [Effect.zipRight(held(ahead), ending), Effect.zipRight(held(-ahead), redeeming)],
            { concurrency: "unbounded" }
          )
          const left = yield* usable(clientId, successes([answer]))
          counts.redeemed += left.length
          counts.refused += 1 - left.length
          counts.usable += left.filter(Boolean).length
        }
        report("Revoking all connections while codes are redeemed", counts)
        assert.strictEqual(counts.usable, 0)
        assert.isNull((yield* connections.list(accountId)).find(({ endedAt }) => endedAt === null) ?? null)
      })
    )

    it.effect("a code that is redeemed while its user is disabled and enabled leaves no connection", () =>
      Effect.gen(function* () {
        const { accountId } = yield* aUser()
        const email = "redeemer@example.com"
        const { cookie } = yield* aBrowser(accountId, email, "publish")
        const verifier = newVerifier()
        const code = yield* aCode(cookie, { clientId: yield* aClient(), verifier })
        const oauth = yield* OAuthRepo
        const id = yield* mintId(ConnectionId)
        const locked = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const redeeming = yield* Effect.gen(function* () {
          const stored = yield* Effect.orDie(yield* oauth.lockCode(hashOf(code)))
          assert.isFalse(stored.dead)
          yield* Deferred.succeed(locked, undefined)
          yield* Deferred.await(go)
          yield* oauth.addGrant(accountId, { ...stored, id, redirectHost: "agent.example" })
          yield* oauth.spendCode(accountId, hashOf(code), id)
        }).pipe((yield* Transaction).run, Effect.fork)
        yield* Deferred.await(locked)
        yield* (yield* Users).disable(accountId, email)
        const enabling = yield* Effect.fork((yield* Users).enable(accountId, email))
        const sql = yield* SqlClient.SqlClient
        yield* sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.pipe(
          Effect.repeat({ until: ({ length }) => length > 0, schedule: Schedule.spaced("10 millis") }),
          Effect.raceFirst(Fiber.await(enabling))
        )
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.join(redeeming)
        yield* Fiber.join(enabling)
        const connections = yield* sql`SELECT end_reason AS reason FROM oauth_grant WHERE account_id = ${accountId}`
        assert.deepStrictEqual(connections, [{ reason: "user_disabled" }])
      }).pipe(Effect.orDie)
    )

    it.effect("repeated concurrent refreshes of one token end no connection", () =>
      Effect.gen(function* () {
        const { accountId, cookie } = yield* aUser()
        const { clientId, ...first } = yield* aConnection(cookie)
        let token = first.refresh
        for (let round = 0; round < 10; round++) {
          const answers = yield* Effect.all(
            Array.from({ length: 4 }, () => refresh(clientId, token)),
            { concurrency: "unbounded" }
          )
          const issued = successes(answers)
          assert.lengthOf(issued, 4)
          assert.lengthOf([...new Set(issued.map(({ access }) => access))], 4)
          token = issued[round % 4]?.refresh ?? ""
        }
        const [connection] = yield* (yield* Connections).list(accountId)
        assert.isNull(connection?.endedAt)
      })
    )

    it.effect("concurrent registrations succeed up to the limit", () =>
      Effect.gen(function* () {
        const limited = yield* Layer.build(
          Layer.fresh(nodeOf({ baseUrl: "http://127.0.0.1", registrationsPerHour: 7, trustedProxies: 1 }))
        )
        const url = yield* Effect.provide(
          Effect.map(HttpServer.HttpServer, ({ address }) => listeningOn(address)),
          limited
        )
        const answers = yield* Effect.all(
          Array.from({ length: 40 }, () =>
            ask("/oauth/register", {
              json: { redirect_uris: ["https://agent.example/cb"] },
              headers: { "x-forwarded-for": "198.51.100.77" }
            }).pipe(Effect.provideService(Node, url))
          ),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          answers.filter(({ status }) => status === 201),
          7
        )
        assert.lengthOf(
          answers.filter(({ status }) => status === 429),
          33
        )
      }).pipe(Effect.scoped)
    )
  })
})
