import type { IncomingMessage } from "node:http"
import { isIPv6 } from "node:net"
import type { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Context } from "effect"

/** Removes the port from an IP address. Some proxies add the port, which is different for every connection. */
const withoutPort = (address: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(address) ?? []
  return bracketed ?? plain ?? address
}

/** The network of an IPv6 address (its first 64 bits), because a host can use any address in it. IPv4 addresses are unchanged. */
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

/** The number of proxies in front of the server whose X-Forwarded-For is trusted. */
export class TrustedProxies extends Context.Reference<TrustedProxies>()("catalog/TrustedProxies", {
  defaultValue: () => 0
}) {}

/**
 * The client's IP address: the remote address of the connection or, behind trusted proxies, the address that the outermost
 * trusted proxy saw.
 */
export const clientOfMessage = ({ headers, socket }: IncomingMessage, trustedProxies: number): string => {
  const connected = socket.remoteAddress ?? "unknown"
  // Each proxy appends the address of its client. Earlier entries are not trusted, because the client can write any.
  const forwarded = String(headers["x-forwarded-for"] ?? "")
    .split(",")
    .map((each) => withoutPort(each.trim()))
    .filter((each) => each !== "")
  return [...forwarded, connected].at(-1 - trustedProxies) ?? forwarded[0] ?? connected
}

/** As `clientOfMessage`. For IPv6, the 64-bit network. */
export const addressOfMessage = (message: IncomingMessage, trustedProxies: number): string =>
  networkOf(clientOfMessage(message, trustedProxies))

/** As `addressOfMessage`. */
export const addressOf = (request: HttpServerRequest.HttpServerRequest, trustedProxies: number): string =>
  addressOfMessage(toIncomingMessage(request), trustedProxies)
