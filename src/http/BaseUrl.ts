import { HttpServer } from "@effect/platform"
import { Context, Effect, Layer, Option } from "effect"

/** A host as an address names it: every interface is reached by localhost, IPv6 stands in brackets. */
const hostOf = (hostname: string) =>
  hostname === "0.0.0.0" || hostname === "::" ? "localhost" : hostname.includes(":") ? `[${hostname}]` : hostname

/** The address that is listened on, as a browser takes it. */
export const listeningOn = (address: HttpServer.Address): string =>
  address._tag === "TcpAddress" ? `http://${hostOf(address.hostname)}:${address.port}` : address.path

/**
 * The public address of the service, without a trailing slash: the issuer of the authorization server, the beginning of every
 * link that leaves the service. From the configuration, never from a request's headers.
 */
export class BaseUrl extends Context.Tag("catalog/BaseUrl")<BaseUrl, string>() {
  /** As configured, else the address that is listened on. */
  static readonly layer = (configured: Option.Option<string>) =>
    Layer.effect(
      BaseUrl,
      Effect.map(HttpServer.HttpServer, ({ address }) => Option.getOrElse(configured, () => listeningOn(address)))
    )
}

const loopback = ["localhost", "127.0.0.1", "[::1]"]

/** The origins that are this service's own: that of its address; on a machine's own address, by each of its names. */
export const ownOrigins = (baseUrl: string): ReadonlySet<string> => {
  const { hostname, origin, port, protocol } = new URL(baseUrl)
  return new Set([
    origin,
    ...(loopback.includes(hostname)
      ? loopback.map((name) => new URL(`${protocol}//${name}${port === "" ? "" : `:${port}`}`).origin)
      : [])
  ])
}
