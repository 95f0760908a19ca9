import { Option, Record, Schema } from "effect"
import { errorCodes } from "../api/ErrorCodes.ts"
import { rpc } from "./GateAnswers.ts"
import { isObject, pathOf, shown } from "./Vocabulary.ts"

const codeOfStatus = (status: number, rpcCode: number) => {
  const known = Object.values(errorCodes).find((row) => row.status === status)
  return rpcCode === -32_601 ? "not_found" : (known?.code ?? errorCodes.ValidationFailed.code)
}

/** Longest text in an error of the SDK, in characters: it repeats what it was sent, and some of that twice. */
const errorTextLimit = 1_000

/** The same with its texts fit to be repeated. */
const shownIn = (part: unknown): unknown => {
  if (typeof part === "string") return shown(part, errorTextLimit)
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
 * The SDK says of parameters of a wrong shape what its schema says, as JSON, and calls some of them its own failure: they are
 * the client's, and it is told in a sentence.
 */
const corrected = (error: Readonly<Record<string, unknown>>) =>
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
 * Whether an answer of the SDK is a result, which is never opened: it begins with that. Whatever begins otherwise may be an
 * error, after an id of any length.
 */
export const isResult = (text: string) => /^(?:event: message\ndata: )?\{"result":/.test(text)

/** An error of the SDK, short, that says the code and the request too; any other answer as it is. */
export const completed = (text: string, status: number, requestId: string): string => {
  const [, before = "", json = text, after = ""] = eventOf.exec(text) ?? []
  // Several events, as a subscription begins and ends.
  if (!json.startsWith("{")) return text
  const message: unknown = JSON.parse(json)
  if (!isObject(message) || !isObject(message.error)) return text
  const { code, data, message: said }: Readonly<Record<string, unknown>> = corrected(message.error)
  const error = {
    code,
    message: shownIn(said),
    data: {
      ...(isObject(data) && Record.map(data, shownIn)),
      code: codeOfStatus(status, Number(code)),
      request_id: requestId
    }
  }
  return before + JSON.stringify({ ...message, error }) + after
}
