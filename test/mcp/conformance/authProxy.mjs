/**
 * Forwards every request from one port to another and adds a token, which the conformance suite cannot send; Host and
 * Origin are not changed. Prints a line on stdout when it listens.
 */
import { createServer, request } from "node:http"

const [port, upstream, token] = process.argv.slice(2)

createServer((incoming, outgoing) => {
  const sent = request(
    {
      host: "127.0.0.1",
      port: Number(upstream),
      method: incoming.method,
      path: incoming.url,
      headers: { ...incoming.headers, authorization: `Bearer ${token}` }
    },
    (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.pipe(outgoing)
    }
  )
  incoming.pipe(sent)
  sent.on("error", () => outgoing.destroy())
  outgoing.on("close", () => sent.destroy())
}).listen(Number(port), "127.0.0.1", () => process.stdout.write("listening\n"))
