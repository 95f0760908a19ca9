import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, type Option } from "effect"
import { Agent, request } from "undici"
import { AccessRepo } from "../../src/access/AccessRepo.ts"
import type { Credential } from "../../src/access/ApiKey.ts"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { ApiKeys, anAccount } from "../../src/testing/index.ts"
import { port, serverWith } from "../http/Exchange.ts"
import { aKey } from "../http/Fixtures.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { layerPool, layerServices } from "./ServerServices.ts"

/** Delays the database's answers, so that they may be outdated when they arrive. */
const LateAccess = Layer.effect(
  AccessRepo,
  Effect.map(AccessRepo, (access) => ({
    ...access,
    findCredentials: (hashes: ReadonlyArray<string>) =>
      Effect.tap(access.findCredentials(hashes), () => Effect.sleep("15 millis"))
  }))
).pipe(Layer.provide(AccessRepo.layer))

/** The planted fault: a caller that arrives during a look-up gets its result, which may be older than the call. */
const joining = (keys: ApiKeys["Type"]): ApiKeys["Type"] => {
  const running = new Map<string, Deferred.Deferred<Option.Option<Credential>>>()
  return {
    ...keys,
    authenticate: (token) =>
      Effect.gen(function* () {
        const joined = running.get(token)
        if (joined !== undefined) return yield* Deferred.await(joined)
        const answer = yield* Deferred.make<Option.Option<Credential>>()
        running.set(token, answer)
        const found = yield* keys.authenticate(token)
        running.delete(token)
        yield* Deferred.succeed(answer, found)
        return found
      })
  }
}

/** A node of the service on the suite's database. */
const nodeWith = (lookUp: (keys: ApiKeys["Type"]) => ApiKeys["Type"]) =>
  serverWith().pipe(
    Layer.provide(RateBudget.layerProcess({ perKey: 1_000_000, perAccount: 10_000_000 })),
    Layer.provide(Layer.effect(ApiKeys, Effect.map(ApiKeys, lookUp))),
    Layer.provide(Services),
    Layer.provide(Layer.merge(RepositoriesOnDatabase, LateAccess)),
    Layer.provide(layerPool(4)),
    Layer.fresh
  )

const rounds = 12
const clientsEach = 8

interface Answer {
  readonly status: number
  /** Whether the key was revoked, and the revocation acknowledged, before the request began. */
  readonly afterwards: boolean
}

/** Revokes keys one after the other while clients of two nodes use them. */
const revokeUnderLoad = (name: string, lookUp: (keys: ApiKeys["Type"]) => ApiKeys["Type"]) =>
  Effect.gen(function* () {
    const { accountId } = yield* anAccount()
    const aNode = Effect.flatMap(Layer.build(nodeWith(lookUp)), (node) => Effect.provide(port, node))
    const nodes = [yield* aNode, yield* aNode]
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connections: 2 * clientsEach })),
      (open) => Effect.promise(() => open.destroy())
    )
    const answers: Array<Answer> = []
    for (let round = 0; round < rounds; round++) {
      const { id, token } = yield* aKey(accountId, ["pim:read"])
      const used = yield* Deferred.make<void>()
      const found: Array<Answer> = []
      let revoked = false
      const askOnce = (portNumber: number) =>
        Effect.promise(async () => {
          const afterwards = revoked
          const { body, statusCode } = await request(`http://127.0.0.1:${portNumber}/api/v1/ping`, {
            dispatcher: agent,
            headers: { authorization: `Bearer ${token}` }
          })
          await body.dump()
          found.push({ status: statusCode, afterwards })
        })
      const client = (portNumber: number) =>
        askOnce(portNumber).pipe(
          Effect.tap(() => (found.length >= 50 ? Deferred.succeed(used, undefined) : Effect.void)),
          Effect.repeat({ until: () => found.filter(({ afterwards }) => afterwards).length >= 50 })
        )
      const each = (use: (portNumber: number) => Effect.Effect<unknown>) =>
        nodes.flatMap((node) => Array.from({ length: clientsEach }, () => use(node)))
      const revoking = Effect.gen(function* () {
        yield* Deferred.await(used)
        yield* (yield* ApiKeys).revoke(accountId, id)
        revoked = true
        // New clients; the others wait for their earlier requests.
        yield* Effect.all(each(askOnce), { concurrency: "unbounded", discard: true })
      })
      yield* Effect.all([revoking, ...each(client)], { concurrency: "unbounded", discard: true })
      answers.push(...found)
    }
    const count = (afterwards: boolean, status: number) =>
      answers.filter((answer) => answer.afterwards === afterwards && answer.status === status).length
    const counts = {
      admittedBefore: count(false, 200),
      refusedAfterwards: count(true, 401),
      stale: count(true, 200)
    }
    report(name, counts)
    return { counts, others: answers.filter(({ status }) => status !== 200 && status !== 401) }
  }).pipe(Effect.scoped, Effect.orDie)

describe.skipIf(!serverAnswers)("a key that is revoked while 16 clients use it on two nodes", () => {
  layer(layerServices(2), { excludeTestServices: true })("revoked", (it) => {
    it.effect("admits no request that begins after the response to the revocation", () =>
      Effect.gen(function* () {
        const { counts, others } = yield* revokeUnderLoad("Revocations", (keys) => keys)
        assert.deepStrictEqual(others, [])
        assert.isAtLeast(counts.admittedBefore, rounds * 50)
        assert.isAtLeast(counts.refusedAfterwards, rounds * 50)
        assert.strictEqual(counts.stale, 0)
      })
    )

    it.effect.runIf(runsPlanted)("admits some if requests join a look-up that is already running (planted fault)", () =>
      Effect.gen(function* () {
        // A look-up runs at the right moment only by chance, so the test tries several times.
        let stale = 0
        for (let tries = 0; tries < 10 && stale === 0; tries++)
          stale = (yield* revokeUnderLoad("Revocations, planted", joining)).counts.stale
        assert.isAbove(stale, 0)
      })
    )
  })
})
