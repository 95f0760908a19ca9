/** A receiver of webhooks that reads each message and answers 204, over the protocol RECEIVER_PROTOCOL. It prints its address. */
import { createServer, type RequestListener } from "node:http"
import { createServer as createSecureServer } from "node:https"
import type { AddressInfo } from "node:net"
import { certificate, certificateKey } from "../../support/Certificate.ts"

const answer: RequestListener = (request, response) => {
  request.resume().on("end", () => response.writeHead(204).end())
}
const isSecure = process.env.RECEIVER_PROTOCOL === "https"
const server = isSecure ? createSecureServer({ cert: certificate, key: certificateKey }, answer) : createServer(answer)
server.listen(0, "127.0.0.1", () => {
  console.log(`${isSecure ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.on("SIGTERM", () => process.exit(0))
