import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Either, Fiber, Layer, Option, TestClock } from "effect"
import { parametersOf } from "../../src/connections/AuthorizationRequest.ts"
import { ClientDocuments } from "../../src/connections/ClientDocuments.ts"
import { OAuthRepo } from "../../src/connections/OAuthRepo.ts"
import { OutsideNetwork } from "../../src/connections/OutsideRequest.ts"
import { isPublicAddress } from "../../src/connections/PublicAddress.ts"
import { addressAt, documentAt, documentHost, makeDocumentHost } from "../oauth/DocumentHost.ts"
import { aSettableClock } from "../support/SettableClock.ts"

/** The service with a repository that only counts. */
const alone = Effect.gen(function* () {
  const host = yield* makeDocumentHost
  const kept: Array<string> = []
  const repo = { keepDocument: (_: unknown, address: string) => Effect.sync(() => kept.push(address)) }
  const documents = yield* Layer.build(
    ClientDocuments.layer([documentHost]).pipe(
      Layer.provide(Layer.succeed(OAuthRepo, repo as unknown as OAuthRepo["Type"])),
      Layer.provide(Layer.succeed(OutsideNetwork, host.network))
    )
  )
  const admit = (path: string) =>
    Context.get(documents, ClientDocuments).admit(
      parametersOf(`${new URLSearchParams({ client_id: addressAt(path) })}`)
    )
  return { ...host, admit, kept }
})

describe("documents of clients", () => {
  it.scoped(
    "are cached for their max-age, between 5 minutes and 24 hours, and fetched once for all waiting requests",
    () =>
      Effect.gen(function* () {
        const { admit, answers, kept, requested } = yield* alone
        const cases = [
          ["/default.json", undefined, 300],
          ["/short.json", "max-age=1", 300],
          ["/never.json", "no-store", 300],
          ["/hour.json", "public, max-age=3600", 3_600],
          ["/long.json", "max-age=99999999", 86_400]
        ] as const
        for (const [path, cacheControl, seconds] of cases) {
          answers.set(path, {
            ...documentAt(path),
            headers: cacheControl === undefined ? {} : { "cache-control": cacheControl }
          })
          const fetches = () => requested.filter((each) => each === path).length
          yield* Effect.all(
            Array.from({ length: 10 }, () => admit(path)),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(fetches(), 1, path)
          yield* TestClock.adjust(`${seconds - 1} seconds`)
          yield* admit(path)
          assert.strictEqual(fetches(), 1, path)
          yield* TestClock.adjust("2 seconds")
          yield* admit(path)
          assert.strictEqual(fetches(), 2, path)
        }
        assert.lengthOf(kept, cases.length * 12)
      })
  )

  it.scoped("are fetched again after their max-age, also if the clock is set back by two hours meanwhile", () =>
    Effect.gen(function* () {
      const { admit, answers, requested } = yield* alone
      const { adjust, setBack, withClock } = yield* aSettableClock
      answers.set("/set-back.json", documentAt("/set-back.json"))
      yield* Effect.gen(function* () {
        yield* admit("/set-back.json")
        setBack()
        yield* adjust("301 seconds")
        yield* admit("/set-back.json")
      }).pipe(withClock)
      assert.lengthOf(requested, 2)
    })
  )

  it.scoped("a slow document is given up after five seconds, and at most eight are fetched at once", () =>
    Effect.gen(function* () {
      const { admit, answers, requested } = yield* alone
      const paths = Array.from({ length: 9 }, (_, index) => `/slow-${index}.json`)
      for (const path of paths) answers.set(path, { stalls: true })
      const [last = "", ...first] = [...paths].reverse()
      const waiting = yield* Effect.forEach(first, (path) => Effect.fork(Effect.either(admit(path))))
      // All requests have reached the host.
      yield* Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            const look = () => (requested.length === 8 ? resolve() : setImmediate(look))
            look()
          })
      )
      const tooMany = yield* Effect.flip(admit(last))
      assert.include(tooMany.message, "Too many documents are being read: try again in a moment.")
      // If a request is aborted, another request that waits for the same document still gets it.
      const another = yield* Effect.fork(Effect.either(admit(first[0] ?? "")))
      const [gone, ...others] = waiting
      yield* Effect.yieldNow()
      if (gone !== undefined) yield* Fiber.interruptFork(gone)
      yield* TestClock.adjust("4999 millis")
      for (const fiber of [another, ...others]) assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* TestClock.adjust("1 millis")
      for (const fiber of [another, ...others])
        assert.include(
          Either.match(yield* Fiber.join(fiber), { onLeft: ({ message }) => message, onRight: () => "" }),
          "Its host did not answer within 5 seconds."
        )
      assert.lengthOf(requested, 8)
      answers.set(last, documentAt(last))
      yield* admit(last)
    })
  )

  it("connections are made to public addresses only", () => {
    const isPublic = (address: string) => [address, isPublicAddress(address)]
    for (const address of [
      ...[
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1"
      ],
      ...["172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1"],
      ...["203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
      ...[
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::ffff:93.184.216.34",
        "::ffff:7f00:1",
        "::10.0.0.1",
        "64:ff9b::a00:1",
        "100::1"
      ],
      ...[
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "2001::1",
        "2002:a00:1::1"
      ],
      ...["3fff::1", "4000::1", "", "agent.example", "0177.0.0.1", "2130706433", "127.1", "93.184.216.34 "]
    ])
      assert.deepStrictEqual(isPublic(address), [address, false])
    for (const address of [
      "1.1.1.1",
      "93.184.216.34",
      "100.63.255.255",
      "100.128.0.1",
      "172.15.0.1",
      "172.32.0.1",
      "192.0.1.1",
      "223.255.255.255",
      "2606:4700::1111",
      "2a00:1450::1",
      "2001:4860:4860::8888"
    ])
      assert.deepStrictEqual(isPublic(address), [address, true])
  })
})
