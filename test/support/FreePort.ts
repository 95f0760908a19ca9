import { once } from "node:events"
import { createServer } from "node:net"

/** The range from which operating systems assign no ports, neither to listeners nor to outgoing connections. */
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

/** A free port that the operating system does not assign to another process before the test uses it. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest))
    if (await isFree(port)) return port
  }
}
