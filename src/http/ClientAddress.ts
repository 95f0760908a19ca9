import { isIPv6 } from "node:net"
import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"

/** Some proxies add the port that was spoken from, with which every connection would be an address of its own. */
const withoutPort = (address: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(address) ?? []
  return bracketed ?? plain ?? address
}

/** An IPv6 host has a network of its own, of 64 bits, in which it may choose its address. */
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
 * Where a request came from, as far as is known: the address of the connection or, behind so many proxies that are believed, what
 * the outermost of them saw. An IPv6 address counts as its network of 64 bits.
 */
export const addressOf = (request: HttpServerRequest.HttpServerRequest, trustedProxies: number): string => {
  const socket = toIncomingMessage(request).socket.remoteAddress ?? "unknown"
  // Each proxy adds, at the end, who spoke to it; what stands before that, anybody may have written.
  const forwarded = (request.headers["x-forwarded-for"] ?? "")
    .split(",")
    .map((each) => withoutPort(each.trim()))
    .filter((each) => each !== "")
  return networkOf([...forwarded, socket].at(-1 - trustedProxies) ?? forwarded[0] ?? socket)
}
