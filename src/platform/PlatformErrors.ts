import { Schema } from "effect"

/**
 * Why a platform gave no usable answer. `suspended`: it failed so often in a row that it is not asked for a while;
 * `nonsense`: HTML, half a body, or JSON of another shape than was promised.
 */
export const PlatformFailure = Schema.Literal("throttled", "timeout", "transport", "server", "nonsense", "suspended")
export type PlatformFailure = typeof PlatformFailure.Type

const failures: Readonly<Record<PlatformFailure, string>> = {
  throttled: "it asks for fewer requests",
  timeout: "it did not answer in time",
  transport: "the connection failed",
  server: "it reports a failure of its own",
  nonsense: "its answer makes no sense",
  suspended: "it failed several times in a row and is left alone for a moment"
}

/** The store's platform cannot be used at the moment, and nothing was changed there. */
export class PlatformUnavailable extends Schema.TaggedError<PlatformUnavailable>()("PlatformUnavailable", {
  reason: PlatformFailure
}) {
  override get message() {
    return `The store's platform cannot be reached: ${failures[this.reason]}.`
  }
}

/** The platform understood, and said no. Nothing that it refused was changed there. */
export class PlatformRefused extends Schema.TaggedError<PlatformRefused>()("PlatformRefused", {
  /** The platform's own code, in capitals. */
  code: Schema.String,
  /** What the platform says about it, one line. */
  message: Schema.String,
  /** What of the input it is about, as a path; null: not about a part of it. */
  field: Schema.NullOr(Schema.String)
}) {}

/** A write was sent and no usable answer came: whether the platform took it must be read back. */
export class PlatformOutcomeUnknown extends Schema.TaggedError<PlatformOutcomeUnknown>()("PlatformOutcomeUnknown", {
  reason: PlatformFailure
}) {
  override get message() {
    return `The store's platform was asked to take the values, and ${failures[this.reason]}: whether it took them is to be read back.`
  }
}

/** What a read of a platform can end in. */
export const PlatformReadError = Schema.Union(PlatformUnavailable, PlatformRefused)
export type PlatformReadError = typeof PlatformReadError.Type

/** What a write to a platform can end in. */
export const PlatformWriteError = Schema.Union(PlatformUnavailable, PlatformRefused, PlatformOutcomeUnknown)
export type PlatformWriteError = typeof PlatformWriteError.Type

/** Why a store could not be read, in one sentence for whoever asked for it. */
export const whyUnread = (error: PlatformReadError): string =>
  error._tag === "PlatformUnavailable"
    ? error.message
    : `The store's platform refuses to be read (${error.code}): ${error.message}`
