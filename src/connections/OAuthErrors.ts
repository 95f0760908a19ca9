import { Data } from "effect"

/** What an authorization server can say went wrong: RFC 6749 (4.1.2.1, 5.2), RFC 7591 (3.2.2), RFC 8707 (2). */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "invalid_scope"
  | "invalid_target"
  | "access_denied"
  | "invalid_redirect_uri"
  | "invalid_client_metadata"

/** A client's request that cannot be granted. `description`: for its developer, one sentence without a secret. */
export class OAuthRefused extends Data.TaggedError("OAuthRefused")<{
  readonly code: OAuthErrorCode
  readonly description: string
}> {
  static readonly because = (code: OAuthErrorCode, description: string) => new OAuthRefused({ code, description })

  override get message() {
    return `${this.code}: ${this.description}`
  }
}

/** An address has registered as many clients as it may in an hour. */
export class TooManyRegistrations extends Data.TaggedError("TooManyRegistrations")<{
  readonly retryAfterSeconds: number
}> {
  override get message() {
    return `Too many clients were registered from this address; retry in ${this.retryAfterSeconds} s.`
  }
}

/**
 * A request to authorize whose client or redirect cannot be trusted, or a consent page that is no longer good: said to the
 * person in front of it, never sent anywhere. `message` is that sentence.
 */
export class NotForwarded extends Data.TaggedError("NotForwarded")<{ readonly message: string }> {}
