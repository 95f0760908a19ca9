import { createServer, type Socket } from "node:net"
import { Effect } from "effect"

export interface ReceivedMail {
  readonly to: string
  /** Headers and text, as sent. */
  readonly content: string
}

/** The text of a mail, decoded from quoted-printable. */
export const textOfMail = ({ content }: ReceivedMail) =>
  content.replaceAll("=\r\n", "").replaceAll("=3D", "=").replaceAll("\r\n", "\n")

/** A mail server that keeps what it receives. `refuses`: it answers every mail with an error. */
export const mailServer = Effect.acquireRelease(
  Effect.async<{
    readonly port: number
    readonly mails: Array<ReceivedMail>
    refuses: boolean
    readonly close: () => void
  }>((resume) => {
    const mails: Array<ReceivedMail> = []
    const sockets = new Set<Socket>()
    const state = { refuses: false }
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
      socket.on("error", () => socket.destroy())
      let [buffer, to, isData] = ["", "", false]
      const say = (line: string) => socket.write(`${line}\r\n`)
      const obey = (line: string) => {
        const word = line.slice(0, 4).toUpperCase()
        if (word === "EHLO" || word === "HELO") return say("250 test")
        if (word === "MAIL" && state.refuses) return say("550 refused by the test")
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
            mails.push({ to, content: part })
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
          get refuses() {
            return state.refuses
          },
          set refuses(value) {
            state.refuses = value
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
