import { fork } from "node:child_process"
import { once } from "node:events"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Agent, request } from "undici"
import { actingAs, anAccount, anEntity } from "../../src/testing/index.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { bundledProgram } from "./BundledProgram.ts"
import { report } from "./Dice.ts"
import { layerServices } from "./ServerServices.ts"

const requests = amount(12_000, 200_000)
const connections = 16

const program = bundledProgram("test/faults/MemoryServer.ts")

/**
 * Maximum memory that a request may leave behind, in bytes. Keeping anything of a request needs at least an object
 * with a text (an id of 40 characters and its map entry are 120 bytes). Memory that compilation, limited caches and
 * pools still need after the first requests is divided by so many requests that it stays below this.
 */
const maxHeapEach = 100
/** The allocator's reserved pages vary with the load by up to 48 MB, whatever the number of requests. */
const maxRss = 48 * 2 ** 20

interface Memory {
  readonly heap: number
  readonly rss: number
}

/**
 * Measures the growth of a process over this number of requests of all kinds, after warm-up requests that fill caches.
 */
const growth = (name: string, count: number, environment: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    const { actor, token } = yield* anAccount()
    const ids: Array<string> = []
    for (let place = 0; place < 60; place++)
      ids.push(yield* anEntity("product", { title: `Boots ${place}` }).pipe(actingAs(actor)))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        fork(program, {
          execArgv: ["--expose-gc"],
          env: { ...process.env, MEMORY_DATABASE_URL: url, ...environment },
          stdio: ["ignore", "ignore", "inherit", "ipc"]
        })
      ),
      (process) => Effect.sync(() => process.kill("SIGKILL"))
    )
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connections })),
      (open) => Effect.promise(() => open.destroy())
    )
    const [{ port }] = (yield* Effect.promise(() => once(child, "message"))) as [{ port: number }]
    const measured = Effect.promise(async () => {
      child.send("measure")
      const [memory] = (await once(child, "message")) as [Memory]
      return memory
    })
    const send = async (target: string, headers: Readonly<Record<string, string>>) => {
      const answer = await request(`http://127.0.0.1:${port}${target}`, { dispatcher: agent, headers })
      await answer.body.dump()
      return answer
    }
    const authorization = `Bearer ${token}`
    const { headers } = yield* Effect.promise(() => send("/api/v1/products", { authorization }))
    const kinds: ReadonlyArray<(place: number) => readonly [string, Readonly<Record<string, string>>, number]> = [
      (place) => [`/api/v1/products/${ids[place % ids.length]}`, { authorization }, 200],
      // These targets are requested only once, so caches must not keep their answers.
      (place) => [`/api/v1/products?search=${name}${place}`.replaceAll(" ", "+"), { authorization }, 200],
      () => ["/api/v1/products", { authorization, "if-none-match": String(headers.etag) }, 304],
      (place) => [`/api/v1/products?cursor=${place}`, { authorization }, 400],
      (place) => [`/api/v1/products/unknown-${place}`, { authorization }, 404],
      (place) => [`/nowhere/${place}`, {}, 404],
      (place) => ["/api/v1/products", { authorization: `Bearer wrong-${place}` }, 401]
    ]
    let place = 0
    const statuses = new Map<number, number>()
    const run = (total: number) =>
      Effect.promise(async () => {
        const end = place + total
        const client = async () => {
          while (place < end) {
            const turn = place++
            const [target, given, expected] = kinds[turn % kinds.length]?.(turn) ?? assert.fail()
            const { statusCode } = await send(target, given)
            assert.strictEqual(statusCode, expected, target)
            statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
          }
        }
        await Promise.all(Array.from({ length: connections }, client))
      })
    yield* run(6_000)
    const before = yield* measured
    yield* run(count)
    const after = yield* measured
    const grown = { heap: after.heap - before.heap, rss: after.rss - before.rss }
    report(name, {
      requests: count,
      heapBefore: before.heap,
      heapGrown: grown.heap,
      rssBefore: before.rss,
      rssGrown: grown.rss,
      ...Object.fromEntries(statuses)
    })
    return { grown, statuses: [...statuses.keys()].sort() }
  })

describe.skipIf(!serverAnswers)("memory", () => {
  layer(layerServices(2), { excludeTestServices: true })("of a process", (it) => {
    it.scoped(`does not grow with ${requests} requests of all kinds`, () =>
      Effect.gen(function* () {
        const { grown, statuses } = yield* growth("Memory", requests, {})
        assert.deepStrictEqual(statuses, [200, 304, 400, 401, 404])
        assert.isBelow(grown.heap, requests * maxHeapEach)
        assert.isBelow(grown.rss, maxRss)
      })
    )

    it.scoped.runIf(runsPlanted)("grows if a part of every request is kept (planted fault)", () =>
      Effect.gen(function* () {
        const count = amount(3_000, 6_000)
        const { grown } = yield* growth("Memory, planted", count, { MEMORY_LEAK: "true" })
        assert.isAbove(grown.heap, count * maxHeapEach)
      })
    )
  })
})
