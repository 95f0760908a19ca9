import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import type { Credential } from "../../src/access/ApiKey.ts"
import { HasReplica } from "../../src/database/Replica.ts"
import type { AccountId, EntityId } from "../../src/model/Ids.ts"
import {
  ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  TestServices
} from "../../src/testing/index.ts"
import { amount } from "../support/Volume.ts"
import { ask, assertRefusal, refusals, serverWith } from "./Exchange.ts"

type VersionOf = ApiKeys["Type"]["versionOf"]

/** Counts and changes how the versions of accounts are read. */
interface Spy {
  reads: number
  versionOf: (read: VersionOf) => VersionOf
}

/** Keys as on a cluster: their look-up returns no version, and a separate statement reads it. */
const asOnCluster = (keys: ApiKeys["Type"], spy: Spy): ApiKeys["Type"] => {
  const tokens = new Map<AccountId, string>()
  const read: VersionOf = (credential) => {
    spy.reads++
    if (credential.accountVersion !== null) return keys.versionOf(credential)
    return Effect.flatMap(
      keys.authenticate(tokens.get(credential.accountId) ?? ""),
      Option.match({ onNone: () => keys.versionOf(credential), onSome: (found) => keys.versionOf(found) })
    )
  }
  return {
    ...keys,
    authenticate: (token) =>
      Effect.map(
        keys.authenticate(token),
        Option.map((credential): Credential => {
          tokens.set(credential.accountId, token)
          return { ...credential, accountVersion: null }
        })
      ),
    versionOf: spy.versionOf(read)
  }
}

/** Builds a server whose versions are read as on a cluster. */
const aServer = (versionOf: Spy["versionOf"] = (read) => read, hasReplica = false) =>
  Effect.gen(function* () {
    const spy: Spy = { reads: 0, versionOf }
    const keys = Layer.effect(
      ApiKeys,
      Effect.map(ApiKeys, (keys) => asOnCluster(keys, spy))
    )
    const server = serverWith().pipe(
      Layer.provide(keys),
      Layer.provide(Layer.succeed(HasReplica, hasReplica)),
      Layer.fresh
    )
    const built = yield* Layer.build(server)
    return {
      spy,
      list: (token: string, target = "/api/v1/products") => Effect.provide(ask(target, { token }), built)
    }
  })

const rename = (entityId: EntityId, title: string) =>
  Effect.flatMap(CatalogChanges, ({ apply }) =>
    apply([CatalogChange.SetAttributes({ entityId, values: { title } })])
  ).pipe(Effect.asVoid, Effect.orDie)

const titleIn = ({ text }: { readonly text: string }) => /"title":"Boot (\d+)"/.exec(text)?.[1]

const readers = 6
const writes = amount(60, 600)

/** Renames a product one time after the other, while readers list it. Counts answers that miss a rename acknowledged before. */
const readBesideWrites = (versionOf?: Spy["versionOf"]) =>
  Effect.gen(function* () {
    const { actor, token } = yield* anAccount()
    const entityId = yield* anEntity("product", { title: "Boot 0" }).pipe(actingAs(actor))
    const { list, spy } = yield* aServer(versionOf)
    let acknowledged = 0
    let isDone = false
    const counts = { answers: 0, stale: 0 }
    const reader = Effect.gen(function* () {
      const atLeast = acknowledged
      const answer = yield* list(token)
      counts.answers++
      if (Number(titleIn(answer)) < atLeast) counts.stale++
    }).pipe(Effect.repeat({ until: () => isDone }))
    const writer = Effect.gen(function* () {
      for (let number = 1; number <= writes; number++) {
        yield* rename(entityId, `Boot ${number}`).pipe(actingAs(actor))
        acknowledged = number
        // Lets the readers have answers of this version from the cache.
        const enough = counts.answers + 2 * readers
        while (counts.answers < enough) yield* Effect.sleep("1 millis")
      }
      isDone = true
    })
    yield* Effect.all([writer, ...Array.from({ length: readers }, () => reader)], { concurrency: "unbounded" })
    assert.isAtLeast(counts.answers, 2 * readers * writes)
    return { ...counts, versionsRead: spy.reads }
  }).pipe(Effect.scoped)

/** The planted fault: the version of an account is read once, then taken from memory. */
const readOnce = (): Spy["versionOf"] => {
  const first = new Map<string, Option.Option<number>>()
  return (read) => (credential) => {
    const known = first.get(credential.accountId)
    return known === undefined
      ? Effect.tap(read(credential), (version) => first.set(credential.accountId, version))
      : Effect.succeed(known)
  }
}

layer(TestServices, { excludeTestServices: true })("where the look-up of a key returns no version", (it) => {
  it.scoped("the version is read only for a target with a cached answer", () =>
    Effect.gen(function* () {
      const { actor, token } = yield* anAccount()
      const entityId = yield* anEntity("product", { title: "Boot 0" }).pipe(actingAs(actor))
      const { list, spy } = yield* aServer()
      const readsOf = (target?: string) =>
        Effect.gen(function* () {
          const before = spy.reads
          const title = titleIn(yield* list(token, target))
          return [spy.reads - before, title]
        })
      assert.deepStrictEqual(yield* readsOf(), [0, "0"], "first request")
      assert.deepStrictEqual(yield* readsOf(), [0, "0"], "second request, whose answer is cached without a version")
      assert.deepStrictEqual(yield* readsOf(), [1, "0"], "third request, whose answer is cached with its version")
      assert.deepStrictEqual(yield* readsOf(), [1, "0"], "an answer from the cache")
      yield* rename(entityId, "Boot 1").pipe(actingAs(actor))
      assert.deepStrictEqual(yield* readsOf(), [1, "1"], "the cached answer is outdated")
      assert.deepStrictEqual(yield* readsOf("/api/v1/products?limit=3"), [0, "1"], "another target")
    })
  )

  it.scoped("a request whose account is gone when its version is read is refused", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const { list } = yield* aServer(() => () => Effect.succeedNone)
      for (let times = 0; times < 2; times++) assert.strictEqual((yield* list(token)).status, 200)
      assertRefusal(yield* list(token), refusals.unauthorized)
    })
  )

  it.scoped("a replica needs the version for every read", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const { list, spy } = yield* aServer(undefined, true)
      yield* list(token)
      assert.strictEqual(spy.reads, 1)
    })
  )

  it.effect("no answer misses a write that was acknowledged before its request", () =>
    Effect.gen(function* () {
      const { stale, versionsRead } = yield* readBesideWrites()
      assert.strictEqual(stale, 0)
      assert.isAtLeast(versionsRead, writes)
      const planted = yield* readBesideWrites(readOnce())
      assert.isAbove(planted.stale, 0, "planted fault: the version is read once")
    })
  )
})
