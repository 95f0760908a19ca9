/** Most characters of a redirect URI. */
const mostCharacters = 2_048

/** Programs on the merchant's own machine listen there: the one use of plain http. */
const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Schemes that run something, show something local, or lead nowhere a code may go. */
const forbiddenSchemes = new Set([
  ...["javascript:", "data:", "vbscript:", "file:", "blob:", "about:", "filesystem:", "view-source:"],
  ...["ftp:", "ws:", "wss:", "mailto:", "tel:", "sms:", "intent:", "chrome:", "resource:"]
])

/** What an address that browsers read as it is written is made of: no blank, no backslash, nothing that needs escaping. */
const plain = /^[!-~]+$/
const needsEscaping = /[\\"<>^`{|}]/

/** Somebody's name before the host, be it an empty one, of which a parsed address says nothing any more. */
const named = /^[^/?]*\/\/[^/?]*@/

/** What is wrong with an address that a client wants codes to be sent to; undefined: nothing. */
export const misfitOfRedirectUri = (uri: string): string | undefined => {
  if (uri.length > mostCharacters) return `must have at most ${mostCharacters} characters`
  if (!plain.test(uri) || needsEscaping.test(uri) || !URL.canParse(uri)) return "must be an absolute URI"
  if (uri.includes("#")) return "must not have a fragment"
  if (uri.includes("*")) return "must not have a wildcard"
  const { hostname, protocol } = new URL(uri)
  if (named.test(uri)) return "must not have user information"
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

/** A loopback address without its port, which a program takes as it finds it free (RFC 8252, section 7.3). */
const withoutPort = (uri: string): string | undefined => {
  const parts = loopback.exec(uri)
  return parts === null ? undefined : `${parts[1]}${parts[2] ?? ""}`
}

/** Whether a client that registered these may have its code sent there: the same text, but for the port on loopback. */
export const isRegistered = (registered: ReadonlyArray<string>, uri: string): boolean => {
  if (registered.includes(uri)) return true
  const portless = withoutPort(uri)
  return (
    portless !== undefined &&
    misfitOfRedirectUri(uri) === undefined &&
    registered.some((each) => withoutPort(each) === portless)
  )
}

/** Where a redirect leads, for a person: a host, or the scheme of a program on their machine. */
export const destinationOf = (uri: string): string => {
  const { host, protocol } = new URL(uri)
  return protocol === "https:" || protocol === "http:" ? host : protocol
}

/** A redirect with these parameters after its own. */
export const withParameters = (uri: string, parameters: Readonly<Record<string, string>>): string => {
  const start = uri.indexOf("?")
  const query = uri.slice(start + 1)
  const joint = start === -1 ? "?" : query === "" || query.endsWith("&") ? "" : "&"
  return `${uri}${joint}${new URLSearchParams(parameters)}`
}
