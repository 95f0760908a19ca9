import { Cause, Effect, Either } from "effect"
import { ConnectorApi } from "../api/ConnectorApi.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { type AnyProgram, type EndpointNameOf, programsByName } from "../api/ProgramsOf.ts"
import { RestApi } from "../api/RestApi.ts"
import { Cursors } from "../catalog/Cursors.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { apiErrorOf } from "../http/Envelope.ts"
import { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import { type NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import { makeConnectorHealth } from "../programs/ConnectorHealth.ts"
import { makeConnectorPrograms } from "../programs/ConnectorPrograms.ts"
import { Programs } from "../programs/Programs.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { chooseMembers, cutBatch, cutPage, cutRecord, cutRows, cutValue, longestOf } from "./Answers.ts"
import { makeFindLock, pagesOf } from "./Pages.ts"
import { codeOf, refusalOf } from "./Refusals.ts"
import { type BoundedCall, makeStoreBounds } from "./StoreBounds.ts"
import { type Asked, type DerivedTool, type ToolRequest, toolsOf } from "./Tools.ts"
import { type FindUnset, makeFindUnset } from "./UnsetKeys.ts"
import { chooseKeyed } from "./Vocabulary.ts"

/** Every tool, in the order in which they are listed: those with a REST twin and those of the connector's own. */
export const tools: ReadonlyArray<DerivedTool> = [...toolsOf(ConnectorApi), ...toolsOf(RestApi)]

export const toolsByName: ReadonlyMap<string, DerivedTool> = new Map(tools.map((each) => [each.listed.name, each]))

/** Every tool runs the program of its endpoint: an endpoint without one does not compile. */
type ToolEndpoint = EndpointNameOf<typeof ConnectorApi> | EndpointNameOf<typeof RestApi>

/** A call that failed: what the agent is told. */
export interface Refused {
  readonly _tag: "Refused"
  readonly text: string
  readonly code: string
}

/** The outcome of a call. `json`: the answer, written out once. */
export type Called = { readonly _tag: "Answered"; readonly json: string } | Refused

const foreignCursor = ValidationFailed.at(
  "cursor",
  "was not given by this tool with these arguments; pass next_cursor unchanged and repeat the other arguments, or begin without a cursor"
)

/** How often a page is asked for anew with fewer rows: each time it is what fitted of the last. */
const maxTries = 5

/** Runs the program of a tool and writes its answer, cut to the size of an answer. */
const makeAnswers = Effect.gen(function* () {
  const programs = programsByName({
    ...(yield* Programs),
    ...(yield* makeConnectorPrograms),
    ...(yield* makeConnectorHealth)
  } satisfies Readonly<Record<ToolEndpoint, (request: never) => ReturnType<AnyProgram>>>)
  const cursors = yield* Cursors

  const runProgram = ({ endpoint }: DerivedTool, request: ToolRequest) =>
    Effect.suspend(() => (programs[endpoint] as AnyProgram)(request))
  const run = (derived: DerivedTool, request: ToolRequest) => Effect.map(runProgram(derived, request), derived.encode)

  /** A page of the program's own, asked for again with as many rows as fit where it is too long. */
  const walk = (derived: DerivedTool, { limit, request, ...asked }: Asked, choose: Chosen | undefined) =>
    Effect.gen(function* () {
      const rows = derived.tool.answer.rows ?? []
      let rowsAsked = limit
      for (let tries = 1; ; tries++) {
        const answer = yield* runProgram(derived, {
          ...request,
          urlParams: { ...request.urlParams, limit: rowsAsked }
        })
        if (choose === undefined && answer instanceof JsonText) {
          const text = derived.renamePage?.(answer.text)
          if (text !== undefined) return text
        }
        const encoded = derived.encode(answer)
        const page = choose === undefined ? encoded : yield* choose(encoded)
        const cut = cutRows(page, rows, { from: 0, limit: rowsAsked, longest: longestOf(isSelective(asked)) })
        if (!cut.more || tries >= maxTries) return cut.written()
        rowsAsked = cut.taken
      }
    })

  /** A whole list of the program's, from the cursor on. */
  const part = (derived: DerivedTool, { cursor, limit, request, ...asked }: Asked, choose: Chosen) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const { answer, name } = derived.tool
      const binding = { list: name, accountId, filters: { request: JSON.stringify(request) } }
      const from = cursor === undefined ? { value: 0 } : cursors.decode(binding, cursor)
      if (!("value" in from)) return yield* foreignCursor
      const cut = cutRows(yield* choose(yield* run(derived, request)), answer.rows ?? [], {
        from: from.value,
        limit: answer.limited === false ? Number.POSITIVE_INFINITY : limit,
        longest: longestOf(isSelective(asked))
      })
      return cut.written({ next_cursor: cut.more ? cursors.encode(binding, from.value + cut.taken) : null })
    })

  /** `chosen`: leaves something of the answer out. Undefined: all of it is wanted. */
  return (
    derived: DerivedTool,
    asked: Asked,
    chosen: Chosen | undefined
  ): Effect.Effect<string, unknown, CurrentActor> => {
    const choose = chosen ?? Effect.succeed
    const longest = longestOf(isSelective(asked))
    const [key, ...otherKeys] = asked.attributes ?? []
    const whole = Effect.flatMap(run(derived, asked.request), choose)
    switch (derived.tool.answer.kind) {
      case "walk":
        return walk(derived, asked, chosen)
      case "bounded":
        return part(derived, asked, choose)
      case "pages":
        return Effect.map(whole, (answer) => cutPage(answer, derived.tool.answer.rows ?? [], longest))
      case "batch":
        return Effect.map(whole, cutBatch)
      case "record":
        return Effect.map(whole, (answer) =>
          key !== undefined && otherKeys.length === 0
            ? cutValue(answer, key, asked.valueOffset)
            : cutRecord(answer, longest)
        )
    }
  }
})

