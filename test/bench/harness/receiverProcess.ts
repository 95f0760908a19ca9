/** A receiver of webhooks that reads each message and answers 204. It prints its address. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(204).end())
})
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.on("SIGTERM", () => process.exit(0))
