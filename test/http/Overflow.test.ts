import { connect } from "node:net"
import { setImmediate } from "node:timers/promises"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestServices } from "../../src/testing/index.ts"
import {
  assertRefusal,
  MemoryServer,
  port,
  type Refusal,
  refusals,
  serverWith,
  shortPatience,
  tell
} from "./Exchange.ts"

/** Sends pieces, each after the previous one was sent and the server could read it. Returns the complete answer. */
const tellInPieces = (pieces: ReadonlyArray<string>) =>
  Effect.flatMap(port, (portNumber) =>
    Effect.promise(async () => {
      const socket = connect({ port: portNumber, host: "127.0.0.1", noDelay: true })
      let received = ""
      socket.on("data", (data) => {
        received += data.toString()
      })
      const ended = new Promise((resolve) => socket.once("close", resolve))
      for (const piece of pieces) {
        await new Promise((resolve) => socket.write(piece, "latin1", resolve))
        await setImmediate()
      }
      await ended
      const [head = "", text = "", ...more] = received.split("\r\n\r\n")
      assert.deepStrictEqual(more, [])
      const [statusLine = "", ...lines] = head.split("\r\n")
      return {
        status: Number(statusLine.split(" ")[1]),
        headers: Object.fromEntries(lines.map((line) => line.split(": ") as [string, string])),
        text
      }
    })
  )

const inPiecesOf = (size: number, text: string, first = size) => {
  const pieces = [text.slice(0, first)]
  for (let place = first; place < text.length; place += size) pieces.push(text.slice(place, place + size))
  return pieces
}

const x = (count: number) => "x".repeat(count)

/** Heads of more than 128 KiB, which Node's parser refuses before the service sees them. */
const heads: Readonly<Record<string, readonly [string, Refusal]>> = {
  "a target of 131,072 bytes": [`GET /${x(131_071)} HTTP/1.1\r\nHost: a\r\n\r\n`, refusals.longTarget],
  "a target of 200,000 bytes": [`GET /${x(199_999)} HTTP/1.1\r\nHost: a\r\n\r\n`, refusals.longTarget],
  "a query of 200,000 bytes": [`GET /healthz?${x(199_991)} HTTP/1.1\r\nHost: a\r\n\r\n`, refusals.longTarget],
  "a target of 1,000,000 bytes": [`POST /${x(999_999)} HTTP/1.0\r\n\r\n`, refusals.longTarget],
  "a target and a header of 200,000 bytes": [
    `GET /${x(199_999)} HTTP/1.1\r\nHost: a\r\nX: ${x(200_000)}\r\n\r\n`,
    refusals.longTarget
  ],
  "a header of 200,000 bytes": [`GET / HTTP/1.1\r\nHost: a\r\nX: ${x(200_000)}\r\nY: z\r\n\r\n`, refusals.longHead],
  "a header of 200,000 bytes in words": [
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${"word ".repeat(40_000)}end\r\n\r\n`,
    refusals.longHead
  ],
  "a header's name of 200,000 bytes": [`GET / HTTP/1.1\r\nHost: a\r\n${x(200_000)}: y\r\n\r\n`, refusals.longHead],
  "a header's name of 200,000 bytes without a value": [
    `GET / HTTP/1.1\r\nHost: a\r\n${x(200_000)}:\r\n\r\n`,
    refusals.longHead
  ],
  "20,000 headers": [`GET / HTTP/1.1\r\nHost: a\r\n${"X-Many: 1234\r\n".repeat(20_000)}\r\n`, refusals.longHead]
}

/**
 * Splits a text in several ways, also at every byte around the limit of Node's parser and around the end of the
 * target.
 */
const cuttings = (text: string): Readonly<Record<string, ReadonlyArray<string>>> => {
  const end = text.indexOf(" HTTP/1")
  return {
    "in one piece": [text],
    "by 1,000 bytes": inPiecesOf(1_000, text),
    "by 9,999 bytes": inPiecesOf(9_999, text),
    "by 65,536 bytes": inPiecesOf(65_536, text),
    "around the limit byte by byte": [text.slice(0, 131_060), ...text.slice(131_060, 131_100), text.slice(131_100)],
    "around the end of the target byte by byte": [
      text.slice(0, end - 5),
      ...text.slice(end - 5, end + 15),
      text.slice(end + 15)
    ],
    "the last lines byte by byte": [text.slice(0, -30), ...text.slice(-30)]
  }
}

layer(MemoryServer)("a head that is too large for Node's parser", (it) => {
  for (const [name, [text, refusal]] of Object.entries(heads))
    describe(`${name} is ${refusal.status}`, () => {
      for (const [cutting, pieces] of Object.entries(cuttings(text)))
        it.effect(cutting, () =>
          Effect.gen(function* () {
            assert.strictEqual(pieces.join(""), text)
            assertRefusal(yield* tellInPieces(pieces), refusal)
          })
        )
    })

  it.effect("is refused after the answer to the previous request on its connection", () =>
    Effect.gen(function* () {
      const target = `GET /${x(199_999)} HTTP/1.1\r\nHost: a\r\n\r\n`
      const both = `GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n${target}`
      const received = yield* Effect.flatMap(port, (portNumber) =>
        Effect.promise(async () => {
          const socket = connect(portNumber, "127.0.0.1")
          let text = ""
          socket.on("data", (data) => {
            text += data.toString()
          })
          const ended = new Promise((resolve) => socket.once("close", resolve))
          socket.write(both)
          await ended
          return text
        })
      )
      assert.deepStrictEqual(received.match(/HTTP\/1\.1 \d{3}/g), ["HTTP/1.1 200", "HTTP/1.1 414"])
    })
  )
})

layer(serverWith(shortPatience).pipe(Layer.provideMerge(TestServices)))(
  "a head that is too large and never ends",
  (it) => {
    it.effect("gets the answer for a timeout when the time limit for heads ends", () =>
      Effect.map(tell(`GET /${x(200_000)}`), (answer) => assertRefusal(answer, refusals.timeout))
    )
  }
)
