import { Context, Data, Effect } from "effect"
import { type OutsideFailure, openOutside } from "../connections/OutsideRequest.ts"
import { ValidationFailed } from "../model/Errors.ts"

/**
 * Hosts (with their port, if the address has one) that may receive webhooks at private addresses and without encryption. Default:
 * none. AppConfig reads them from WEBHOOK_PRIVATE_HOSTS.
 */
export class PrivateReceivers extends Context.Reference<PrivateReceivers>()("catalog/PrivateReceivers", {
  defaultValue: (): ReadonlyArray<string> => []
}) {}

/** Connections to one receiver at the same time. */
export const maxConnections = 16

const maxLength = 2_048

/** Why an address cannot be used, apart from its IP addresses. Undefined: it can. */
const misfitOf = (address: string, privateHosts: ReadonlyArray<string>): string | undefined => {
  if (address.length > maxLength) return `must have at most ${maxLength} characters`
  if (!URL.canParse(address)) return "must be a URL, such as https://hooks.example.com/catalog"
  const { hash, host, password, protocol, username } = new URL(address)
  if (protocol !== "https:" && !(protocol === "http:" && privateHosts.includes(host)))
    return "must begin with https:// (http:// only for a host of the setting WEBHOOK_PRIVATE_HOSTS)"
  if (username + password !== "") return "must not contain a user or a password; the signature proves who sends"
  return hash === "" ? undefined : "must not have a fragment (the part from # on)"
}

export const failures: Readonly<Record<OutsideFailure["reason"], string>> = {
  unresolved: "Its host cannot be found.",
  private: "Its host has an address that is not public.",
  untrusted:
    "Its certificate is not trusted: it has expired, is for another host, or is signed by an authority that the service does not know.",
  unanswered: "It did not answer."
}

/** The address is not encrypted, and the setting WEBHOOK_PRIVATE_HOSTS does not have its host (any more). */
class ReceiverUnencrypted extends Data.TaggedError("ReceiverUnencrypted") {
  override readonly message =
    "Its address begins with http://, and the setting WEBHOOK_PRIVATE_HOSTS does not have its host."
}

/** The receivers of webhooks, by their addresses. */
export const makeReceivers = Effect.map(PrivateReceivers, (privateHosts) => {
  const open = (address: string) =>
    Effect.gen(function* () {
      const url = new URL(address)
      const isTrusted = privateHosts.includes(url.host)
      if (url.protocol !== "https:" && !isTrusted) return yield* new ReceiverUnencrypted()
      return { url, origin: yield* openOutside(url, { isTrusted, maxConnections }) }
    })
  return {
    /** Resolves and checks the host of a receiver. Connections to it stay open until the scope ends. */
    open,
    /** The address in its canonical form. ValidationFailed: it cannot receive webhooks. */
    usable: (text: string): Effect.Effect<string, ValidationFailed> => {
      const address = text.trim()
      const misfit = misfitOf(address, privateHosts)
      if (misfit !== undefined) return ValidationFailed.at("url", misfit)
      return open(address).pipe(
        Effect.map(({ url }) => url.href),
        Effect.scoped,
        Effect.catchTags({
          OutsideFailure: ({ reason }) => ValidationFailed.at("url", `cannot receive webhooks. ${failures[reason]}`),
          // `misfitOf` refuses such addresses.
          ReceiverUnencrypted: Effect.die
        })
      )
    }
  }
})
