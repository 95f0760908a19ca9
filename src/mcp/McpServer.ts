import { randomUUID } from "node:crypto"
import { OpenApi } from "@effect/platform"
import {
  createMcpHandler,
  type PaginatedRequestParams,
  type ProtocolError,
  Server,
  type ServerContext,
  type Tool
} from "@modelcontextprotocol/server"
import { type Cause, Context, Effect, Either, identity, Option, Runtime } from "effect"
import { RestApi } from "../api/RestApi.ts"
import { readingAt } from "../database/Replica.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import { type ConnectionBounds, CurrentBounds } from "../model/ConnectionBounds.ts"
import { type CallOutcome, type RefusedCall, tools, toolsByName } from "./Calls.ts"
import type { UserQuestion } from "./Confirmation.ts"
import { invalidParams, makeHandlers } from "./Handlers.ts"
import { makeInstructions } from "./Instructions.ts"
import { calledBy, progressTokenOf } from "./Message.ts"
import { type PlainCall, plainAnswer, plainCallOf, plainRefusal, type SentHeaders } from "./PlainCalls.ts"
import { listedPrompts } from "./Prompts.ts"
import { listedResources, listedTemplates } from "./Resources.ts"
import { isPublish } from "./Tools.ts"
import { isObject } from "./Vocabulary.ts"

/** The data about a call that the gate passes to the handlers. */
export interface Caller {
  readonly actor: Actor
  readonly bounds: ConnectionBounds
  readonly requestId: string
  /** The account's version if a replica that has it may answer the call. */
  readonly version: number | undefined
  /** The gate's refusal, which becomes the tool's result; the tool does not run. Undefined: the tool runs. */
  readonly refused: RefusedCall | undefined
  /** The arguments as sent. The SDK's parsed copy can lack some members. */
  readonly args: unknown
}

/** The connector's answer to one message. */
interface Answer {
  readonly status: number
  readonly contentType: string
  /** The whole body (empty if there is none), or a stream of events: notifications, then the result. */
  readonly body: string | ReadableStream<Uint8Array>
}

/** Request headers that the SDK reads. */
const protocolHeaders = ["mcp-protocol-version", "mcp-method", "mcp-name"] as const

const version = Option.getOrElse(Context.getOption(RestApi.annotations, OpenApi.Version), () => "1")

const serverInfo = { name: "catalog", title: "Catalog", version }

/** How long a client may cache the lists, which are the same for every account. */
const cacheHint = { ttlMs: 3_600_000, cacheScope: "public" } as const
const cacheHints = {
  "tools/list": cacheHint,
  "prompts/list": cacheHint,
  "resources/list": cacheHint,
  "resources/templates/list": cacheHint
}

/** The list of tools, the same for every account and protocol revision. */
const listed: { tools: Array<Tool> } = {
  // A cast: the SDK's type has mutable lists and a type for each keyword of a schema; our schemas are readonly records.
  tools: tools.map(({ listed: tool }) => tool as unknown as Tool)
}

/** Answers with a whole list. No answer has a cursor. A client that sends one would take the same list for the next page, again and again. */
const listing =
  <A>(list: A) =>
  ({ method, params }: { readonly method: string; readonly params?: PaginatedRequestParams | undefined }): A => {
    if (params?.cursor)
      throw invalidParams(`Invalid params: params.cursor: ${method} returns the whole list; call it without a cursor.`)
    return list
  }

/** A caller with the data that its answer needs. The SDK passes it to the handlers in `authInfo.extra`. */
interface CallContext extends Caller {
  readonly instructions: string
  /** Receives the JSON of the answer; the SDK then gets `standIn` instead. Undefined: the SDK serializes the answer. */
  readonly answered: ((json: string) => void) | undefined
  /** Receives the cause if the handler dies or is interrupted. The SDK's answer would repeat the message of the cause. */
  readonly failed: (cause: Cause.Cause<never>) => void
}

const isCallContext = (value: unknown): value is CallContext =>
  isObject(value) && "actor" in value && "answered" in value

/**
 * A placeholder for the answer in the SDK's message. `withAnswer` replaces it by the answer's JSON, which the SDK would otherwise
 * serialize twice more. Its texts are random, so that no text of a client equals them.
 */
const standInText = randomUUID()
const standInKey = randomUUID()
const standIn = {
  content: [{ type: "text" as const, text: standInText }],
  structuredContent: { [standInKey]: true }
}

const withAnswer = (message: string, json: string) =>
  message
    .replace(`"${standInText}"`, () => JSON.stringify(json))
    .replace(JSON.stringify(standIn.structuredContent), () => json)

/** Whether a message is a publish with a progress token. Its answer is a stream: notifications, then the result. */
const isFollowed = (message: unknown): boolean => {
  const tool = toolsByName.get(calledBy(message) ?? "")
  return tool !== undefined && isPublish(tool) && progressTokenOf(message) !== undefined
}

/** Runs effects as the caller, within the bounds of its connection. */
const asCaller =
  ({ actor, bounds, version }: Caller) =>
  <A, E>(effect: Effect.Effect<A, E, CurrentActor>): Effect.Effect<A, E> =>
    effect.pipe(
      Effect.provideService(CurrentActor, actor),
      Effect.provideService(CurrentBounds, bounds),
      version === undefined ? identity : readingAt(actor.accountId, version)
    )

