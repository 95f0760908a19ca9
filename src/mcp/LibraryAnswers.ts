import { Option, Record, Schema } from "effect"
import { errorCodes } from "../api/ErrorCodes.ts"
import { rpc } from "./GateAnswers.ts"
import { isObject, pathOf, toSafeText } from "./Vocabulary.ts"

const codeOf = (status: number, rpcCode: number) => {
  if (rpcCode === -32_601) return errorCodes.NotFound.code
  if (rpcCode === rpc.internalError) return errorCodes.InternalError.code
  const error = Object.values(errorCodes).find((row) => row.status === status)
  return (error ?? errorCodes.ValidationFailed).code
}

/** Maximum characters of a text in an error of the SDK. The SDK repeats what the client sent, some of it twice. */
const errorTextLimit = 1_000

/** Makes every text in a value safe to repeat in an answer (see `shown`). */
const shownIn = (part: unknown): unknown => {
  if (typeof part === "string") return toSafeText(part, errorTextLimit)
  if (Array.isArray(part)) return part.map(shownIn)
  return isObject(part) ? Record.map(part, shownIn) : part
}

/** Finds the JSON list of issues in an error message of the SDK, which may begin with a few words. */
const listOfIssues = /^(?:Invalid \S+ request: )?(\[.*\])$/s

const decodeIssues = Schema.decodeUnknownOption(
  Schema.parseJson(
    Schema.Array(
      Schema.Struct({ path: Schema.Array(Schema.Union(Schema.String, Schema.Number)), message: Schema.String })
    )
  )
)

/**
 * For malformed parameters, the SDK answers with the issues of its schema as JSON, sometimes as an internal error. This makes
 * them an invalid-params error with a readable message.
 */
const correctError = (error: Readonly<Record<string, unknown>>) =>
  Option.match(decodeIssues(listOfIssues.exec(String(error.message))?.[1]), {
    onNone: () => error,
    onSome: (issues) => ({
      ...error,
      code: rpc.invalidParams,
      message: `Invalid params: ${issues.map(({ message, path }) => `${pathOf(path)}: ${message}`).join("; ")}`
    })
  })

const eventOf = /^(event: message\ndata: )([^\n]*)(\n\n)$/

/**
 * Whether an answer of the SDK is a result, which is sent without parsing it. Only results begin with `result`; an error may
 * follow an id of any length, so other answers must be parsed.
 */
export const isResult = (text: string) => /^(?:event: message\ndata: )?\{"result":/.test(text)

/** Shortens an error of the SDK and adds our error code and the request id. Returns other answers unchanged. */
export const completeError = (text: string, status: number, requestId: string): string => {
  const [, before = "", json = text, after = ""] = eventOf.exec(text) ?? []
  // An answer of several events, such as the start and the end of a subscription, is not a single JSON object.
  if (!json.startsWith("{")) return text
  const message: unknown = JSON.parse(json)
  if (!isObject(message) || !isObject(message.error)) return text
  const { code, data, message: said }: Readonly<Record<string, unknown>> = correctError(message.error)
  const error = {
    code,
    message: shownIn(said),
    data: {
      ...(isObject(data) && Record.map(data, shownIn)),
      code: codeOf(status, Number(code)),
      request_id: requestId
    }
  }
  return before + JSON.stringify({ ...message, error }) + after
}
