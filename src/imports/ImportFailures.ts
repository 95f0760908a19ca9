import { Cause, Data, Option } from "effect"
import { classify, codeOf, isSqlError } from "../database/SqlErrors.ts"
import { NotFound, Unavailable, ValidationFailed } from "../model/Errors.ts"
import { type PlatformReadError, PlatformRefused, PlatformUnavailable, whyUnread } from "../platform/PlatformErrors.ts"
import { type ImportOrigin, type ImportRun, type ImportSummary, nothingPlanned, plannedOf } from "./Import.ts"
import { ImportFileRejected } from "./ImportedProduct.ts"

/** Why the source of an import could not be read or compared. */
export type SourceError = ImportFileRejected | PlatformReadError | ValidationFailed

/** Another process took over the import. */
export class LeaseLost extends Data.TaggedError("LeaseLost") {}

/** Advice after a failure: `whole`: nothing was applied; `rest`: a part was applied; `stopped`: the reading process stopped. */
const restartHints: Readonly<Record<ImportOrigin, Readonly<Record<"whole" | "rest" | "stopped", string>>>> = {
  csv: {
    whole: "import the file again",
    rest: "Import the file again to complete it.",
    stopped: "The process that read the file stopped; import it again."
  },
  refresh: {
    whole: "refresh the store again",
    rest: "Refresh the store again to complete it.",
    stopped: "The process that read the store stopped; refresh it again."
  }
}

const describeApplied = ({ applied, source, summary }: ImportRun) =>
  `${applied} of ${plannedOf(summary)} ${source === "csv" ? "products" : "changes"} were applied`

export const describeStoppedReading = ({ source }: ImportRun): string => restartHints[source].stopped

export const describeInterruptions = (run: ImportRun, takeovers: number): string =>
  `Applying the import was interrupted ${takeovers} times; ${describeApplied(run)}. ${restartHints[run.source].rest}`

/** How to apply the rest of an import that was applied in part. */
export const howToComplete = ({ source }: ImportRun): string => restartHints[source].rest

export const describeCancelled = (run: ImportRun): string =>
  `The import was cancelled while it was applied; ${describeApplied(run)}. ${howToComplete(run)}`

export const describeUnapplied = (run: ImportRun, reason: string): string =>
  `The import could not be applied: ${reason}; ${describeApplied(run)}.`

export const leaseExpired = (source: ImportOrigin) =>
  ValidationFailed.at("import", `stopped because its lease expired: ${restartHints[source].whole}`)

/** The reason of a failure that repeats on every attempt. None: the import may succeed when it is tried again. */
export const findPermanentReason = (defect: unknown): Option.Option<string> => {
  if (defect instanceof Unavailable) return Option.none()
  if (defect instanceof NotFound || defect instanceof ValidationFailed) return Option.some(defect.message)
  if (!isSqlError(defect)) return Option.some("an error of the service")
  const kind = classify(defect)
  return kind === "unavailable" || kind === "retry"
    ? Option.none()
    : Option.some(`the database refused a value (${codeOf(defect) ?? "no code"})`)
}

/** Puts the problems of a rejected file into a summary. */
export const summarizeProblems = (cause: Cause.Cause<unknown>): ImportSummary | undefined => {
  const error = Cause.squash(cause)
  return error instanceof ImportFileRejected
    ? { ...nothingPlanned, problems: error.problems, problem_count: error.count }
    : undefined
}

export const interruptedText = "The import was interrupted."

export const describeSourceFailure = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof PlatformUnavailable || error instanceof PlatformRefused) return whyUnread(error)
  return error instanceof ImportFileRejected || error instanceof ValidationFailed ? error.message : interruptedText
}

/** Why the store could not be read after an export was applied. */
export const describeUnanswered = (error: NotFound | PlatformReadError | ValidationFailed): string =>
  error._tag === "PlatformRefused" || error._tag === "PlatformUnavailable" ? whyUnread(error) : error.message
