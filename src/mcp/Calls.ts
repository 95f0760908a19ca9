import { hash } from "node:crypto"
import { Cause, Effect, Either, Option } from "effect"
import { ConnectorApi } from "../api/ConnectorApi.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { type AnyProgram, type EndpointNameOf, programsByName } from "../api/ProgramsOf.ts"
import { RestApi } from "../api/RestApi.ts"
import type { ToolAnswer } from "../api/Tool.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { cursorLength } from "../catalog/CursorCodec.ts"
import { Cursors } from "../catalog/Cursors.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { apiErrorOf, noteUnavailable } from "../http/Envelope.ts"
import { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import { type NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import { makeConnectorHealth } from "../programs/ConnectorHealth.ts"
import { makeConnectorPrograms } from "../programs/ConnectorPrograms.ts"
import { Programs } from "../programs/Programs.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { chooseMembers, cutBatch, cutPage, cutRecord, cutRows, cutValue, longestOf, rowsIn } from "./Answers.ts"
import { makeFindLock, pagesOf } from "./Pages.ts"
import { codeOf, refusalOf } from "./Refusals.ts"
import { type BoundedCall, makeStoreBounds } from "./StoreBounds.ts"
import { type Call, type DerivedTool, type ToolRequest, toolsOf } from "./Tools.ts"
import { chooseKeyed, isObject, toSafeText } from "./Vocabulary.ts"

/** Returns the keys if an entity of this kind can have them. ValidationFailed names similar keys, or the kinds that have the key. */
type FindUnset = (
  id: EntityId,
  keys: ReadonlyArray<string>
) => Effect.Effect<ReadonlyArray<string>, ValidationFailed | NotFound, CurrentActor>

/** Maximum number of unknown keys in a refusal. */
const maxNamed = 3

/** Distinguishes keys without a value from keys that do not exist, by the account's definitions. */
const makeFindUnset = Effect.gen(function* () {
  const catalog = yield* Catalog
  const definitions = yield* MetafieldDefinitions

  const findUnset: FindUnset = (id, keys) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const kind = yield* catalog.kindOf(id)
      const rules = yield* definitions.rules(accountId)
      const unknown = keys.filter((key) => rules.find(kind, key) === undefined)
      if (unknown.length === 0) return keys
      const issues = unknown
        .slice(0, maxNamed)
        .map((key) => ({ path: "attributes", message: `${toSafeText(key) || '""'} ${rules.whyUnknown(kind, key)}` }))
      const more = unknown.length - issues.length
      return yield* new ValidationFailed({
        issues: more === 0 ? issues : [...issues, { path: "attributes", message: `${more} more are unknown` }]
      })
    })
  return findUnset
})

/** Every tool in the order of `tools/list`: first the tools without a REST endpoint, then the tools of REST endpoints. */
export const tools: ReadonlyArray<DerivedTool> = [...toolsOf(ConnectorApi), ...toolsOf(RestApi)]

export const toolsByName: ReadonlyMap<string, DerivedTool> = new Map(tools.map((each) => [each.listed.name, each]))

/** Names of the endpoints with a tool. Each must have a program of the same name, or makeAnswers does not compile. */
type ToolEndpoint = EndpointNameOf<typeof ConnectorApi> | EndpointNameOf<typeof RestApi>

/** A failed call, with the text for the agent. */
export interface RefusedCall {
  readonly _tag: "Refused"
  readonly text: string
  readonly code: string
}

/** The outcome of a call. `json`: the answer, serialized already. */
export type CallOutcome = { readonly _tag: "Answered"; readonly json: string } | RefusedCall

const foreignCursor = ValidationFailed.at(
  "cursor",
  "is not a cursor that this tool returned for these arguments; pass next_cursor unchanged with the same arguments, or start without a cursor"
)

/** Makes a function that returns a mark of the row at a place of an answer, by the row's keys. Beyond the rows it is undefined. */
const marksIn = (answer: Readonly<Record<string, unknown>>, { keys = [], rows = [] }: ToolAnswer) => {
  const all = rowsIn(answer, rows)
  const markAt = (place: number): string | undefined => {
    const found = all[place]
    if (found === undefined) return undefined
    const { name, row } = found
    const values = keys.map((key) => (isObject(row) ? row[key] : null))
    return hash("sha1", JSON.stringify([name, ...values]), "base64url").slice(0, 12)
  }
  return { markAt, count: all.length }
}

