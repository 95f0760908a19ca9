import { Schema } from "effect"
import { EntityId } from "./Ids.ts"

/** A place in the input and the rule it breaks; the rejected value is never repeated. */
export const Issue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type Issue = typeof Issue.Type

/** Input that does not fit its definition. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  issues: Schema.Array(Issue)
}) {
  /** One thing that does not fit, and where. */
  static readonly at = (path: string, message: string) => new ValidationFailed({ issues: [{ path, message }] })

  override get message() {
    return this.issues
      .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
      .join("; ")
  }
}

/** No credential, or one that does not open anything (malformed, unknown, expired, revoked): all read the same. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message() {
    return "A valid API key is required: send it as `Authorization: Bearer pk_live_...`."
  }
}

/** The credential is valid, and its scopes do not cover the request. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { scope: Schema.String }) {
  override get message() {
    return this.scope === "pim:delete"
      ? "This request needs the scope pim:delete, which no credential can hold."
      : `This request needs the scope ${this.scope}, which the API key does not have.`
  }
}

/** No record that this account may see has that id. Carries nothing: every cause must read the same. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {
  override get message() {
    return "No such record."
  }
}

/** The write was based on a revision that is no longer the current one. */
export class RevisionConflict extends Schema.TaggedError<RevisionConflict>()("RevisionConflict", {
  entityId: EntityId,
  currentRevision: Schema.Int
}) {
  override get message() {
    return `The record has moved on: its draft_revision is ${this.currentRevision}. Read it again and repeat the write.`
  }
}

/** An import or refresh of this account is under review or being applied; drafts wait for the merchant's decision. */
export class PimLocked extends Schema.TaggedError<PimLocked>()("PimLocked", {}) {
  override get message() {
    return "An import is being reconciled; retry after its review is finished."
  }
}

/** Whose request budget a figure belongs to. */
export const BudgetScope = Schema.Literal("key", "account")
export type BudgetScope = typeof BudgetScope.Type

/** A request budget is used up. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  scope: BudgetScope,
  retryAfterSeconds: Schema.Int
}) {
  override get message() {
    const whose = this.scope === "key" ? "this API key" : "all API keys of the account together"
    return `The request budget of ${whose} is used up; retry in ${this.retryAfterSeconds} s.`
  }
}

/** A live read of a store's platform came to nothing: it failed, was too late, answered nonsense or refused. */
export class LiveReadFailed extends Schema.TaggedError<LiveReadFailed>()("LiveReadFailed", {
  /** What the platform, or the way to it, had to say: a sentence. */
  message: Schema.String
}) {}

/**
 * The service cannot answer now, and can later. `reason`: a sentence; without one, the database cannot be reached or did not
 * answer in time.
 */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.optional(Schema.String)
}) {
  override get message() {
    return this.reason ?? "The service cannot reach its database at the moment; retry with exponential backoff."
  }
}

export const DomainError = Schema.Union(
  ValidationFailed,
  Unauthorized,
  Forbidden,
  NotFound,
  RevisionConflict,
  PimLocked,
  RateLimited,
  LiveReadFailed,
  Unavailable
)
export type DomainError = typeof DomainError.Type
