import { randomUUID } from "node:crypto"
import { OpenApi } from "@effect/platform"
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server, type Tool } from "@modelcontextprotocol/server"
import { Context, Effect, Option, Runtime, Schema } from "effect"
import { RestApi } from "../api/RestApi.ts"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import { type Called, makeCalls, tools, toolsByName } from "./Calls.ts"
import { makeInstructions } from "./Instructions.ts"
import { shown } from "./Vocabulary.ts"

/** Who calls, and the id of the request: what the gate found out, on its way through the SDK. */
export interface Caller {
  readonly actor: Actor
  readonly requestId: string
  /** The arguments as they were sent: the SDK's own copy of them leaves out what it does not like. */
  readonly args: unknown
}

/** What the SDK answers, whole. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  /** Empty: no body. */
  readonly text: string
}

const version = Option.getOrElse(Context.getOption(RestApi.annotations, OpenApi.Version), () => "1")

/** How long a client may keep what is the same for everybody. */
const listForMillis = 3_600_000

/** The one list, the same for everybody and in every protocol. */
const listed: { tools: Array<Tool> } = {
  // The SDK asks for lists that it may change, and types each keyword of a schema; ours are frozen records of keywords.
  tools: tools.map(({ listed: tool }) => tool as unknown as Tool)
}

/** A caller, the instructions if its message needs them, and who wants to know the JSON of the answer. */
interface Call extends Caller {
  readonly instructions: string
  readonly answered: (json: string) => void
}

const isCall = (value: unknown): value is Call =>
  typeof value === "object" && value !== null && "actor" in value && "answered" in value

/**
 * What the SDK is given for an answer, whose JSON then takes its place in the message: the SDK would write out twice more
 * what is written out already. Nobody can guess it, so that nothing of a client's reads the same.
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

const stringOr = Option.liftPredicate(Schema.is(Schema.String))

/** The SDK over the tools: a fresh server for every request, no state between two. */
export const makeMcpServer = (baseUrl: string) =>
  Effect.gen(function* () {
    const call = yield* makeCalls
    const instructionsFor = yield* makeInstructions
    const runtime = yield* Effect.runtime()
    const errorKey = `${baseUrl}/error`

    const resultOf = (called: Called, requestId: string) =>
      called._tag === "Answered"
        ? standIn
        : {
            content: [{ type: "text" as const, text: called.text }],
            isError: true,
            _meta: { [errorKey]: { code: called.code, request_id: requestId } }
          }

    const serverFor = ({ actor, answered, args, instructions, requestId }: Call) => {
      const server = new Server(
        { name: "catalog", title: "Catalog", version },
        {
          capabilities: { tools: {} },
          instructions,
          cacheHints: { "tools/list": { ttlMs: listForMillis, cacheScope: "public" } }
        }
      )
      server.setRequestHandler("tools/list", () => listed)
      server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
        const name = Option.getOrElse(stringOr(params.name), () => "")
        const derived = toolsByName.get(name)
        if (derived === undefined)
          throw new ProtocolError(
            ProtocolErrorCode.InvalidParams,
            `Unknown tool: ${shown(name)}. tools/list names all.`
          )
        const called = await Runtime.runPromise(runtime)(
          Effect.provideService(call(derived, args ?? {}, requestId), CurrentActor, actor),
          { signal: mcpReq.signal }
        )
        if (called._tag === "Answered") answered(called.json)
        return resultOf(called, requestId)
      })
      return server
    }

    // No handler sends anything before its result, so that the answer to a modern request is one body of JSON.
    const handler = createMcpHandler(({ authInfo }) => {
      const call = authInfo?.extra?.call
      if (!isCall(call)) throw new Error("a request came past the gate")
      return serverFor(call)
    })

    const answer = (message: unknown, headers: Headers, caller: Caller, instructions: string): Effect.Effect<Answer> =>
      Effect.promise(async (signal) => {
        let json: string | undefined
        const call: Call = {
          ...caller,
          instructions,
          answered: (written) => {
            json = written
          }
        }
        const response = await handler.fetch(new Request(`${baseUrl}/mcp`, { method: "POST", headers, signal }), {
          parsedBody: message,
          // The token itself stays behind: nothing here needs it.
          authInfo: { token: "", clientId: "", scopes: [], extra: { call } }
        })
        const text = await response.text()
        return {
          status: response.status,
          contentType: response.headers.get("content-type") ?? "application/json",
          text: json === undefined ? text : withAnswer(text, json)
        }
      })

    /** Answers one message that was read already. */
    return (message: unknown, headers: Headers, caller: Caller): Effect.Effect<Answer> =>
      instructionsFor(message).pipe(
        Effect.provideService(CurrentActor, caller.actor),
        Effect.flatMap((instructions) => answer(message, headers, caller, instructions))
      )
  })
