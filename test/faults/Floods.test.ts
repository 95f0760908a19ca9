import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Agent, request } from "undici"
import { anAccount } from "../../src/testing/index.ts"
import { aConnectionTo, ample, message } from "../mcp/Connector.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { layerServices } from "./ServerServices.ts"

const pings = 120
const calls = 40

/** A process with a small JavaScript heap, so that memory kept after a flood becomes visible. */
const heapMegabytes = 160

interface Seen {
  readonly status: number
  readonly millis: number
}

/** Processor time and peak memory of a process so far; zero if it has ended. */
const usageOf = (pid: number | undefined) => {
  if (!existsSync(`/proc/${pid}`)) return { cpuMillis: 0, peakMegabytes: 0 }
  const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")
  const [user, system] = after.split(" ").slice(11, 13).map(Number)
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  // In ticks of 10 ms.
  return { cpuMillis: ((user ?? 0) + (system ?? 0)) * 10, peakMegabytes: Math.round(Number(peak) / 1_024) }
}

/** Starts `probe.mjs`. The returned function ends it and returns its measurements. */
const startProbe = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
  const probe = spawn(process.execPath, [join(import.meta.dirname, "probe.mjs"), url, JSON.stringify(headers)], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  const lines = createInterface({ input: probe.stdout })[Symbol.asyncIterator]()
  await lines.next()
  return async (): Promise<ReadonlyArray<Seen>> => {
    probe.stdin.end()
    return JSON.parse((await lines.next()).value)
  }
}

/** A process of the service, a token of each of two accounts, and functions that use them. */
const aProcess = (settings: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
    const PORT = String(yield* Effect.promise(freePort))
    const base = `http://127.0.0.1:${PORT}`
    const [one, two] = [yield* anAccount(), yield* anAccount()]
    const { token } = yield* aConnectionTo(base, one.accountId)
    const server = yield* Effect.acquireRelease(
      Effect.promise(() =>
        serveCatalog({
          DATABASE_URL,
          PORT,
          BASE_URL: base,
          NODE_OPTIONS: `--max-old-space-size=${heapMegabytes}`,
          ...ample,
          ...settings
        })
      ),
      ({ stop }) => Effect.promise(() => stop("SIGKILL"))
    )
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connections: 256 })),
      (open) => Effect.promise(() => open.destroy())
    )
    const get = async (target: string, headers: Readonly<Record<string, string>>) => {
      const { body } = await request(`${base}${target}`, { dispatcher: agent, headers })
      await body.dump()
    }
    const { headers } = message("legacy", "ping")
    const post = async (body: string | Buffer) => {
      try {
        const answer = await request(`${base}/mcp`, {
          method: "POST",
          dispatcher: agent,
          headers: {
            ...headers,
            authorization: `Bearer ${token}`,
            "content-type": "application/json",
            accept: "application/json, text/event-stream"
          },
          body
        })
        const text = await answer.body.text()
        return { status: answer.statusCode, text }
      } catch (error) {
        return { status: 0, text: String(error) }
      }
    }
    /** Sends bodies at the same time, while two processes send requests of other tenants. */
    const flood = (bodies: ReadonlyArray<Buffer>) =>
      Effect.promise(async () => {
        const endProbes = await Promise.all([
          startProbe(`${base}/healthz`),
          startProbe(`${base}/api/v1/products`, { authorization: `Bearer ${two.token}` })
        ])
        const before = usageOf(server.pid)
        const answers = await Promise.all(bodies.map(post))
        const [health, tenant] = await Promise.all(endProbes.map((end) => end()))
        const after = usageOf(server.pid)
        return {
          answers,
          health: health ?? [],
          tenant: tenant ?? [],
          cpuMillis: after.cpuMillis - before.cpuMillis,
          peakGrownMegabytes: after.peakMegabytes - before.peakMegabytes
        }
      })
    // Code that is compiled at its first use must not count as part of the flood.
    for (let turn = 0; turn < 20; turn++)
      yield* Effect.promise(async () => {
        await get("/healthz", {})
        await get("/api/v1/products", { authorization: `Bearer ${two.token}` })
        await post(message("legacy", "ping").body)
      })
    return { flood, server }
  })