/** Runs effects that the SDK calls outside of the request's fiber. Their log lines get the id of the request. */
const inLibrary =
  (caller: Caller) =>
  <A, E>(effect: Effect.Effect<A, E, CurrentActor>): Effect.Effect<A, E> =>
    Effect.annotateLogs(asCaller(caller)(effect), "requestId", caller.requestId)

/** Serves tools, prompts and resources with the SDK. Every request gets a new SDK server, so no state is kept between requests. */
export const makeMcpServer = Effect.gen(function* () {
  const baseUrl = yield* BaseUrl
  const { call, callTool, complete, getPrompt, readResource } = yield* makeHandlers
  const instructionsFor = yield* makeInstructions
  const promise = Runtime.runPromise(yield* Effect.runtime())
  const errorKey = `${baseUrl}/error`

  const refusalResult = ({ code, text }: RefusedCall, requestId: string) => ({
    content: [{ type: "text" as const, text }],
    isError: true,
    _meta: { [errorKey]: { code, request_id: requestId } }
  })

  const resultOf = (called: CallOutcome | UserQuestion, { answered, requestId }: CallContext) => {
    if (called._tag === "UserQuestion") return called.question
    if (called._tag === "Refused") return refusalResult(called, requestId)
    if (answered === undefined)
      return { content: [{ type: "text" as const, text: called.json }], structuredContent: JSON.parse(called.json) }
    answered(called.json)
    return standIn
  }

  const serverFor = (caller: CallContext) => {
    const server = new Server(serverInfo, {
      capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
      instructions: caller.instructions,
      cacheHints
    })
    const answer = <Message, A>(handle: (message: Message) => Effect.Effect<A, ProtocolError, CurrentActor>) => {
      return async (message: Message, { mcpReq }: ServerContext): Promise<A> => {
        const handled = Effect.either(Effect.suspend(() => inLibrary(caller)(handle(message))))
        const reported = Effect.tapErrorCause(handled, (cause) => Effect.sync(() => caller.failed(cause)))
        return Either.getOrThrowWith(await promise(reported, mcpReq), identity)
      }
    }
    server.setRequestHandler("tools/list", listing(listed))
    server.setRequestHandler("tools/call", (message, context) =>
      answer(() =>
        Effect.map(
          caller.refused === undefined
            ? callTool(message, context, caller.args ?? {}, caller.requestId)
            : Effect.succeed(caller.refused),
          (called) => resultOf(called, caller)
        )
      )(message, context)
    )
    server.setRequestHandler("prompts/list", listing(listedPrompts))
    server.setRequestHandler("prompts/get", answer(getPrompt))
    server.setRequestHandler("resources/list", listing(listedResources))
    server.setRequestHandler("resources/templates/list", listing(listedTemplates))
    server.setRequestHandler("resources/read", answer(readResource))
    server.setRequestHandler("completion/complete", answer(complete))
    return server
  }

  // The SDK answers with one JSON body, unless a handler sends notifications before its result.
  const handler = createMcpHandler(({ authInfo }) => {
    const callContext = authInfo?.extra?.callContext
    if (!isCallContext(callContext)) throw new Error("a request did not pass the gate")
    return serverFor(callContext)
  })

  const throughSdk = (
    message: unknown,
    sentHeaders: SentHeaders,
    caller: Caller,
    instructions: string
  ): Effect.Effect<Answer> =>
    Effect.promise(async (signal): Promise<Effect.Effect<Answer>> => {
      let json: string | undefined
      let failure: Cause.Cause<never> | undefined
      const follows = isFollowed(message)
      const callContext: CallContext = {
        ...caller,
        instructions,
        answered: follows
          ? undefined
          : (written) => {
              json = written
            },
        failed: (cause) => {
          failure = cause
        }
      }
      const headers = new Headers({ "content-type": "application/json", accept: "application/json, text/event-stream" })
      for (const name of protocolHeaders) if (sentHeaders[name] !== undefined) headers.set(name, sentHeaders[name])
      const response = await handler.fetch(new Request(`${baseUrl}/mcp`, { method: "POST", headers, signal }), {
        parsedBody: message,
        // The handlers do not need the access token, so it is not passed on.
        authInfo: { token: "", clientId: "", scopes: [], extra: { callContext } }
      })
      const contentType = response.headers.get("content-type") ?? "application/json"
      const head = { status: response.status, contentType }
      if (follows && response.body !== null && contentType.startsWith("text/event-stream"))
        return Effect.succeed({ ...head, body: response.body })
      const text = await response.text()
      if (failure !== undefined) return Effect.failCause(failure)
      return Effect.succeed({ ...head, body: json === undefined ? text : withAnswer(text, json) })
    }).pipe(Effect.flatten)

  const answerPlain = ({ id, tool }: PlainCall, caller: Caller): Effect.Effect<Answer> =>
    Effect.map(asCaller(caller)(call(tool, caller.args ?? {}, caller.requestId)), (called) => ({
      status: 200,
      contentType: "application/json",
      body:
        called._tag === "Refused"
          ? plainRefusal(refusalResult(called, caller.requestId), serverInfo, id)
          : plainAnswer(called.json, serverInfo, id)
    }))

  /** Answers one message that the gate has parsed. */
  return (message: unknown, headers: SentHeaders, caller: Caller): Effect.Effect<Answer> => {
    const plain = caller.refused === undefined ? plainCallOf(message, headers) : undefined
    return plain === undefined
      ? Effect.flatMap(asCaller(caller)(instructionsFor(message)), (instructions) =>
          throughSdk(message, headers, caller, instructions)
        )
      : answerPlain(plain, caller)
  }
})
