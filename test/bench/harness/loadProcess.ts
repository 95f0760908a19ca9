import { connect, type Socket } from "node:net"
import { median, p99 } from "./Statistics.ts"

/** The task of the load process. */
export interface LoadOrder {
  readonly url: string
  readonly token: string
  /** The key for each target, if the targets have different accounts; absent: `token` for all. */
  readonly tokens?: ReadonlyArray<string>
  readonly connections: number
  /** Headers in addition to those of every request. */
  readonly headers: Readonly<Record<string, string>>
  /** Paths with queries; each is requested once. */
  readonly targets: ReadonlyArray<string>
  /** The JSON that is posted to each target; absent: GET requests. */
  readonly bodies?: ReadonlyArray<string>
  /** The expected status of every answer. */
  readonly status: number
  /** The expected length of the answer to each target; absent: any length. */
  readonly lengths?: ReadonlyArray<number>
}

/** The result of a run in which every answer had the expected status and length; otherwise there is no result. */
export interface LoadResult {
  readonly answers: number
  readonly bytes: number
  readonly elapsedMillis: number
  readonly medianMillis: number
  readonly p99Millis: number
}

const endOfHead = Buffer.from("\r\n\r\n")

/**
 * HTTP/1.1 over plain sockets: requests are prepared buffers, and only status and length of an answer are read. On a
 * machine shared with the contenders, a full HTTP client would hide their differences.
 */
const open = ({ headers, url }: LoadOrder) =>
  new Promise<{ readonly socket: Socket; readonly reader: AnswerReader }>((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const reader = new AnswerReader(hostname, port, headers)
    const socket: Socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(65_536),
        callback: (length, buffer) => {
          reader.take(Buffer.from(buffer.buffer, buffer.byteOffset, length))
          return true
        }
      }
    })
    socket.once("connect", () => resolve({ socket, reader }))
    socket.once("error", reject)
    socket.once("close", () => reader.fail("the connection was closed"))
  })

class AnswerReader {
  private readonly headers: string
  private head = Buffer.alloc(0)
  private missing = 0
  private length = 0
  private status = 0
  private inBody = false
  private settle: { done: (status: number, length: number) => void; failed: (error: Error) => void } | undefined

  constructor(hostname: string, port: string, headers: Readonly<Record<string, string>>) {
    const all = { Host: `${hostname}:${port}`, Accept: "application/json", ...headers }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    this.headers = `${lines.join("")}\r\n`
  }

  requestOf(token: string, target: string, body: string | undefined): string {
    const head = `${target} HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n${this.headers}`
    if (body === undefined) return `GET ${head}`
    // Bodies are read as Latin-1, one character per byte.
    const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    return `POST ${head.slice(0, -"\r\n".length)}${length}${body}`
  }

  expect(done: (status: number, length: number) => void, failed: (error: Error) => void): void {
    this.settle = { done, failed }
  }

  fail(reason: string): void {
    const settle = this.settle
    this.settle = undefined
    settle?.failed(new Error(`No whole answer: ${reason}`))
  }

  take(chunk: Buffer): void {
    if (this.inBody) {
      this.body(chunk.length)
      return
    }
    const seen = this.head.length === 0 ? chunk : Buffer.concat([this.head, chunk])
    const end = seen.indexOf(endOfHead)
    if (end === -1) {
      this.head = Buffer.from(seen)
      return
    }
    const head = seen.toString("latin1", 0, end)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.head = Buffer.alloc(0)
    this.status = Number(head.slice(9, 12))
    if (length === undefined && this.status !== 304) {
      this.fail(`its length is not declared:\n${head}`)
      return
    }
    this.length = this.status === 304 ? 0 : Number(length)
    this.missing = this.length
    this.inBody = true
    this.body(seen.length - end - endOfHead.length)
  }

  private body(length: number): void {
    this.missing -= length
    if (this.missing > 0) return
    this.inBody = false
    if (this.missing < 0) {
      this.fail("it is longer than declared")
      return
    }
    const settle = this.settle
    this.settle = undefined
    settle?.done(this.status, this.length)
  }
}

const run = async (order: LoadOrder): Promise<LoadResult> => {
  const connections = await Promise.all(Array.from({ length: order.connections }, () => open(order)))
  let next = 0
  let answers = 0
  let bytes = 0
  const millis: Array<number> = []
  const work = ({ reader, socket }: (typeof connections)[number]) =>
    new Promise<void>((resolve, reject) => {
      const ask = () => {
        const index = next
        const target = order.targets[index]
        if (target === undefined) {
          resolve()
          return
        }
        next += 1
        const sentAt = performance.now()
        reader.expect((status, length) => {
          const expected = order.lengths === undefined ? length : order.lengths[index]
          if (status !== order.status || length !== expected) {
            reject(new Error(`${target} answered ${status} with ${length} bytes instead of ${expected}`))
            return
          }
          millis.push(performance.now() - sentAt)
          answers += 1
          bytes += length
          ask()
        }, reject)
        socket.write(reader.requestOf(order.tokens?.[index] ?? order.token, target, order.bodies?.[index]), "latin1")
      }
      ask()
    })
  const startedAt = performance.now()
  try {
    await Promise.all(connections.map(work))
    const elapsedMillis = performance.now() - startedAt
    return { answers, bytes, elapsedMillis, medianMillis: median(millis), p99Millis: p99(millis) }
  } finally {
    for (const { socket } of connections) socket.destroy()
  }
}

process.on("message", (order: LoadOrder) => {
  run(order).then(
    (result) => process.send?.(result),
    (error: unknown) => process.send?.({ error: String(error) })
  )
})
