import { Cause, Effect, Either } from "effect"
import { ConnectorApi } from "../api/ConnectorApi.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { type AnyProgram, type EndpointNameOf, programsByName } from "../api/ProgramsOf.ts"
import { RestApi } from "../api/RestApi.ts"
import { Cursors } from "../catalog/Cursors.ts"
import { apiErrorOf } from "../http/Envelope.ts"
import { CurrentActor } from "../model/Actor.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { makeConnectorHealth } from "../programs/ConnectorHealth.ts"
import { makeConnectorPrograms } from "../programs/ConnectorPrograms.ts"
import { Programs } from "../programs/Programs.ts"
import { chooseMembers, cutBatch, cutPage, cutRecord, cutRows, longestOf } from "./Answers.ts"
import { codeOf, refusalOf } from "./Refusals.ts"
import { type Asked, type DerivedTool, type ToolRequest, toolsOf } from "./Tools.ts"
import { chooseKeyed, shown } from "./Vocabulary.ts"

/** Every tool, in the order in which they are listed: those with a REST twin and those of the connector's own. */
export const tools: ReadonlyArray<DerivedTool> = [...toolsOf(ConnectorApi), ...toolsOf(RestApi)]

export const toolsByName: ReadonlyMap<string, DerivedTool> = new Map(tools.map((each) => [each.listed.name, each]))

/** Every tool runs the program of its endpoint: an endpoint without one does not compile. */
type ToolEndpoint = EndpointNameOf<typeof ConnectorApi> | EndpointNameOf<typeof RestApi>

/** What a call came to. */
export type Called =
  /** The JSON of its answer, which is written out once. */
  | { readonly _tag: "Answered"; readonly json: string }
  | { readonly _tag: "Refused"; readonly text: string; readonly code: string }

const foreignCursor = ValidationFailed.at(
  "cursor",
  "was not given by this tool with these arguments; pass next_cursor unchanged and repeat the other arguments, or begin without a cursor"
)

/** How often a page is asked for anew with fewer rows: each time it is what fitted of the last. */
const mostTries = 5

/**
 * Runs tools: the endpoint's own program between the two renamings, its answer cut to what an agent can take. A call that
 * fails is an answer too; only an interruption is none.
 */
