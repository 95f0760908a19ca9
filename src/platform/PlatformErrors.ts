import { Schema } from "effect"

/**
 * Why a platform gave no usable answer. `suspended`: calls are paused, because the platform failed many times in a row.
 * `nonsense`: the answer is HTML, an incomplete body, or unexpected JSON. `missing`: this process has no adapter for the platform.
 * `processing`: the platform takes no changes of a file before it has processed it. `defect`: the adapter died.
 */
export const PlatformFailure = Schema.Literal(
  "throttled",
  "timeout",
  "transport",
  "server",
  "nonsense",
  "suspended",
  "processing",
  "missing",
  "defect"
)
export type PlatformFailure = typeof PlatformFailure.Type

const failures: Readonly<Record<PlatformFailure, string>> = {
  throttled: "it limits the number of requests",
  timeout: "it did not answer in time",
  transport: "the connection failed",
  server: "it reports an internal error",
  nonsense: "its answer is not valid",
  suspended: "it failed several times in a row, so calls are paused for a moment",
  processing: "it still processes the file",
  missing: "this process has no adapter for it",
  defect: "its adapter failed unexpectedly (the service's log names the cause)"
}

/** The store's platform cannot be used now. Nothing was changed there. */
export class PlatformUnavailable extends Schema.TaggedError<PlatformUnavailable>()("PlatformUnavailable", {
  reason: PlatformFailure
}) {
  override get message() {
    return `The store's platform cannot be reached: ${failures[this.reason]}.`
  }
}

/** The platform refused the call. Nothing was changed there, unless `isPartlyWritten`: earlier calls of the same publish were accepted. */
export class PlatformRefused extends Schema.TaggedError<PlatformRefused>()("PlatformRefused", {
  /** The platform's error code, in capitals. */
  code: Schema.String,
  /** The platform's message, one line. */
  message: Schema.String,
  /** The path of the refused input; null: the refusal does not concern a part of the input. */
  field: Schema.NullOr(Schema.String),
  isPartlyWritten: Schema.optionalWith(Schema.Boolean, { exact: true })
}) {}

/** A write was sent, but there is no usable answer. The caller must read back whether the platform accepted the write. */
export class PlatformOutcomeUnknown extends Schema.TaggedError<PlatformOutcomeUnknown>()("PlatformOutcomeUnknown", {
  reason: PlatformFailure
}) {
  override get message() {
    return `The values were sent to the store's platform, but ${failures[this.reason]}: whether it accepted them is not known yet.`
  }
}

export const PlatformReadError = Schema.Union(PlatformUnavailable, PlatformRefused)
export type PlatformReadError = typeof PlatformReadError.Type

export const PlatformWriteError = Schema.Union(PlatformUnavailable, PlatformRefused, PlatformOutcomeUnknown)
export type PlatformWriteError = typeof PlatformWriteError.Type

/** Explains in one sentence why a store could not be read. */
export const whyUnread = (error: PlatformReadError): string =>
  error._tag === "PlatformUnavailable"
    ? error.message
    : `The store's platform refused the request (${error.code}): ${error.message}`
