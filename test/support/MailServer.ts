import { createServer, type Socket } from "node:net"
import { Effect } from "effect"

interface ReceivedMail {
  readonly to: string
  /** Headers and text, as sent. */
  readonly content: string
}

const decodedPrintable = (text: string) =>
  Buffer.from(
    text
      .replaceAll("=\r\n", "")
      .replaceAll(/=([0-9A-F]{2})/g, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16))),
    "latin1"
  ).toString("utf8")

/** The headers and the text of a mail, decoded. */
export const textOfMail = ({ content }: ReceivedMail) => {
  const [head = "", ...body] = content.split("\r\n\r\n")
  const headers = head
    .replaceAll(/\?=\r\n\s+=\?/g, "?==?")
    .replaceAll(/\r\n\s+/g, " ")
    .replaceAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind, text) =>
      kind.toUpperCase() === "B"
        ? Buffer.from(text, "base64").toString("utf8")
        : decodedPrintable(text.replaceAll("_", " "))
    )
  const text = body.join("\r\n\r\n")
  const decoded = /^Content-Transfer-Encoding: base64$/im.test(headers)
    ? Buffer.from(text, "base64").toString("utf8")
    : decodedPrintable(text)
  return `${headers}\n\n${decoded}`.replaceAll("\r\n", "\n")
}

/**
 * A mail server that keeps what it receives. `refusal`: its answer to every mail, or with the code 535 to every sign-in; undefined: it
 * accepts all.
 */
export const mailServer = Effect.acquireRelease(
  Effect.async<{
    readonly port: number
    readonly mails: Array<ReceivedMail>
    refusal: string | undefined
    readonly close: () => void
  }>((resume) => {
    const mails: Array<ReceivedMail> = []
    const sockets = new Set<Socket>()
    const state: { refusal: string | undefined } = { refusal: undefined }
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
      socket.on("error", () => socket.destroy())
      let [buffer, to, isData] = ["", "", false]
      const say = (line: string) => socket.write(`${line}\r\n`)
      const obey = (line: string) => {
        const word = line.slice(0, 4).toUpperCase()
        if (word === "EHLO" || word === "HELO") return say("250-test\r\n250 AUTH PLAIN")
        if (word === "AUTH") return say(state.refusal?.startsWith("535") ? state.refusal : "235 ok")
        if (word === "MAIL" && state.refusal !== undefined) return say(state.refusal)
        if (word === "RCPT") to = /<([^>]*)>/.exec(line)?.[1] ?? ""
        if (word === "DATA") {
          isData = true
          return say("354 go on")
        }
        if (word === "QUIT") return socket.end("221 bye\r\n")
        return say("250 ok")
      }
      socket.on("data", (chunk) => {
        buffer += chunk.toString("utf8")
        for (;;) {
          const end = buffer.indexOf(isData ? "\r\n.\r\n" : "\r\n")
          if (end < 0) return
          const part = buffer.slice(0, end)
          buffer = buffer.slice(end + (isData ? 5 : 2))
          if (isData) {
            isData = false
            // A line that begins with a dot is sent with another one before it (RFC 5321, 4.5.2).
            mails.push({ to, content: part.replaceAll("\r\n..", "\r\n.") })
            say("250 kept")
          } else obey(part)
        }
      })
      say("220 test")
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(
        Effect.succeed({
          port: typeof address === "object" && address !== null ? address.port : 0,
          mails,
          get refusal() {
            return state.refusal
          },
          set refusal(value) {
            state.refusal = value
          },
          close: () => {
            for (const socket of sockets) socket.destroy()
            server.close()
          }
        })
      )
    })
  }),
  ({ close }) => Effect.sync(close)
)
