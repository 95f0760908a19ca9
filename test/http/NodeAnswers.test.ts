import { connect } from "node:net"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger, Ref } from "effect"
import { Unavailable } from "../../src/model/Errors.ts"
import { anAccount, Stores, TestServices } from "../../src/testing/index.ts"
import {
  type Answer,
  ask,
  assertRefusal,
  MemoryServer,
  misfit,
  noRoute,
  onlyAnswer,
  port,
  type Refusal,
  refusals,
  serverWith,
  shortPatience,
  talk,
  tell
} from "./Exchange.ts"

const deletions = "/api/v1/data-health/unused-deletions"
const statuses = (answers: ReadonlyArray<Answer>) => answers.map(({ status }) => status)

layer(MemoryServer)("request heads", (it) => {
  describe("text that is not HTTP ends the connection with an error envelope", () => {
    const get = "GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n"
    const post = `POST ${deletions} HTTP/1.1\r\nHost: a\r\n`
    const inputs: Readonly<Record<string, string>> = {
      "one word": "GARBAGE\r\n\r\n",
      "a TLS hello": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
      "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "HTTP/1.2": "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
      "HTTPS/1.1": "GET / HTTPS/1.1\r\nHost: a\r\n\r\n",
      "a lower-case method": "get / HTTP/1.1\r\nHost: a\r\n\r\n",
      "a method that nobody knows": "FROBNICATE / HTTP/1.1\r\nHost: a\r\n\r\n",
      "line feeds alone": "GET / HTTP/1.1\nHost: a\n\n",
      "a blank in the target": "GET /api/v1/ping x HTTP/1.1\r\nHost: a\r\n\r\n",
      "U+0000 in a header": `${get}X: a\x00b\r\n\r\n`,
      "a bare carriage return in a header": `${get}X: a\rb\r\n\r\n`,
      "a blank in a header's name": `${get}X Y: z\r\n\r\n`,
      "a blank before the colon": `${get}X : z\r\n\r\n`,
      "a header without a name": `${get}: z\r\n\r\n`,
      "a header without a colon": `${get}XYZ\r\n\r\n`,
      "a folded header": `${get}X: y\r\n z\r\n\r\n`,
      "both lengths": `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "both lengths the other way round": `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
      "two lengths": `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
      "the same length twice": `${post}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
      "a list of lengths": `${post}Content-Length: 5, 5\r\n\r\nhello`,
      "a length that is none": `${post}Content-Length: five\r\n\r\nhello`,
      "a negative length": `${post}Content-Length: -5\r\n\r\nhello`,
      "a length with a sign": `${post}Content-Length: +5\r\n\r\nhello`,
      "a hexadecimal length": `${post}Content-Length: 0x5\r\n\r\nhello`,
      "an endless length": `${post}Content-Length: 99999999999999999999999\r\n\r\nhello`,
      "chunked, then something else": `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`
    }
    const unescaped: Readonly<Record<string, string>> = {
      "a tab in the query": "GET /api/v1/products?search=a\tb HTTP/1.1\r\nHost: a\r\n\r\n",
      "UTF-8 in the query": "GET /api/v1/products?search=\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
      "UTF-8 in an absolute target": "GET http://a/\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
      "Latin-1 in the path": "GET /api/v1/products/\xe9 HTTP/1.1\r\nHost: a\r\n\r\n",
      "U+0000 in the target": "GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n"
    }
    for (const [name, input] of Object.entries({ ...inputs, ...unescaped }))
      it.effect(name, () =>
        Effect.gen(function* () {
          const talked = yield* talk(input)
          assertRefusal(onlyAnswer(talked), name in unescaped ? refusals.notEscaped : refusals.notHttp)
          assert.strictEqual(onlyAnswer(talked).headers.connection, "close")
          assert.deepStrictEqual([talked.closed, talked.rest], [true, ""])
          assert.strictEqual((yield* ask("/healthz")).status, 200)
        })
      )
  })

  describe("heads that are valid HTTP, but not a valid request here", () => {
    const inputs: Readonly<Record<string, readonly [string, Refusal]>> = {
      "no Host": ["GET /healthz HTTP/1.1\r\n\r\n", misfit("Host", "is missing")],
      "two of Host": ["GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", misfit("Host", "is given more than once")],
      "the same Host twice": [
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        misfit("Host", "is given more than once")
      ],
      "absolute-form of another scheme": ["GET ftp://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n", refusals.notOriginForm],
      "absolute-form with a user": ["GET http://u@a/healthz HTTP/1.1\r\nHost: a\r\n\r\n", refusals.notOriginForm],
      "absolute-form without a host": ["GET http:///healthz HTTP/1.1\r\nHost: a\r\n\r\n", refusals.notOriginForm],
      "absolute-form without Host": ["GET http://a/healthz HTTP/1.1\r\n\r\n", misfit("Host", "is missing")],
      "absolute-form of no route": ["GET http://a?healthz HTTP/1.1\r\nHost: a\r\n\r\n", noRoute("GET /")],
      "authority-form": ["CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n", refusals.notOriginForm],
      "asterisk-form": ["OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", refusals.notOriginForm],
      "two slashes": [
        "GET //evil.example/api/v1/ping HTTP/1.1\r\nHost: a\r\n\r\n",
        noRoute("GET //evil.example/api/v1/ping")
      ],
      "an unforeseen expectation": ["GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", refusals.expectation],
      "a target of 13 KB": [`GET /${"x".repeat(13_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, refusals.longTarget],
      "a target of 100 KB": [`GET /${"x".repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, refusals.longTarget],
      "a query of 100 KB": [`GET /healthz?${"x".repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, refusals.longTarget],
      "a header of 17 KB": [`GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(17_000)}\r\n\r\n`, refusals.longHead],
      "a header of 100 KB": [
        `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
        refusals.longHead
      ],
      "a header of 1 MB": [
        `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(1_000_000)}\r\n\r\n`,
        refusals.longHead
      ],
      "a header name of 1 MB": [
        `GET /healthz HTTP/1.1\r\nHost: a\r\n${"x".repeat(1_000_000)}: x\r\n\r\n`,
        refusals.longHead
      ]
    }
    for (const [name, [input, refusal]] of Object.entries(inputs))
      it.effect(name, () => Effect.map(tell(input), (answer) => assertRefusal(answer, refusal)))
  })

  it.effect("an absolute target is read as its path: the same answer, also from the cache", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const get = (target: string) =>
        tell(`GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      const path = "/api/v1/products?limit=7"
      const plain = yield* get(path)
      for (const target of [path, `http://a${path}`, `http://elsewhere.example:1${path}`, `HTTPS://a${path}`]) {
        const answer = yield* get(target)
        assert.deepStrictEqual([answer.status, answer.text], [200, plain.text], target)
        assert.strictEqual(answer.headers.etag, plain.headers.etag)
      }
    })
  )

  describe("unusual heads that are served", () => {
    const inputs: Readonly<Record<string, string>> = {
      "HTTP/1.0 without Host": "GET /healthz HTTP/1.0\r\n\r\n",
      "HTTP/1.0 with Host": "GET /healthz HTTP/1.0\r\nHost: a\r\n\r\n",
      "absolute-form": "GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
      "absolute-form of elsewhere": "GET HTTPS://elsewhere.example:8443/healthz?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
      "an empty Host": "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n",
      "a Host that is no name": "GET /healthz HTTP/1.1\r\nHost: ][%\r\n\r\n",
      "an empty line first": "\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
      "Latin-1 in a header": "GET /healthz HTTP/1.1\r\nHost: a\r\nX: \xe9\r\n\r\n",
      "Expect: 100-continue": "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
      "the offer of a websocket":
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
      "the offer of HTTP/2":
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n\r\n",
      "a body on GET": "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
      "a query with #": "GET /healthz?x=#y HTTP/1.1\r\nHost: a\r\n\r\n"
    }
    for (const [name, input] of Object.entries(inputs))
      it.effect(name, () =>
        Effect.gen(function* () {
          const { answers } = yield* talk(input, { answers: name.includes("100-continue") ? 2 : 1 })
          const answer = answers.at(-1)
          assert.deepStrictEqual([answer?.status, answer?.text], [200, '{"status":"ok"}'])
        })
      )

    it.effect("an offered upgrade is ignored: the body is read and the connection stays", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const common = `Host: a\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n`
        const { answers } = yield* talk(
          [
            `POST ${deletions} HTTP/1.1\r\n${common}Content-Length: 2\r\n\r\n{}`,
            `GET /api/v1/ping HTTP/1.1\r\n${common}\r\n`,
            `GET /api/v1/stores HTTP/1.1\r\n${common}\r\n`
          ],
          { answers: 3 }
        )
        assert.deepStrictEqual(statuses(answers), [403, 200, 200])
      })
    )
  })

  describe("pipelined requests", () => {
    it.effect("are answered in order", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`
        const targets = ["/api/v1/ping", "/nowhere", "/api/v1/stores", "/healthz", "/api/v1/products?limit=1&limit=2"]
        const { answers } = yield* talk(targets.map(get).join(""), { answers: targets.length })
        assert.deepStrictEqual(statuses(answers), [200, 404, 200, 200, 400])
        assert.deepStrictEqual(
          answers.map(({ headers }) => headers["x-ratelimit-remaining"]),
          ["119", "118", "117", "120", "116"]
        )
      })
    )

    it.effect("nothing is read after a request that is not HTTP", () =>
      Effect.gen(function* () {
        const { answers, closed } = yield* talk(
          `GARBAGE\r\n\r\n${"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3)}`
        )
        assert.deepStrictEqual([statuses(answers), closed], [[400], true])
      })
    )

    it.effect("a request hidden in a body is read as the body", () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const smuggled = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        const common = `Host: a\r\nAuthorization: Bearer ${token}\r\n`
        const { answers } = yield* talk(
          `POST ${deletions} HTTP/1.1\r\n${common}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}` +
            `POST ${deletions} HTTP/1.1\r\n${common}Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n` +
            `GET /api/v1/ping HTTP/1.1\r\n${common}Connection: close\r\n\r\n`
        )
        assert.deepStrictEqual(statuses(answers), [403, 403, 200])
      })
    )
  })
})