const slowest = (seen: ReadonlyArray<Seen>) => Math.ceil(Math.max(...seen.map(({ millis }) => millis)))

const countOf = (statuses: ReadonlyArray<number>) =>
  Object.fromEntries(
    [...new Set(statuses)].sort().map((status) => [status, statuses.filter((one) => one === status).length])
  )

const assertServed = (seen: ReadonlyArray<Seen>) => {
  assert.isAtLeast(seen.length, 1)
  assert.deepStrictEqual(countOf(seen.map(({ status }) => status)), { 200: seen.length })
}

const padded = (before: string, after: string, bytes: number) =>
  Buffer.from(before + "x".repeat(bytes - before.length - after.length) + after)

const largePing = padded('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"p":"', '"}}}', 3_200_000)
const largeCall = padded(
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_products_v1","arguments":{"search":"',
  '"}}}',
  2_900_000
)

describe.skipIf(!serverAnswers)("a flood over MCP", () => {
  layer(layerServices(4), { excludeTestServices: true })("of", (it) => {
    it.scoped(`${pings} pings of 3.2 MB: each is refused, and other clients are served`, () =>
      Effect.gen(function* () {
        const { flood, server } = yield* aProcess({})
        const { answers, health, tenant, ...usage } = yield* flood(Array.from({ length: pings }, () => largePing))
        const statuses = countOf(answers.map(({ status }) => status))
        report("Floods, pings", {
          ...usage,
          ...statuses,
          healthz: health.length,
          slowestHealthzMillis: slowest(health),
          reads: tenant.length,
          slowestReadMillis: slowest(tenant)
        })
        assert.deepStrictEqual(statuses, { 413: pings })
        assertServed(health)
        assertServed(tenant)
        assert.strictEqual(yield* Effect.promise(() => server.stop()), 0)
      })
    )

    const callsTo = (settings: Readonly<Record<string, string>>) =>
      Effect.gen(function* () {
        const { flood, server } = yield* aProcess(settings)
        const { answers, health, tenant, ...usage } = yield* flood(Array.from({ length: calls }, () => largeCall))
        const statuses = countOf(answers.map(({ status }) => status))
        const code = yield* Effect.promise(() => server.stop())
        report("Floods, calls", {
          ...settings,
          ...usage,
          ...statuses,
          healthz: health.length,
          slowestHealthzMillis: slowest(health),
          reads: tenant.length,
          slowestReadMillis: slowest(tenant),
          exitCode: String(code)
        })
        return { answers, code, health, statuses, tenant, ...usage }
      })

    it.scoped(`${calls} calls of 2.9 MB: the process stays up, and other clients are served`, () =>
      Effect.gen(function* () {
        const { answers, code, health, statuses, tenant } = yield* callsTo({})
        assert.strictEqual((statuses[200] ?? 0) + (statuses[503] ?? 0), calls, JSON.stringify(statuses))
        assert.isAtLeast(statuses[503] ?? 0, 1)
        for (const { status, text } of answers)
          if (status === 503) assert.strictEqual(JSON.parse(text).error.code, "unavailable")
        assertServed(health)
        assertServed(tenant)
        assert.strictEqual(code, 0)
      })
    )

    it.scoped.runIf(runsPlanted)(
      "is kept in memory completely, or kills the process, without limits (planted fault)",
      () =>
        Effect.gen(function* () {
          const { statuses } = yield* callsTo({
            MAX_BODY_BYTES: "999999999",
            MAX_BODY_BYTES_PER_CREDENTIAL: "999999999"
          })
          assert.isUndefined(statuses[503])
        })
    )
  })
})
