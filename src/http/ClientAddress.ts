import { isIPv6 } from "node:net"
import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"

/** An address without its port: some proxies add the port, and then every connection would have another address. */
const withoutPort = (address: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(address) ?? []
  return bracketed ?? plain ?? address
}

/** An IPv6 host has its own network of 64 bits and may choose any address in it. */
export const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::")
  const groups = head === "" ? [] : head.split(":")
  const last = tail === undefined || tail === "" ? [] : tail.split(":")
  const missing = tail === undefined ? 0 : Math.max(0, 8 - groups.length - last.length)
  return [...groups, ...Array.from({ length: missing }, () => "0"), ...last]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")
}

/**
 * Where a request came from: the address of the connection or, behind trusted proxies, the address that the outermost of them
 * saw. An IPv6 address counts as its network of 64 bits.
 */
export const addressOf = (request: HttpServerRequest.HttpServerRequest, trustedProxies: number): string => {
  const socket = toIncomingMessage(request).socket.remoteAddress ?? "unknown"
  // Each proxy appends the address of its client. Anybody may have written the entries before those.
  const forwarded = (request.headers["x-forwarded-for"] ?? "")
    .split(",")
    .map((each) => withoutPort(each.trim()))
    .filter((each) => each !== "")
  return networkOf([...forwarded, socket].at(-1 - trustedProxies) ?? forwarded[0] ?? socket)
}