/**
 * The place after the last row that was returned, which was at `place - 1` and has the mark `last`. If rows before it came or went
 * since then, it has another place now. If it is gone, the next row has its place.
 */
const continueAfter = ({ count, markAt }: ReturnType<typeof marksIn>, last: string, place: number): number => {
  const before = place - 1
  // Cursors of earlier versions have no mark.
  if (last === "" || markAt(before) === last) return place
  for (let steps = 1; steps <= Math.max(before, count); steps++)
    for (const now of [before - steps, before + steps]) if (markAt(now) === last) return now + 1
  return before
}

/** Maximum runs of the program for one page. Each repeats with the number of rows that fitted the last time. */
const maxTries = 5

/** Makes a function that runs a tool's program and serializes the answer, cut to the maximum size. */
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

  /** Returns a page of an endpoint that pages itself. If the page is too long, requests it again with as many rows as fit. */
  const walk = (derived: DerivedTool, { limit, request, ...asked }: Call, choose: Chosen | undefined) =>
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

  /** Returns one page of an endpoint that returns whole lists, from the tool's own cursor on. */
  const part = (derived: DerivedTool, { cursor, limit, request, ...asked }: Call, choose: Chosen) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const { answer: shape, name } = derived.tool
      const last = cursor?.slice(cursorLength) ?? ""
      const bindingOf = (mark: string) => ({
        list: name,
        accountId,
        filters: { request: JSON.stringify(request), last: mark === "" ? undefined : mark }
      })
      const place =
        cursor === undefined ? Option.some(0) : cursors.decode(bindingOf(last), cursor.slice(0, cursorLength))
      if (Option.isNone(place)) return yield* foreignCursor
      const answer = yield* choose(yield* run(derived, request))
      const marks = marksIn(answer, shape)
      const from = continueAfter(marks, last, place.value)
      const cut = cutRows(answer, shape.rows ?? [], {
        from,
        limit: shape.limited === false ? Number.POSITIVE_INFINITY : limit,
        longest: longestOf(isSelective(asked))
      })
      const end = from + cut.taken
      const mark = marks.markAt(end - 1) ?? ""
      return cut.written({ next_cursor: cut.more ? cursors.encode(bindingOf(mark), end) + mark : null })
    })

  /** `chosen`: removes parts of the answer. Undefined: the whole answer is returned. */
  return (
    derived: DerivedTool,
    toolCall: Call,
    chosen: Chosen | undefined
  ): Effect.Effect<string, unknown, CurrentActor> => {
    const choose = chosen ?? Effect.succeed
    const longest = longestOf(isSelective(toolCall))
    const [key, ...otherKeys] = toolCall.attributes ?? []
    const uncut = Effect.flatMap(run(derived, toolCall.request), choose)
    switch (derived.tool.answer.kind) {
      case "walk":
        return walk(derived, toolCall, chosen)
      case "bounded":
        return part(derived, toolCall, choose)
      case "pages":
        return Effect.map(uncut, (answer) => cutPage(answer, derived.tool.answer.rows ?? [], longest))
      case "batch":
        return Effect.map(uncut, cutBatch)
      case "record":
        return Effect.map(uncut, (answer) =>
          key !== undefined && otherKeys.length === 0
            ? cutValue(answer, key, toolCall.valueOffset)
            : cutRecord(answer, longest)
        )
    }
  }
})

/**
 * Runs tools: translates the arguments to REST's names, runs the endpoint's program, translates the answer back and cuts it to
 * the maximum size. A failure or defect becomes a `Refused`; only an interruption is passed on.
 */
