import { BlockList, isIPv4, isIPv6 } from "node:net"

/** IPv4 ranges that are not public: IANA's special-purpose registry, multicast and reserved addresses. */
const reservedV4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
] as const

/** Ranges of global unicast IPv6 addresses that are not public, or embed an IPv4 address (6to4, Teredo). */
const reservedV6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20]
] as const

const reserved = new BlockList()
for (const [network, prefix] of reservedV4) reserved.addSubnet(network, prefix, "ipv4")
for (const [network, prefix] of reservedV6) reserved.addSubnet(network, prefix, "ipv6")

/** Global unicast IPv6. It excludes loopback, link-local, unique local and IPv4-mapped addresses, and NAT64. */
const globalV6 = new BlockList()
globalV6.addSubnet("2000::", 3, "ipv6")

/** Whether an IP address is on the public internet. */
export const isPublicAddress = (address: string): boolean =>
  isIPv4(address)
    ? !reserved.check(address, "ipv4")
    : isIPv6(address) && !address.includes("%") && globalV6.check(address, "ipv6") && !reserved.check(address, "ipv6")
