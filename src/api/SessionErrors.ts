import { Schema } from "effect"
import { Forbidden, Unauthorized } from "../model/Errors.ts"

/** No session, or one that has ended. */
export class SessionMissing extends Unauthorized.extend<SessionMissing>("SessionMissing")({}) {
  override get message() {
    return "Sign in first: there is no session, or it has ended."
  }
}

/** The session does not allow the request. */
export class SessionRefused extends Forbidden.extend<SessionRefused>("SessionRefused")({ reason: Schema.String }) {
  override get message() {
    return this.reason
  }

  static readonly because = (reason: string) => new SessionRefused({ scope: "", reason })
  static readonly withoutFactor = SessionRefused.because(
    "Set up a second factor first: the account requires it of all its users."
  )
}
