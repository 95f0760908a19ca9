/** Maximum characters of a redirect URI. */
const maxCharacters = 2_048

/** Hosts of programs on the merchant's own machine. Plain http is allowed only for them. */
const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Schemes that run code, open local files, or cannot receive an authorization code. */
const forbiddenSchemes = new Set([
  ...["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "filesystem:", "view-source:"],
  ...["ftp:", "ws:", "wss:", "mailto:", "tel:", "sms:", "intent:", "chrome:", "resource:"]
])

/** Visible ASCII. With `needsEscaping`, allows only characters that browsers do not change or escape in a URL. */
const plain = /^[!-~]+$/
const needsEscaping = /[\\"<>^`{|}]/

/** User information before the host, even if it is empty, which a parsed `URL` would not show. */
const userInfo = /^[^/?]*\/\/[^/?]*@/

/** The rule that a redirect URI breaks. Undefined: it is valid. */
export const misfitOfRedirectUri = (uri: string): string | undefined => {
  if (uri.length > maxCharacters) return `must have at most ${maxCharacters} characters`
  if (!plain.test(uri) || needsEscaping.test(uri) || !URL.canParse(uri)) return "must be an absolute URI"
  if (uri.includes("#")) return "must not have a fragment (the part from # on)"
  if (uri.includes("*")) return "must not have a wildcard"
  const { hostname, protocol } = new URL(uri)
  if (userInfo.test(uri)) return "must not have user information"
  if (forbiddenSchemes.has(protocol)) return `must not begin with ${protocol}`
  switch (protocol) {
    case "https:":
      return /^https:\/\/[^/?]/i.test(uri) ? undefined : "must name a host"
    case "http:":
      return /^http:\/\/[^/?]/i.test(uri) && loopbackHosts.has(hostname)
        ? undefined
        : "must be https: plain http is for localhost, 127.0.0.1 and [::1] only"
    default:
      return uri.length > protocol.length ? undefined : "must be an absolute URI"
  }
}

const loopback = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?([/?].*)?$/

/** A loopback URI without its port, because programs use any free port (RFC 8252, section 7.3). Undefined: not loopback. */
const withoutPort = (uri: string): string | undefined => {
  const parts = loopback.exec(uri)
  return parts === null ? undefined : `${parts[1]}${parts[2] ?? ""}`
}

/** Whether a URI is registered. The texts must be equal, except for the port of a loopback URI. */
export const isRegistered = (registered: ReadonlyArray<string>, uri: string): boolean => {
  if (registered.includes(uri)) return true
  const portless = withoutPort(uri)
  return (
    portless !== undefined &&
    misfitOfRedirectUri(uri) === undefined &&
    registered.some((each) => withoutPort(each) === portless)
  )
}

/** The destination of a redirect, as pages show it: a host, or the scheme of a program on the user's machine. */
export const destinationOf = (uri: string): string => {
  const { host, protocol } = new URL(uri)
  return protocol === "https:" || protocol === "http:" ? host : protocol
}

/** Adds parameters to a redirect URI. */
export const withParameters = (uri: string, parameters: Readonly<Record<string, string>>): string => {
  const start = uri.indexOf("?")
  const query = uri.slice(start + 1)
  const joint = start === -1 ? "?" : query === "" || query.endsWith("&") ? "" : "&"
  return `${uri}${joint}${new URLSearchParams(parameters)}`
}
