import { Agent, createServer, request as nodeRequest } from "node:http"
import { setTimeout } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { anAccount } from "../../src/testing/index.ts"
import { serveCatalog } from "../support/CommandLine.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { amount, runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { layerServices } from "./ServerServices.ts"

const restarts = amount(2, 50)
const clients = 8
/** Between two requests of a client. Without it, the clients would use all of the processor. */
const pauseMillis = 10
/** A longer pause, in which a connection is idle and a node that stops may close it. */
const idleMillis = 50

/** The interval at which the balancer checks the readiness of a node. */
const checkMillis = 200

interface Node {
  port: number
  isReady: boolean
  readonly agent: Agent
}

/**
 * A simple load balancer: HTTP over open connections, by turns to each node whose last check succeeded. It repeats
 * nothing: a request that a node resets or refuses has failed.
 */
const openBalancer = async (nodes: ReadonlyArray<Node>) => {
  let turn = 0
  const server = createServer((request, response) => {
    const ready = nodes.filter(({ isReady }) => isReady)
    const node = ready[turn++ % Math.max(1, ready.length)]
    if (node === undefined) {
      response.writeHead(599).end("no node is ready")
      return
    }
    const { connection: _, ...headers } = request.headers
    const forwarded = nodeRequest(
      { host: "127.0.0.1", port: node.port, agent: node.agent, method: request.method, path: request.url, headers },
      (answer) => {
        const { connection: _closed, "keep-alive": _kept, ...rest } = answer.headers
        response.writeHead(answer.statusCode ?? 0, rest)
        answer.pipe(response)
      }
    )
    forwarded.on("error", (error) => response.writeHead(599).end(String(error)))
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  let isOpen = true
  const check = async (node: Node) => {
    while (isOpen) {
      node.isReady = await fetch(`http://127.0.0.1:${node.port}/readyz`, { headers: { connection: "close" } }).then(
        async (answer) => {
          await answer.arrayBuffer()
          return answer.ok
        },
        () => false
      )
      await setTimeout(checkMillis)
    }
  }
  for (const node of nodes) void check(node)
  const address = server.address()
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    close: () => {
      isOpen = false
      server.close()
      server.closeAllConnections()
      for (const { agent } of nodes) agent.destroy()
    }
  }
}

/** Restarts two nodes in turn while clients read and write through the balancer. `isEnough`: after so many failures it ends. */
const rollingRestarts = (
  count: number,
  settings: Readonly<Record<string, string>>,
  isEnough = (_failures: number) => false
) =>
  Effect.gen(function* () {
    const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
    const { token } = yield* anAccount()
    const start = () =>
      serveCatalog({ DATABASE_URL, RATE_LIMIT_PER_KEY: "999999", RATE_LIMIT_PER_ACCOUNT: "999999", ...settings })
    const running = yield* Effect.acquireRelease(
      Effect.promise(() => Promise.all([start(), start()])),
      (servers) => Effect.promise(() => Promise.all(servers.map(({ stop }) => stop("SIGKILL"))))
    )
    const portOf = ({ baseUrl }: { readonly baseUrl: string }) => Number(new URL(baseUrl).port)
    const nodes = running.map(
      (server): Node => ({ port: portOf(server), isReady: true, agent: new Agent({ keepAlive: true }) })
    )
    const balancer = yield* Effect.acquireRelease(
      Effect.promise(() => openBalancer(nodes)),
      ({ close }) => Effect.sync(close)
    )
    return yield* Effect.promise(async () => {
      let isOver = false
      const failures: Array<string> = []
      let answered = 0
      const agent = new Agent({ keepAlive: true })
      const send = (method: string, path: string, body?: string) =>
        new Promise<void>((resolve) => {
          const sent = nodeRequest(
            {
              host: "127.0.0.1",
              port: balancer.port,
              agent,
              method,
              path,
              headers: {
                authorization: `Bearer ${token}`,
                ...(body !== undefined && { "content-type": "application/json", "content-length": body.length })
              }
            },
            (answer) => {
              const chunks: Array<Buffer> = []
              answer.on("data", (chunk: Buffer) => chunks.push(chunk))
              answer.on("end", () => {
                if (answer.statusCode === 200) answered += 1
                else failures.push(`${method} ${answer.statusCode} ${Buffer.concat(chunks)}`)
                resolve()
              })
            }
          )
          sent.on("error", (error) => {
            failures.push(`${method} ${error}`)
            resolve()
          })
          sent.end(body)
        })
      const client = async (place: number) => {
        for (let turn = place; !isOver; turn++) {
          await (turn % 4 === 0
            ? send("POST", "/api/v1/data-health/scans", '{"dimension":"sync"}')
            : send("GET", "/api/v1/products?limit=5"))
          await setTimeout(turn % 8 === 0 ? idleMillis : pauseMillis)
        }
      }
      const load = Promise.all(Array.from({ length: clients }, (_, place) => client(place)))
      const codes: Array<number | null> = []
      for (let turn = 0; turn < count && !isEnough(failures.length); turn++) {
        const place = turn % 2
        const node = nodes[place]
        const server = running[place]
        if (node === undefined || server === undefined) throw new Error("there are two nodes")
        codes.push(await server.stop())
        running[place] = await start()
        node.port = portOf(running[place])
        while (!nodes.every(({ isReady }) => isReady)) await setTimeout(20)
      }
      isOver = true
      await load
      agent.destroy()
      return { answered, codes, failures }
    })
  })

describe.skipIf(!serverAnswers)("rolling restarts of two nodes under load", () => {
  layer(layerServices(2), { excludeTestServices: true })("behind a balancer that checks readiness", (it) => {
    it.scoped(`${restarts} restarts fail no request`, () =>
      Effect.gen(function* () {
        const { answered, codes, failures } = yield* rollingRestarts(restarts, { DRAIN_DELAY: "5" })
        report("Rolling restarts", { restarts, answered, failed: failures.length })
        assert.deepStrictEqual(failures.slice(0, 5), [])
        assert.deepStrictEqual(
          codes,
          codes.map(() => 0)
        )
        assert.strictEqual(codes.length, restarts)
        assert.isAbove(answered, restarts * 50)
      })
    )

    it.scoped.runIf(runsPlanted)("fail some if a node stops listening before the balancer knows (planted fault)", () =>
      Effect.gen(function* () {
        const { answered, failures } = yield* rollingRestarts(4, { DRAIN_DELAY: "0" }, (failed) => failed > 0)
        report("Rolling restarts, planted", { answered, failed: failures.length })
        assert.isAbove(failures.length, 0)
      })
    )
  })
})
