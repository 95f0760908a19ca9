import { Data } from "effect"

/** Error codes of an authorization server: RFC 6749 (4.1.2.1, 5.2), RFC 7591 (3.2.2), RFC 8707 (2). */
type OAuthErrorCode =
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

/** A refused request of a client. `description`: one sentence for the client's developer, without secrets. */
export class OAuthRefused extends Data.TaggedError("OAuthRefused")<{
  readonly code: OAuthErrorCode
  readonly description: string
}> {
  static readonly because = (code: OAuthErrorCode, description: string) => new OAuthRefused({ code, description })

  override get message() {
    return `${this.code}: ${this.description}`
  }
}

/** Too many registrations from one IP address within an hour. */
export class TooManyRegistrations extends Data.TaggedError("TooManyRegistrations")<{
  readonly retryAfterSeconds: number
}> {
  override get message() {
    return `Too many clients were registered from this address; retry in ${this.retryAfterSeconds} s.`
  }
}

/**
 * An authorization request with an unknown client or redirect URI, or a consent page that has expired. The person sees
 * `message`; nothing is sent to the client.
 */
export class NotForwarded extends Data.TaggedError("NotForwarded")<{ readonly message: string }> {}