/**
 * Runs tools: the endpoint's own program between the two renamings, its answer cut to what an agent can take. A call that
 * fails is an answer too; only an interruption is none.
 */
export const makeCalls = Effect.gen(function* () {
  const pages = pagesOf(yield* BaseUrl)
  const findLock = yield* makeFindLock(pages)
  const findUnset = yield* makeFindUnset
  const boundTo = yield* makeStoreBounds
  const answerOf = yield* makeAnswers

  const refused = (derived: DerivedTool, args: unknown, error: ApiError, lock = ""): Called => ({
    _tag: "Refused",
    text: refusalOf(derived, args, error, { pages, lock }),
    code: codeOf(error)
  })

  /** What a call that failed comes to; what the service says of REST's names is said of the connector's. */
  const failed = (derived: DerivedTool, args: unknown, requestId: string) => (cause: Cause.Cause<unknown>) => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause)
    const said = error._tag === "ValidationFailed" ? new ValidationFailed({ issues: derived.say(error.issues) }) : error
    if (said._tag === "PimLocked") return Effect.map(findLock, (lock) => refused(derived, args, said, lock))
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

  /** The call of a tool. `cut`: leaves out of the answer what the connection cannot see; undefined: it sees everything. */
  const carryOut = (
    derived: DerivedTool,
    args: unknown,
    visible: unknown,
    cut: BoundedCall["cut"] | undefined,
    requestId: string
  ) =>
    Either.match(derived.decode(visible), {
      onLeft: (misfit) => Effect.succeed(refused(derived, args, misfit)),
      onRight: (asked) => {
        const chosen = isSelective(asked) ? chosenBy(derived, asked, findUnset) : undefined
        const left: Chosen | undefined =
          cut === undefined ? chosen : (answer) => Effect.flatMap(cut(answer), chosen ?? Effect.succeed)
        return answerOf(derived, asked, left).pipe(
          Effect.map((json): Called => ({ _tag: "Answered", json })),
          Effect.catchAllCause(failed(derived, args, requestId))
        )
      }
    })

  return (derived: DerivedTool, args: unknown, requestId: string): Effect.Effect<Called, never, CurrentActor> =>
    Effect.flatMap(CurrentBounds, ({ stores }) =>
      stores === null
        ? carryOut(derived, args, args, undefined, requestId)
        : Effect.gen(function* () {
            const { accountId } = yield* CurrentActor
            const { args: visible, cut, restore } = yield* boundTo(accountId, stores, args)
            const called = yield* carryOut(derived, args, visible, cut, requestId)
            return called._tag === "Answered"
              ? { ...called, json: restore(called.json) }
              : { ...called, text: restore(called.text) }
          })
    ).pipe(
      Effect.catchAllCause(failed(derived, args, requestId)),
      Effect.tap((called) =>
        Effect.sync(() =>
          metrics.toolCalls.of(derived.listed.name, called._tag === "Refused" ? called.code : "ok").add(1)
        )
      )
    )
})

type Chosen = (
  answer: Readonly<Record<string, unknown>>
) => Effect.Effect<Readonly<Record<string, unknown>>, ValidationFailed | NotFound, CurrentActor>

/** Whether a call says what it wants of an answer: that is then given at greater length. */
const isSelective = ({ attributes, fields }: Pick<Asked, "attributes" | "fields">) =>
  attributes !== undefined || fields !== undefined

const choosers = new WeakMap<DerivedTool, ReturnType<typeof chooseKeyed>>()

const chooserOf = (derived: DerivedTool) => {
  const known = choosers.get(derived)
  if (known !== undefined) return known
  const made = chooseKeyed(derived.success)
  choosers.set(derived, made)
  return made
}

/** Leaves of an answer what `fields` and `attributes` ask for. Keys without a value are named in `unset_keys`. */
const chosenBy =
  (derived: DerivedTool, { attributes, fields, request }: Asked, findUnset: FindUnset): Chosen =>
  (answer) => {
    const { answer: shape } = derived.tool
    if (fields !== undefined)
      return Effect.succeed(chooseMembers(answer, shape.rows ?? [], [...(shape.keys ?? []), ...fields]))
    if (attributes === undefined) return Effect.succeed(answer)
    const seen = new Set<string>()
    const chosen = chooserOf(derived)(answer, new Set(attributes), seen) as Readonly<Record<string, unknown>>
    const missing = attributes.filter((key) => !seen.has(key))
    return missing.length === 0
      ? Effect.succeed(chosen)
      : Effect.map(findUnset(EntityId.make(String(request.path?.master_id)), missing), (unset_keys) => ({
          ...chosen,
          unset_keys
        }))
  }