export const makeCalls = Effect.gen(function* () {
  const programs = programsByName({
    ...(yield* Programs),
    ...(yield* makeConnectorPrograms),
    ...(yield* makeConnectorHealth)
  } satisfies Readonly<Record<ToolEndpoint, (request: never) => ReturnType<AnyProgram>>>)
  const cursors = yield* Cursors

  const run = (derived: DerivedTool, request: ToolRequest) =>
    Effect.map(
      Effect.suspend(() => (programs[derived.endpoint] as AnyProgram)(request)),
      derived.encode
    )

  /** A page of the program's own, asked for again with as many rows as fit where it is too long. */
  const walk = (derived: DerivedTool, { fields, limit, request }: Asked, choose: Chosen) =>
    Effect.gen(function* () {
      const rows = derived.tool.answer.rows ?? []
      let asked = limit
      for (let tries = 1; ; tries++) {
        const page = yield* choose(
          yield* run(derived, { ...request, urlParams: { ...request.urlParams, limit: asked } })
        )
        const cut = cutRows(page, rows, { from: 0, limit: asked, longest: longestOf(fields !== undefined) })
        if (!cut.more || tries >= mostTries) return cut.written()
        asked = cut.taken
      }
    })

  /** A whole list of the program's, from the cursor on. */
  const part = (derived: DerivedTool, { cursor, fields, limit, request }: Asked, choose: Chosen) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const { answer, name } = derived.tool
      const binding = { list: name, accountId, filters: { request: JSON.stringify(request) } }
      const from = cursor === undefined ? { value: 0 } : cursors.decode(binding, cursor)
      if (!("value" in from)) return yield* foreignCursor
      const cut = cutRows(yield* choose(yield* run(derived, request)), answer.rows ?? [], {
        from: from.value,
        limit: answer.limited === false ? Number.POSITIVE_INFINITY : limit,
        longest: longestOf(fields !== undefined)
      })
      return cut.written({ next_cursor: cut.more ? cursors.encode(binding, from.value + cut.taken) : null })
    })

  const answerOf = (
    derived: DerivedTool,
    asked: Asked,
    choose: Chosen
  ): Effect.Effect<string, unknown, CurrentActor> => {
    const longest = longestOf(asked.fields !== undefined)
    const whole = Effect.flatMap(run(derived, asked.request), choose)
    switch (derived.tool.answer.kind) {
      case "walk":
        return walk(derived, asked, choose)
      case "bounded":
        return part(derived, asked, choose)
      case "pages":
        return Effect.map(whole, (answer) => cutPage(answer, derived.tool.answer.rows ?? [], longest))
      case "batch":
        return Effect.map(whole, cutBatch)
      case "record":
        return Effect.map(whole, (answer) => cutRecord(answer, longest))
    }
  }

  const refused = (derived: DerivedTool, args: unknown, error: ApiError): Called => ({
    _tag: "Refused",
    text: refusalOf(derived, args, error),
    code: codeOf(error)
  })

  /** What a call that failed comes to; what the service says of REST's names is said of the connector's. */
  const failed = (derived: DerivedTool, args: unknown, requestId: string) => (cause: Cause.Cause<unknown>) => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause)
    const said = error._tag === "ValidationFailed" ? new ValidationFailed({ issues: derived.say(error.issues) }) : error
    const answer = Effect.succeed(refused(derived, args, said))
    return error._tag === "InternalError"
      ? Effect.zipRight(
          Effect.annotateLogs(Effect.logError("A tool ended in a defect", cause), {
            requestId,
            tool: derived.listed.name
          }),
          answer
        )
      : answer
  }

  return (derived: DerivedTool, args: unknown, requestId: string): Effect.Effect<Called, never, CurrentActor> =>
    Effect.suspend(() =>
      Either.match(derived.decode(args), {
        onLeft: (misfit) => Effect.succeed(refused(derived, args, misfit)),
        onRight: (asked) =>
          answerOf(derived, asked, chosenBy(derived, asked)).pipe(
            Effect.map((json): Called => ({ _tag: "Answered", json })),
            Effect.catchAllCause(failed(derived, args, requestId))
          )
      })
    )
})

type Chosen = (
  answer: Readonly<Record<string, unknown>>
) => Effect.Effect<Readonly<Record<string, unknown>>, ValidationFailed>

const choosers = new WeakMap<DerivedTool, ReturnType<typeof chooseKeyed>>()

const chooserOf = (derived: DerivedTool) => {
  const known = choosers.get(derived)
  if (known !== undefined) return known
  const made = chooseKeyed(derived.success)
  choosers.set(derived, made)
  return made
}

/** Names that are not known repeated at most: what is known must be said after them. */
const mostRepeated = 3

const someOf = (names: ReadonlyArray<string>) =>
  [
    ...names.slice(0, mostRepeated).map((name) => shown(name) || '""'),
    ...(names.length > mostRepeated ? [`${names.length - mostRepeated} more of these`] : [])
  ].join(", ")

/** What the argument `fields` leaves of an answer. An attribute that is nowhere in it is refused: it may be misspelt. */
const chosenBy =
  (derived: DerivedTool, { fields }: Asked): Chosen =>
  (answer) => {
    const { answer: shape } = derived.tool
    if (fields === undefined) return Effect.succeed(answer)
    if (shape.fields === "members")
      return Effect.succeed(chooseMembers(answer, shape.rows ?? [], [...(shape.keys ?? []), ...fields]))
    const seen = new Set<string>()
    const chosen = chooserOf(derived)(answer, new Set(fields), seen) as Readonly<Record<string, unknown>>
    const missing = fields.filter((field) => !seen.has(field))
    return missing.length === 0 || seen.size === 0
      ? Effect.succeed(chosen)
      : ValidationFailed.at("fields", `there is no ${someOf(missing)} here; there are ${[...seen].join(", ")}`)
  }
