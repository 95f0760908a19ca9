import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { statementsDuring } from "../support/SentStatements.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"
import { ask, serverWith } from "./Exchange.ts"

/** What a statement reads: the key, the version of the account, or a page of its products. */
const kindsOf = (texts: ReadonlyArray<string>) =>
  texts.map((text) => {
    const reads = { key: "api_key", version: "account_state", page: "list_row" }
    return Object.entries(reads).flatMap(([kind, part]) => (text.includes(part) ? [kind] : []))
  })

/** The statements of a request, without a cached answer and with one. */
const expected: Readonly<Record<string, { readonly read: unknown; readonly cached: unknown }>> = {
  // One server: the key and the version in one statement.
  server: { read: [["key", "version"], ["page"]], cached: [["key", "version"]] },
  // A cluster: the key on the coordinator; the version is read only if an answer is cached.
  citus: { read: [["key"], ["page"]], cached: [["key"], ["version"]] }
}

for (const engine of featureServiceEngines.filter(({ absent, name }) => !absent && name in expected))
  layer(serverWith().pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })(
    `the statements of an authenticated read on ${engine.name}`,
    (it) => {
      it.effect("are one for the key and at most one more", () =>
        Effect.gen(function* () {
          const { actor, token } = yield* anAccount()
          yield* anEntity("product", { title: "Boot" }).pipe(actingAs(actor))
          const list = (limit: number) =>
            Effect.map(statementsDuring(ask(`/api/v1/products?limit=${limit}`, { token })), ({ answer, texts }) => {
              assert.strictEqual(answer.status, 200)
              return kindsOf(texts)
            })
          /** Work in the background may send a statement meanwhile, so the fewest statements of three requests count. */
          const fewest = (limits: ReadonlyArray<number>) =>
            Effect.map(Effect.forEach(limits, list), (lists) => lists.sort((a, b) => a.length - b.length)[0])
          const warm = 7
          yield* Effect.replicateEffect(list(warm), 4)
          const { cached, read } = expected[engine.name] ?? assert.fail(engine.name)
          assert.deepStrictEqual(yield* fewest([8, 9, 10]), read, "without a cached answer")
          assert.deepStrictEqual(yield* fewest([warm, warm, warm]), cached, "with a cached answer")
        })
      )
    }
  )
