import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect, Redacted } from "effect"
import { createClient } from "redis"
import { AccountId } from "../../src/model/Ids.ts"

/** The URL of any Redis database that tests may write to. They restore its content. */
const address = process.env.TEST_REDIS_URL ?? "redis://127.0.0.1:6379/9"

export const redisUrl = Redacted.make(address)

/** A client with which tests inspect or change Redis. */
export const openRedis = Effect.acquireRelease(
  Effect.promise(() => {
    const client = createClient({ url: address, socket: { connectTimeout: 1_000, reconnectStrategy: false } })
    return client.on("error", () => {}).connect()
  }),
  (client) => Effect.promise(() => client.close())
)

/** For `describe.skipIf(!redisAnswers)`. */
export const redisAnswers: boolean = await Effect.runPromise(
  Effect.scoped(openRedis).pipe(
    Effect.as(true),
    Effect.catchAllCause(() => Effect.succeed(false))
  )
)

if (!redisAnswers)
  console.warn("Redis does not answer: the suites of budgets across nodes are SKIPPED (TEST_REDIS_URL)")

const accounts = new Set<AccountId>()

/** An account whose budget no other test uses. */
export const freshAccount = (): AccountId => {
  const accountId = AccountId.make(randomUUID())
  accounts.add(accountId)
  return accountId
}

/** Deletes the windows of these accounts, or of all test accounts, in Redis. */
export const forget = (whose: Iterable<string> = accounts) =>
  Effect.scoped(
    Effect.flatMap(openRedis, (redis) =>
      Effect.promise(async () => {
        const ours = new Set(whose)
        for await (const keys of redis.scanIterator({ MATCH: "catalog:budget:*", COUNT: 1_000 })) {
          const found = keys.filter((key) => ours.has(/\{(.*?)\}/.exec(key)?.[1] ?? ""))
          if (found.length > 0) await redis.unlink(found)
        }
      })
    )
  )

/** A proxy in front of Redis that can fail. */
export const openProxy = Effect.acquireRelease(
  Effect.promise(async () => {
    const target = new URL(address)
    const sockets = new Set<Socket>()
    let isHung = false
    let isRejecting = false
    let commands = 0
    const nothing = () => {}
    let afterRequest = nothing
    let delayMillis = 0
    const server = createServer((near) => {
      if (isRejecting) {
        near.destroy()
        return
      }
      const far = connect(Number(target.port || 6379), target.hostname)
      for (const [from, to] of [
        [near, far],
        [far, near]
      ] as const) {
        sockets.add(from)
        from.on("error", () => {})
        from.on("close", () => {
          sockets.delete(from)
          to.destroy()
        })
        from.on("data", (data) => {
          if (isHung && from === near && data.includes("EVALSHA")) commands += 1
          const pass = () => {
            if (!isHung && !to.destroyed) to.write(data)
          }
          if (delayMillis > 0 && from === far) setTimeout(pass, delayMillis)
          else pass()
          if (from === far || !data.includes("EVALSHA")) return
          const act = afterRequest
          afterRequest = nothing
          act()
        })
      }
    })
    const listen = async (port: number) => {
      await once(server.listen(port, "127.0.0.1"), "listening")
      return (server.address() as AddressInfo).port
    }
    const port = await listen(0)
    const url = new URL(address)
    url.hostname = "127.0.0.1"
    url.port = String(port)
    const cut = async () => {
      const closed = once(server, "close")
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    }
    return {
      url: Redacted.make(url.href),
      /** Ends all connections and refuses new ones. */
      cut: Effect.promise(cut),
      /** Accepts connections again, but closes each of them at once. */
      reject: Effect.promise(() => {
        isRejecting = true
        return listen(port)
      }),
      /** Accepts connections again. */
      repair: Effect.promise(async () => {
        isRejecting = false
        if (!server.listening) await listen(port)
      }),
      /** Waits until the next connection has sent data, or is closed. */
      nextConnection: (event: "data" | "close") =>
        Effect.promise(() => new Promise((resolve) => server.once("connection", (near) => near.once(event, resolve)))),
      /** Calls `act` once, when a budget request has been sent to Redis. */
      afterRequest: (act: () => void) =>
        Effect.sync(() => {
          afterRequest = act
        }),
      /** Accepts data but does not forward it. */
      hang: (hung: boolean) =>
        Effect.sync(() => {
          isHung = hung
        }),
      /** Delays every answer. */
      delay: (millis: number) =>
        Effect.sync(() => {
          delayMillis = millis
        }),
      connections: Effect.sync(() => sockets.size / 2),
      /** Number of packets with a budget request that it received while it hung. */
      requestsWhileHung: Effect.sync(() => commands),
      close: () => (server.listening ? cut() : Promise.resolve())
    }
  }),
  (proxy) => Effect.promise(proxy.close)
)
