import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Context, Effect, Layer, Redacted } from "effect"
import { Webhook } from "standardwebhooks"
import type { FeedChange } from "../../src/feed/FeedChange.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { PrivateReceivers } from "../../src/webhooks/Addresses.ts"

/** A received message. */
export interface Arrival {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly message: {
    readonly type: string
    readonly timestamp: string
    readonly data: Pick<FeedChange, "entity" | "seq" | "store_id" | "what">
  }
  /** The status of the answer. Undefined: the answer is not sent yet. */
  status: number | undefined
}

/** The answer to a message: a status, optionally with headers. */
type Answer = number | { readonly status: number; readonly headers: Readonly<Record<string, string>> }

interface Behaviour {
  answer: (arrival: Arrival) => Answer | Promise<Answer>
  /**
   * `once`: a connection is cut when a second request arrives on it. `endless`: the content of an answer has no end. No header announces
   * either.
   */
  connections: "kept" | "once" | "endless"
}

/** A receiver of webhooks on this machine. */
export const makeReceiver = Effect.gen(function* () {
  const arrivals: Array<Arrival> = []
  const behaviour: Behaviour = { answer: () => 204, connections: "kept" }
  const served = new WeakSet<Socket>()
  const server = yield* Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const made = createServer(async (request, response) => {
        if (behaviour.connections === "once" && served.has(request.socket)) {
          request.socket.destroy()
          return
        }
        served.add(request.socket)
        let body = ""
        for await (const chunk of request.setEncoding("utf8")) body += chunk
        const { headers, url: path = "" } = request
        const arrival: Arrival = { path, headers, body, message: JSON.parse(body), status: undefined }
        arrivals.push(arrival)
        const answer = await behaviour.answer(arrival)
        const { status, headers: sent } = typeof answer === "number" ? { status: answer, headers: {} } : answer
        arrival.status = status
        if (behaviour.connections === "endless") response.writeHead(200, { "content-length": 2 }).write("x")
        else response.writeHead(status, sent).end()
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.close()
        made.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return { arrivals, behaviour, host, url: (path: string) => `http://${host}${path}` }
})

export class Receiver extends Context.Tag("test/Receiver")<Receiver, Effect.Effect.Success<typeof makeReceiver>>() {}

/** A receiver, the setting that allows it, and a key for secrets. */
export const layerReceiver = Layer.unwrapScoped(
  Effect.map(makeReceiver, (receiver) =>
    Layer.mergeAll(
      Layer.succeed(Receiver, receiver),
      Layer.succeed(PrivateReceivers, [receiver.host]),
      Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })
    )
  )
)

/** Whether the message's signature is valid for a secret, according to the library. */
export const isVerified = (secret: Redacted.Redacted, { body, headers }: Pick<Arrival, "body" | "headers">) => {
  try {
    new Webhook(Redacted.value(secret)).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

/** The first accepted message of each change, in the order of arrival. */
export const firstAccepted = (arrivals: ReadonlyArray<Arrival>) => {
  const seen = new Set<number>()
  return arrivals.filter(({ message: { data }, status }) => {
    if (status === undefined || status >= 300 || seen.has(data.seq)) return false
    seen.add(data.seq)
    return true
  })
}

/** The entities whose changes were not accepted in order. */
export const outOfOrder = (arrivals: ReadonlyArray<Arrival>) => {
  const last = new Map<string, number>()
  const wrong = new Set<string>()
  for (const { message } of firstAccepted(arrivals)) {
    const { entity, seq } = message.data
    if ((last.get(entity.id) ?? 0) > seq) wrong.add(entity.id)
    last.set(entity.id, seq)
  }
  return [...wrong]
}