export const makeCalls = Effect.gen(function* () {
  const pages = pagesOf(yield* BaseUrl)
  const findLock = yield* makeFindLock(pages)
  const findUnset = yield* makeFindUnset
  const boundTo = yield* makeStoreBounds
  const answerOf = yield* makeAnswers

  const refused = (derived: DerivedTool, args: unknown, error: ApiError, lock = ""): CallOutcome => ({
    _tag: "Refused",
    text: refusalOf(derived, args, error, { pages, lock }),
    code: codeOf(error)
  })

  /** The outcome of a failed call. Issues are rewritten from REST's names to the connector's. */
  const toRefusal = (derived: DerivedTool, args: unknown, requestId: string) => (cause: Cause.Cause<unknown>) => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause)
    const reported =
      error._tag === "ValidationFailed" ? new ValidationFailed({ issues: derived.say(error.issues) }) : error
    if (reported._tag === "PimLocked") return Effect.map(findLock, (lock) => refused(derived, args, reported, lock))
    const answer = Effect.succeed(refused(derived, args, reported))
    const about = { requestId, tool: derived.listed.name }
    switch (error._tag) {
      case "InternalError":
        return Effect.zipRight(Effect.annotateLogs(Effect.logError("A tool ended in a defect", cause), about), answer)
      case "Unavailable":
        return Effect.zipRight(noteUnavailable(error, about), answer)
      default:
        return answer
    }
  }

  /** Makes a call. `visible`, `cut`: arguments and answer without stores that the connection may not see; undefined: it sees all. */
  const carryOut = (
    derived: DerivedTool,
    args: unknown,
    visible: unknown,
    cut: BoundedCall["cut"] | undefined,
    requestId: string
  ) =>
    Either.match(derived.decode(visible), {
      onLeft: (misfit) => Effect.succeed(refused(derived, args, misfit)),
      onRight: (toolCall) => {
        const chosen = isSelective(toolCall) ? chosenBy(derived, toolCall, findUnset) : undefined
        const left: Chosen | undefined =
          cut === undefined ? chosen : (answer) => Effect.flatMap(cut(answer), chosen ?? Effect.succeed)
        return answerOf(derived, toolCall, left).pipe(
          Effect.map((json): CallOutcome => ({ _tag: "Answered", json })),
          Effect.catchAllCause(toRefusal(derived, args, requestId))
        )
      }
    })

  return (derived: DerivedTool, args: unknown, requestId: string): Effect.Effect<CallOutcome, never, CurrentActor> =>
    Effect.flatMap(CurrentBounds, ({ stores }) =>
      stores === null
        ? carryOut(derived, args, args, undefined, requestId)
        : Effect.gen(function* () {
            const { accountId } = yield* CurrentActor
            const { args: visible, conceal, cut, restore } = yield* boundTo(accountId, stores, args)
            const called = yield* carryOut(derived, args, visible, cut, requestId)
            return called._tag === "Answered"
              ? { ...called, json: restore(called.json) }
              : { ...called, text: restore(yield* conceal(called.text)) }
          })
    ).pipe(
      Effect.catchAllCause(toRefusal(derived, args, requestId)),
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

/** Whether a call selects parts of the answer. Their values may then be longer. */
const isSelective = ({ attributes, fields }: Pick<Call, "attributes" | "fields">) =>
  attributes !== undefined || fields !== undefined

const choosers = new WeakMap<DerivedTool, ReturnType<typeof chooseKeyed>>()

const chooserOf = (derived: DerivedTool) => {
  const cached = choosers.get(derived)
  if (cached !== undefined) return cached
  const chooser = chooseKeyed(derived.success)
  choosers.set(derived, chooser)
  return chooser
}

/** Keeps the parts of an answer that `fields` or `attributes` select. `unset_keys` lists selected keys without a value. */
const chosenBy =
  (derived: DerivedTool, { attributes, fields, request }: Call, findUnset: FindUnset): Chosen =>
  (answer) => {
    const { answer: shape } = derived.tool
    if (fields !== undefined)
      return Effect.succeed(chooseMembers(answer, shape.rows ?? [], [...(shape.keys ?? []), ...fields]))
    if (attributes === undefined) return Effect.succeed(answer)
    const foundKeys = new Set<string>()
    const chosen = chooserOf(derived)(answer, new Set(attributes), foundKeys) as Readonly<Record<string, unknown>>
    const missing = attributes.filter((key) => !foundKeys.has(key))
    return missing.length === 0
      ? Effect.succeed(chosen)
      : Effect.map(findUnset(EntityId.make(String(request.path?.master_id)), missing), (unset_keys) => ({
          ...chosen,
          unset_keys
        }))
  }
