import {
  type CallToolRequest,
  type CompleteRequest,
  type GetPromptRequest,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceRequest,
  type ServerContext
} from "@modelcontextprotocol/server"
import { Effect } from "effect"
import { BaseUrl } from "../http/BaseUrl.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { PublishProgress } from "../programs/PublishProgress.ts"
import { Stores } from "../stores/Stores.ts"
import { type CallOutcome, makeCalls, toolsByName } from "./Calls.ts"
import { makePublishConfirmed, type UserQuestion } from "./Confirmation.ts"
import { pagesOf } from "./Pages.ts"
import { completePrompt, completionOf, promptOf } from "./Prompts.ts"
import { completeResource, makeResources } from "./Resources.ts"
import { isPublish } from "./Tools.ts"
import { toSafeText } from "./Vocabulary.ts"

export const invalidParams = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message)

/**
 * How long a publish of several masters waits for the stores if the client follows its progress, in milliseconds. A stopping
 * server waits longer than this for running requests.
 */
const progressWaitMillis = 8_000

/** If the client sent a progress token, sends a notification whenever the outcome of a master is known. */
const withProgress = <A, E, R>(effect: Effect.Effect<A, E, R>, { mcpReq }: ServerContext): Effect.Effect<A, E, R> => {
  const progressToken = mcpReq._meta?.progressToken
  return progressToken === undefined
    ? effect
    : Effect.provideService(effect, PublishProgress, {
        waitMillis: progressWaitMillis,
        report: (progress, total, message) =>
          Effect.ignore(
            Effect.tryPromise(() =>
              mcpReq.notify({
                method: "notifications/progress",
                params: { progressToken, progress, total, message }
              })
            )
          )
      })
}

/** Handlers of the protocol's methods that read or change the caller's account. */
export const makeHandlers = Effect.gen(function* () {
  const call = yield* makeCalls
  const resources = yield* makeResources
  const publishConfirmed = yield* makePublishConfirmed
  const stores = yield* Stores
  const { connections: connectionsPage } = pagesOf(yield* BaseUrl)

  return {
    /** Calls a tool without the SDK (see PlainCalls). */
    call,
    callTool: (
      { params }: CallToolRequest,
      context: ServerContext,
      args: unknown,
      requestId: string
    ): Effect.Effect<CallOutcome | UserQuestion, ProtocolError, CurrentActor> => {
      const tool = toolsByName.get(params.name)
      if (tool === undefined)
        return Effect.fail(invalidParams(`Unknown tool: ${toSafeText(params.name)}. tools/list names all.`))
      return isPublish(tool)
        ? withProgress(
            publishConfirmed(args, context, (toolArguments) => call(tool, toolArguments, requestId)),
            context
          )
        : call(tool, args, requestId)
    },
    getPrompt: ({ params }: GetPromptRequest) =>
      Effect.flatMap(stores.list, (all) =>
        Effect.mapError(promptOf(params.name, params.arguments ?? {}, { stores: all, connectionsPage }), invalidParams)
      ),
    readResource: ({ params: { uri } }: ReadResourceRequest) => {
      const read = resources.read(uri)
      return read === undefined
        ? Effect.fail(invalidParams(`Unknown resource: ${toSafeText(uri, 200)}. resources/list names all.`))
        : Effect.map(read, (text) => ({ contents: [{ uri, mimeType: "application/json", text }] }))
    },
    complete: ({ params: { argument, ref } }: CompleteRequest) =>
      ref.type === "ref/resource"
        ? Effect.succeed(completionOf(completeResource(ref.uri, argument.name, argument.value)))
        : Effect.map(stores.list, (all) => completionOf(completePrompt(ref.name, argument.name, argument.value, all)))
  }
})
