import { createSocket } from "node:dgram"
import * as dns from "node:dns"
import type { AddressInfo } from "node:net"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, TestClock } from "effect"
import { getOutside, makeHostLookUp, OutsideNetwork } from "../../src/connections/OutsideRequest.ts"

/** The answer to a query, with one address of the requested type. No address: there is no such name. */
const answerTo = (query: Buffer, address: ReadonlyArray<number> | undefined) => {
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(address === undefined ? 0 : 1, 6)
  if (address === undefined) return Buffer.concat([head, question])
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc00c, 0)
  question.copy(record, 2, question.length - 4)
  record.writeUInt32BE(60, 6)
  record.writeUInt16BE(address.length, 10)
  return Buffer.concat([head, question, record, Buffer.from(address)])
}

interface NameServer {
  readonly address: string
  /** Answers the queries for `silent` that wait, and all later ones: there is no such name. Returns the number of those that waited. */
  readonly answerSilent: () => number
  readonly close: () => void
}

/** A DNS server: `known` has both kinds of addresses, `four` only IPv4. `silent` has no answer before `answerSilent`. Other names do not exist. */
const nameServer = Effect.acquireRelease(
  Effect.async<NameServer>((resume) => {
    const socket = createSocket("udp4")
    const held: Array<() => void> = []
    let isSilent = true
    socket.on("message", (query, { address, port }) => {
      const name = query.subarray(13, 13 + (query[12] ?? 0)).toString()
      const isFour = query[query.indexOf(0, 12) + 2] === 1
      const has = name === "known" || (name === "four" && isFour)
      const found = isFour ? [192, 0, 2, 1] : [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]
      const answer = () => socket.send(answerTo(query, has ? found : undefined), port, address)
      if (name === "silent" && isSilent) held.push(answer)
      else answer()
    })
    const answerSilent = () => {
      isSilent = false
      for (const answer of held) answer()
      return held.length
    }
    socket.bind(0, "127.0.0.1", () => {
      const { port } = socket.address() as AddressInfo
      resume(Effect.succeed({ address: `127.0.0.1:${port}`, answerSilent, close: () => socket.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("look-ups of hosts that strangers named", () => {
  it.scoped("find all addresses, and leave addresses as they are", () =>
    Effect.gen(function* () {
      const { address } = yield* nameServer
      const lookUp = makeHostLookUp({ servers: [address] })
      const find = (host: string) => Effect.promise(() => lookUp(host))
      assert.deepStrictEqual(yield* find("known.example"), ["192.0.2.1", "2001:db8::9"])
      assert.deepStrictEqual(yield* find("four.example"), ["192.0.2.1"])
      for (const literal of ["198.51.100.7", "2001:db8::1"]) assert.deepStrictEqual(yield* find(literal), [literal])
      const missing = yield* Effect.flip(Effect.tryPromise(() => lookUp("absent.example")))
      assert.include(String(missing.cause), "ENOTFOUND")
    })
  )

  it.effect("are given up after four seconds", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const silent = {
        resolve: () => {
          Deferred.unsafeDone(asked, Effect.void)
          return new Promise<never>(() => {})
        },
        dial: (address: string) => ({ address })
      }
      const request = getOutside(new URL("https://silent.example/"), { headers: {}, maxBytes: 1 })
      const sent = yield* Effect.fork(Effect.provideService(Effect.flip(request), OutsideNetwork, silent))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("3900 millis")
      assert.isTrue((yield* Fiber.poll(sent))._tag === "None")
      yield* TestClock.adjust("100 millis")
      assert.deepInclude(yield* Fiber.join(sent), { _tag: "OutsideFailure", reason: "unresolved" })
    })
  )

  it.scoped("end although the name server does not answer", () =>
    Effect.gen(function* () {
      const { address } = yield* nameServer
      const lookUp = makeHostLookUp({ servers: [address], timeout: 50 })
      const late = yield* Effect.flip(Effect.tryPromise(() => lookUp("silent.example")))
      assert.include(String(late.cause), "ETIMEOUT")
    })
  )

  it.scoped("do not make the operating system's look-ups wait", () =>
    Effect.gen(function* () {
      const { address, answerSilent } = yield* nameServer
      const lookUp = makeHostLookUp({ servers: [address], timeout: 120_000 })
      let ended = 0
      const silent = Array.from({ length: 20 }, () => lookUp("silent.example").catch(() => ended++))
      // The database's host is found this way.
      yield* Effect.promise(() => promisify(dns.lookup)("localhost"))
      assert.strictEqual(ended, 0)
      answerSilent()
      yield* Effect.promise(() => Promise.all(silent))
      assert.strictEqual(ended, 20)
    })
  )
})
