import { once } from "node:events"
import { createServer } from "node:net"

/** The range from which systems give no ports of their own accord, to neither listeners nor outgoing connections. */
const lowest = 20_000
const highest = 30_000

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, "127.0.0.1")
  try {
    await once(server, "listening")
  } catch {
    return false
  }
  server.close()
  await once(server, "close")
  return true
}

/** A port of this machine that nobody listens on, and that nobody is given by chance until it is taken. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    if (await isFree(port)) return port
  }
}
