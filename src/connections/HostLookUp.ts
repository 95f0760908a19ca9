import * as dns from "node:dns/promises"
import { isIP } from "node:net"

/** Time limit of one DNS query, which is sent twice. */
const queryMillis = 2_000

/**
 * Resolves host names that strangers chose: by DNS queries of this process, within `timeout` milliseconds for each try. It does not
 * use the operating system's resolver, because Node runs that on two threads, on which the look-up of the database's host would
 * then wait for slow names of strangers. Names of /etc/hosts are not found.
 */
export const makeHostLookUp = ({
  servers,
  timeout = queryMillis
}: {
  /** Addresses of DNS servers, with or without port. Default: those of the operating system. */
  readonly servers?: ReadonlyArray<string>
  readonly timeout?: number
} = {}): ((host: string) => Promise<ReadonlyArray<string>>) => {
  const resolver = new dns.Resolver({ timeout, tries: 2 })
  if (servers !== undefined) resolver.setServers([...servers])
  return async (host) => {
    if (isIP(host) !== 0) return [host]
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = [v4, v6].flatMap((found) => (found.status === "fulfilled" ? found.value : []))
    if (addresses.length === 0 && v4.status === "rejected") throw v4.reason
    return addresses
  }
}
