import { HttpServer } from "@effect/platform"
import { Context, Effect, Layer, Option } from "effect"

/** The host part of a URL: `localhost` if the server listens on every interface, brackets around IPv6. */
const hostOf = (hostname: string) =>
  hostname === "0.0.0.0" || hostname === "::" ? "localhost" : hostname.includes(":") ? `[${hostname}]` : hostname

/** The URL of the address that the server listens on. */
export const listeningOn = (address: HttpServer.Address): string =>
  address._tag === "TcpAddress" ? `http://${hostOf(address.hostname)}:${address.port}` : address.path

/**
 * The public URL of the service, without a trailing slash. It is the issuer of tokens, and links to the service begin with it.
 * It comes from the settings, never from the headers of a request.
 */
export class BaseUrl extends Context.Tag("catalog/BaseUrl")<BaseUrl, string>() {
  /** `configured`: the setting. Default: the address on which the server listens. */
  static readonly layer = (configured: Option.Option<string>) =>
    Layer.effect(
      BaseUrl,
      Effect.map(HttpServer.HttpServer, ({ address }) => Option.getOrElse(configured, () => listeningOn(address)))
    )
}

const loopback = ["localhost", "127.0.0.1", "[::1]"]

/** The origins of this service: the origin of its URL and, if that is a loopback address, of every loopback name. */
export const ownOrigins = (baseUrl: string): ReadonlySet<string> => {
  const { hostname, origin, port, protocol } = new URL(baseUrl)
  return new Set([
    origin,
    ...(loopback.includes(hostname)
      ? loopback.map((name) => new URL(`${protocol}//${name}${port === "" ? "" : `:${port}`}`).origin)
      : [])
  ])
}