/** Reads of the stores wait for `release`; their starts and interruptions are reported. */
const waiting = Effect.gen(function* () {
  const release = yield* Deferred.make<void>()
  const begun = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  return { release, begun, interrupted }
})

const logged: Array<unknown> = []
const recording = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message }) => logged.push(message))
)

/** A server for each test, because its reads of the stores wait. */
const withWaitingStores = <A, E>(
  test: (gate: Effect.Effect.Success<typeof waiting>) => Effect.Effect<A, E, Layer.Layer.Success<typeof MemoryServer>>
) =>
  Effect.gen(function* () {
    const gate = yield* waiting
    const list = Deferred.succeed(gate.begun, undefined).pipe(
      Effect.zipRight(Deferred.await(gate.release)),
      Effect.as([]),
      Effect.onInterrupt(() => Deferred.succeed(gate.interrupted, undefined))
    )
    const server = serverWith(shortPatience).pipe(
      Layer.provide(Layer.mock(Stores, { list })),
      Layer.provide(recording),
      Layer.provideMerge(TestServices)
    )
    return yield* Effect.provide(test(gate), server)
  })

layer(Layer.empty, { excludeTestServices: true })("while a request is in flight", (it) => {
  it.effect("a request that is not HTTP is answered after the running one", () =>
    withWaitingStores(({ begun, release }) =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const talking = yield* Effect.fork(
          talk(`GET /api/v1/stores HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\nGARBAGE\r\n\r\n`)
        )
        yield* Deferred.await(begun)
        // When another connection has been served, everything sent before has arrived.
        yield* ask("/healthz")
        yield* Deferred.succeed(release, undefined)
        const { answers, closed } = yield* talking
        assert.deepStrictEqual([statuses(answers), closed], [[200, 400], true])
        assert(answers[1] !== undefined)
        assertRefusal(answers[1], refusals.notHttp)
      })
    )
  )

  it.effect("CONNECT is answered after the running request", () =>
    withWaitingStores(({ begun, release }) =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const talking = yield* Effect.fork(
          talk(
            `GET /api/v1/stores HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`
          )
        )
        yield* Deferred.await(begun)
        yield* ask("/healthz")
        yield* Deferred.succeed(release, undefined)
        const { answers, closed } = yield* talking
        assert.deepStrictEqual([statuses(answers), closed], [[200, 400], true])
      })
    )
  )

  it.effect("a client that disconnects interrupts its request without a log entry, and the next client is served", () =>
    withWaitingStores(({ begun, interrupted }) =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const portNumber = yield* port
        const before = logged.length
        const client = connect(portNumber, "127.0.0.1")
        client.write(`GET /api/v1/stores HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
        yield* Deferred.await(begun)
        client.destroy()
        yield* Deferred.await(interrupted)
        assert.strictEqual((yield* ask("/healthz")).status, 200)
        assert.deepStrictEqual(logged.slice(before), [])
      })
    )
  )

  it.effect("a client that resets the connection inside a head or a body causes no log entry", () =>
    withWaitingStores(() =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const portNumber = yield* port
        const before = logged.length
        for (const input of [
          "GET /api/v1/st",
          `POST ${deletions} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: 99\r\n\r\nx`
        ])
          yield* Effect.async<void>((resume) => {
            const client = connect(portNumber, "127.0.0.1", () =>
              client.write(input, () => {
                client.resetAndDestroy()
                resume(Effect.void)
              })
            )
            client.on("error", () => {})
          })
        assert.strictEqual((yield* ask("/healthz")).status, 200)
        assert.deepStrictEqual(logged.slice(before), [])
      })
    )
  )

  it.effect("the server closes a connection after the answer if the client does not", () =>
    withWaitingStores(() =>
      Effect.gen(function* () {
        const portNumber = yield* port
        const answer = yield* Effect.async<string>((resume) => {
          const client = connect({ port: portNumber, host: "127.0.0.1", allowHalfOpen: true })
          let received = ""
          client.on("data", (data) => {
            received += data.toString()
          })
          // The client keeps its half open, and notices that the server has closed when writing fails.
          client.on("end", () => {
            const writing = setInterval(() => client.write("x"), 50)
            client.on("error", () => {})
            client.on("close", () => {
              clearInterval(writing)
              resume(Effect.succeed(received))
            })
          })
          client.write("GARBAGE\r\n\r\n")
        })
        assert.match(answer, /^HTTP\/1\.1 400 /)
      })
    )
  )
})

const closing = Effect.gen(function* () {
  const ready = yield* Ref.make(true)
  return { ready, check: Effect.filterOrFail(Ref.get(ready), Boolean, () => new Unavailable()).pipe(Effect.asVoid) }
})

layer(Layer.empty, { excludeTestServices: true })("readiness", (it) => {
  it.effect("follows the state of its dependencies, from one request to the next", () =>
    Effect.gen(function* () {
      const { check, ready } = yield* closing
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* ask("/readyz")).text, '{"status":"ready"}')
        yield* Ref.set(ready, false)
        assertRefusal(yield* ask("/readyz"), refusals.unavailable)
        yield* Ref.set(ready, true)
        assert.strictEqual((yield* ask("/readyz")).status, 200)
      }).pipe(Effect.provide(serverWith(undefined, check).pipe(Layer.provideMerge(TestServices))))
    })
  )
})
