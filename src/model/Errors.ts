import { Schema } from "effect"
import { EntityId, StoreId } from "./Ids.ts"

/** A path in the input and the rule that its value breaks. The message never repeats the value. */
export const Issue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type Issue = typeof Issue.Type

/** Invalid input. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", {
  issues: Schema.Array(Issue)
}) {
  /** Makes a failure with one issue. */
  static readonly at = (path: string, message: string) => new ValidationFailed({ issues: [{ path, message }] })

  /** The broken rules without their paths, for a reader who knows the place. */
  get reasons() {
    return this.issues.map(({ message }) => message).join("; ")
  }

  override get message() {
    return this.issues
      .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
      .join("; ")
  }
}

/** No valid credential. The error is the same for a malformed, unknown, expired or revoked credential. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message() {
    return "A valid API key is required: send it as `Authorization: Bearer pk_live_...`."
  }
}

/** The credential is valid, but lacks a scope. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", { scope: Schema.String }) {
  override get message() {
    return this.scope === "pim:delete"
      ? "This request needs the scope pim:delete, which no credential can hold."
      : `This request needs the scope ${this.scope}, which the API key does not have.`
  }
}

/** The account has no record with this id. The error has no fields, so that it is the same whatever the cause. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {}) {
  override get message() {
    return "No such record."
  }
}

const NamedStore = Schema.Struct({ id: StoreId, domain: Schema.String })

/**
 * The account has the entity and the store, but the entity is not on the store. `stores`: the stores that have it, by domain. The
 * connector explains this to agents; REST answers as for any NotFound.
 */
export class NotOnStore extends NotFound.extend<NotOnStore>("NotOnStore")({
  entityId: EntityId,
  store: NamedStore,
  stores: Schema.Array(NamedStore)
}) {}

/** Changes after the cursor of a feed were deleted. */
export class CursorExpired extends Schema.TaggedError<CursorExpired>()("CursorExpired", {}) {
  override get message() {
    return "The cursor is older than 30 days, and changes after it were deleted. Get a cursor with `cursor=latest`, read the lists again, then follow the feed from that cursor."
  }
}

/** The write was based on a revision that is not the current one. */
export class RevisionConflict extends Schema.TaggedError<RevisionConflict>()("RevisionConflict", {
  entityId: EntityId,
  currentRevision: Schema.Int
}) {
  override get message() {
    return `The record was changed: its draft_revision is now ${this.currentRevision}. Read it again and repeat the write.`
  }
}

/** An import or refresh has locked the catalog: it is being compared, reviewed or applied. */
export class PimLocked extends Schema.TaggedError<PimLocked>()("PimLocked", {}) {
  override get message() {
    return "An import or refresh has locked the catalog; retry after it has ended."
  }
}

/** The owner of a request budget: an API key (or connection), or the account. */
export const BudgetScope = Schema.Literal("key", "account")
export type BudgetScope = typeof BudgetScope.Type

/** A request budget is used up. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  scope: BudgetScope,
  retryAfterSeconds: Schema.Int
}) {
  override get message() {
    const owner = this.scope === "key" ? "this API key" : "all API keys of the account together"
    return `The request budget of ${owner} is used up; retry in ${this.retryAfterSeconds} s.`
  }
}

/** A live read from a store's platform failed: an error, a timeout, an unreadable answer or a refusal. */
export class LiveReadFailed extends Schema.TaggedError<LiveReadFailed>()("LiveReadFailed", {
  /** The cause, as a sentence. */
  message: Schema.String
}) {}

/**
 * The service cannot answer at the moment. `reason`: a sentence; by default it says that the database cannot be reached or did
 * not answer in time.
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
  CursorExpired,
  PimLocked,
  RateLimited,
  LiveReadFailed,
  Unavailable
)
export type DomainError = typeof DomainError.Type
