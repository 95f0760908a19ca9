import { Webhook } from "standardwebhooks"
import { CatalogError, invalid } from "./CatalogError.ts"

/** A message that the service sent to a webhook. */
export interface WebhookMessage {
  /** The type of the change, as in the feed: `entity.updated`, for example. */
  readonly type: string
  /** RFC 3339. */
  readonly timestamp: string
  readonly data: unknown
}

/** The request that a webhook received. */
export interface WebhookRequest {
  /** Its headers: a `Headers`, or an object with names in lower case, as Node has them. */
  readonly headers: Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Its body as it was received. A body that was parsed and written again has another signature. */
  readonly body: string | Uint8Array
}

const names = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const

/**
 * Verifies a message by its signature, as Standard Webhooks defines it, and returns it. `secrets`: `whsec_…`; while a secret is
 * replaced, both. Throws a CatalogError with the code `invalid_signature` if the signature is wrong or missing, or if the message
 * is five minutes off; with the code `invalid_request` if an argument does not fit, such as a body that was parsed already. A message
 * can arrive more than once, with the same `webhook-id`.
 */
export const verifyWebhook = (
  secrets: string | ReadonlyArray<string>,
  { body, headers }: WebhookRequest
): WebhookMessage => {
  if (typeof secrets !== "string" && !Array.isArray(secrets))
    throw invalid("secrets", "must be a secret (whsec_...) or an array")
  if (typeof headers !== "object" || headers === null) throw invalid("headers", "must be the headers of the request")
  if (typeof body !== "string" && !ArrayBuffer.isView(body))
    throw invalid("body", "must be the text or the bytes of the request, before they are parsed")
  const sentHeaders = headers instanceof Headers ? Object.fromEntries(headers) : headers
  const signed = Object.fromEntries(names.map((name) => [name, String(sentHeaders[name] ?? "")]))
  const text = typeof body === "string" ? body : new TextDecoder().decode(body)
  let cause: unknown
  for (const secret of typeof secrets === "string" ? [secrets] : secrets)
    try {
      return new Webhook(secret).verify(text, signed) as WebhookMessage
    } catch (refusal) {
      cause = refusal
    }
  const reason = cause instanceof Error ? cause.message : "no secret was given"
  throw new CatalogError({ code: "invalid_signature", message: `The message is not verified: ${reason}`, cause })
}
