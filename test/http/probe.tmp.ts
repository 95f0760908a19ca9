import net from "node:net"
import { HttpServer } from "@effect/platform"
import { Duration, Effect, Layer } from "effect"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import { anAccount, TestServices } from "../../src/testing/index.ts"

const Live = Http.layer({
  host: "127.0.0.1",
  port: 0,
  patience: {
    head: Duration.millis(300),
    request: Duration.millis(600),
    check: Duration.millis(50),
    drain: Duration.seconds(1)
  }
}).pipe(Layer.provide(Readiness.layer(Effect.void)), Layer.provideMerge(TestServices))
const raw = (port: number, input: string | Buffer, wait = 800) =>
  new Promise<string>((res) => {
    const s = net.connect(port, "127.0.0.1")
    let out = ""
    s.on("data", (d) => (out += d.toString("latin1")))
    s.on("close", () => res(out + "<close>"))
    s.on("error", (e) => {
      out += `<${e.message}>`
    })
    s.write(input)
    setTimeout(() => {
      res(out + "<open>")
      s.destroy()
    }, wait)
  })
Effect.gen(function* () {
  const server = yield* HttpServer.HttpServer
  const port = (server.address as any).port
  const { token } = yield* anAccount()
  const A = `Authorization: Bearer ${token}\r\n`
  const cases: Record<string, string> = {
    badline: "GARBAGE\r\n\r\n",
    nohost: `GET /healthz HTTP/1.1\r\n\r\n`,
    http10: `GET /healthz HTTP/1.0\r\n\r\n`,
    http10host: `GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n`,
    http09: `GET /healthz\r\n\r\n`,
    twohost: `GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`,
    emptyhost: `GET /healthz HTTP/1.1\r\nHost:\r\n\r\n`,
    connect: `CONNECT evil:443 HTTP/1.1\r\nHost: a\r\n\r\n`,
    star: `OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n`,
    abs: `GET http://evil/api/v1/ping HTTP/1.1\r\nHost: a\r\n${A}\r\n`,
    dbl: `GET //evil/api/v1/ping HTTP/1.1\r\nHost: a\r\n${A}\r\n`,
    upgrade: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${A}\r\n`,
    h2c: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n${A}\r\n`,
    upgrade2: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${A}\r\nGET /api/v1/ping HTTP/1.1\r\nHost: a\r\n${A}\r\n`,
    clte: `POST /api/v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    clcl: `POST /api/v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
    te2: `POST /api/v1/ping HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nhello`,
    pipeline: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n${A}\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`,
    pipelinebad: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n${A}\r\nGARBAGE\r\n\r\n`,
    expect: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n${A}\r\n`,
    expect100: `POST /api/v1/data-health/unused-deletions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n${A}\r\n`,
    slowhead: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\n`,
    slowbody: `POST /api/v1/data-health/unused-deletions HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n${A}\r\n`,
    idle: "",
    rawutf8: `GET /api/v1/products?search=\u00c3\u00a9 HTTP/1.1\r\nHost: a\r\n${A}\r\n`,
    tab: `GET /api/v1/products?search=a\tb HTTP/1.1\r\nHost: a\r\n${A}\r\n`,
    hash: `GET /api/v1/products?search=a#b HTTP/1.1\r\nHost: a\r\n${A}\r\n`,
    badheader: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nX: a\u0000b\r\n\r\n`,
    badhname: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n`,
    obsfold: `GET /api/v1/ping HTTP/1.1\r\nHost: a\r\nX: b\r\n folded\r\n${A}\r\n`,
    longt: `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    longh: `GET / HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(100_000)}\r\n\r\n`,
    vlongt: `GET /${"a".repeat(300_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    vlongh: `GET / HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(300_000)}\r\n\r\n`,
    lf: `GET /healthz HTTP/1.1\nHost: a\n\n`,
    http2: `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    v12: `GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n`,
    tls: "\x16\x03\x01\x02\x00\x01\x00\x01",
    manyh: `GET /healthz HTTP/1.1\r\nHost: a\r\n${"x:\r\n".repeat(3000)}\r\n`,
    setcookie: `GET /healthz HTTP/1.1\r\nHost: a\r\nSet-Cookie: ${"x".repeat(20000)}\r\n\r\n`,
    manyh2: `GET /healthz HTTP/1.1\r\nHost: a\r\n${"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:\r\n".repeat(900)}\r\n`,
    badchunk: `POST /api/v1/data-health/unused-deletions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n${A}\r\nZZ\r\nabc`,
    head: `HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n`,
    trace: `TRACE /healthz HTTP/1.1\r\nHost: a\r\n\r\n`
  }
  for (const [k, v] of Object.entries(cases)) {
    if (process.argv[2] && process.argv[2] !== k) continue
    const out = yield* Effect.promise(() => raw(port, Buffer.from(v, "latin1")))
    console.log(
      "##",
      k,
      "\n" +
        (process.argv[2] === k
          ? out
          : out
              .split("\r\n")
              .filter((l) => /^HTTP|^\{|connection|</i.test(l))
              .join(" | ")
              .slice(0, 420))
    )
  }
})
  .pipe(Effect.provide(Live), Effect.runPromise)
  .catch(console.error)
