import { Effect, Predicate, type Schema } from "effect"
import type { PlatformStore } from "../PlatformClient.ts"
import {
  type PlatformFailure,
  PlatformRefused,
  PlatformUnavailable,
  type PlatformWriteError
} from "../PlatformErrors.ts"
import type * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"

/** A message with a full stop. */
export const sentence = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`)

interface NamedElement {
  readonly namespace?: string
  readonly key?: string
  readonly name?: string
  readonly inventoryItem?: { readonly sku?: string }
}

/** The name of an element of a list for users: a metafield's key, a variant's SKU, an option's name. Empty: it has no name. */
const nameOf = (element: unknown): string => {
  const { inventoryItem, key, name, namespace } = (element ?? {}) as NamedElement
  return key === undefined ? inventoryItem?.sku || name || "" : `${namespace}.${key}`
}

/** Shopify's message, after the names of the elements that it is about: many messages leave them out. `sent`: the variables of the call. */
const messageOf = ({ field, message }: Answers.UserErrors[number], sent: unknown): string => {
  const path = field ?? []
  let at: unknown = sent
  const elements = path.flatMap((part, index) => {
    at = Predicate.hasProperty(at, part) ? at[part] : undefined
    return /^\d+$/.test(part) ? [nameOf(at) || `${path[index - 1]} ${Number(part) + 1}`] : []
  })
  const last = path.at(-1) ?? ""
  // A message such as "is too long" continues the name of the field.
  const isContinuing = /^[a-z]/.test(message) && /\D/.test(last)
  return `${elements.length === 0 ? "" : `${elements.join(", ")}: `}${isContinuing ? `${last} ` : ""}${message}`
}

/** Refusals whose messages name what was refused. `sent`: the variables of the call. */
export const withNames = (userErrors: Answers.UserErrors, sent: unknown): Answers.UserErrors =>
  userErrors.map((error) => ({ ...error, message: messageOf(error, sent) }))

const maxMessages = 3

/** Fails if there are refusals. The error has the first messages and the number of further ones. */
export const failIfAny = (refusals: Answers.UserErrors): Effect.Effect<void, PlatformRefused> => {
  const [first] = refusals
  if (first === undefined) return Effect.void
  const messages = refusals.slice(0, maxMessages).map(({ message }) => message)
  const text = messages.map((message) => (messages.length > 1 ? sentence(message) : message)).join(" ")
  return new PlatformRefused({
    code: first.code ?? "USER_ERROR",
    message: refusals.length > maxMessages ? `${text} (and ${refusals.length - maxMessages} more)` : text,
    field: first.field?.join(".") ?? null
  })
}

/** Codes with which Shopify refuses a call only for now, whatever its values are. */
const passingCodes: Readonly<Record<string, PlatformFailure>> = {
  GENERIC_ERROR: "server",
  INTERNAL_ERROR: "server",
  FILE_LOCKED: "processing",
  MEDIA_CANNOT_BE_MODIFIED: "processing",
  NON_READY_MEDIA: "processing",
  NON_READY_STATE: "processing",
  TOO_MANY_ATTEMPTS_TO_REORDER_PRODUCTS: "throttled"
}

/** Fails if Shopify refused the call only for now. */
export const failIfPassing = (userErrors: Answers.UserErrors): Effect.Effect<void, PlatformUnavailable> => {
  const [reason] = userErrors.flatMap(({ code }) => passingCodes[code ?? ""] ?? [])
  return reason === undefined ? Effect.void : new PlatformUnavailable({ reason })
}

/** Fails if Shopify refused the input. `sent`: the variables of the call, by which the message names what was refused. */
export const failIfRefused = (userErrors: Answers.UserErrors, sent: Readonly<Record<string, unknown>>) =>
  Effect.zipRight(failIfPassing(userErrors), failIfAny(withNames(userErrors, sent)))

/** Runs a mutation, and fails if Shopify refused the input. Returns what the answer has under the name of the mutation. */
export const mutate = <A extends Readonly<Record<string, { readonly userErrors: Answers.UserErrors }>>, I>(
  client: ShopifyClient,
  store: PlatformStore,
  document: string,
  schema: Schema.Schema<A, I>,
  sent: Readonly<Record<string, unknown>>
): Effect.Effect<A[keyof A], PlatformWriteError> =>
  Effect.gen(function* () {
    const [payload] = Object.values(yield* client.write(store, document, schema, sent)) as [A[keyof A]]
    yield* failIfRefused(payload.userErrors, sent)
    return payload
  })
