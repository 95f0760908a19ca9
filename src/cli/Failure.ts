import { Predicate } from "effect"
import { errorCode } from "../model/ErrorCode.ts"
import type { Issue } from "../model/Errors.ts"
import { Refused, reasonOf } from "./Output.ts"

/** The failure of a command, in the form of an error in REST. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly details?: ReadonlyArray<Issue>
}

/** Codes of failures that only commands have, by tag: bad settings, bad files, and a database that cannot be opened or is newer. */
const codes: Readonly<Record<string, string>> = {
  BadSetting: errorCode.ValidationFailed,
  ImportFileRejected: errorCode.ValidationFailed,
  SchemaTooNew: errorCode.ValidationFailed,
  DatabaseInUse: errorCode.Unavailable,
  DatabaseUnreachable: errorCode.Unavailable,
  PlatformUnavailable: errorCode.LiveReadFailed,
  PlatformRefused: errorCode.LiveReadFailed
}

const isIssues = (value: unknown): value is ReadonlyArray<Issue> => Array.isArray(value)

export const failureOf = (error: unknown): Failure => {
  const message = reasonOf(error)
  if (error instanceof Refused)
    return {
      code: error.code,
      message,
      ...(error.details !== undefined && { details: error.details }),
      ...error.members
    }
  const tag = Predicate.hasProperty(error, "_tag") ? String(error._tag) : ""
  const code = Predicate.hasProperty(error, "code") && tag === "Refusal" ? String(error.code) : undefined
  const codeOfTag = Object.hasOwn(errorCode, tag) ? errorCode[tag as keyof typeof errorCode] : codes[tag]
  return {
    code: code ?? codeOfTag ?? errorCode.InternalError,
    message,
    ...(Predicate.hasProperty(error, "issues") && isIssues(error.issues) && { details: error.issues })
  }
}
