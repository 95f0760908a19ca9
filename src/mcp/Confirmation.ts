import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext
} from "@modelcontextprotocol/server"
import { Clock, Effect, Option } from "effect"
import { errorCodes } from "../api/ErrorCodes.ts"
import { Cursors } from "../catalog/Cursors.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import type { CallOutcome, RefusedCall } from "./Calls.ts"
import { type Pages, pagesOf } from "./Pages.ts"
import { type DryRun, publishText } from "./PublishText.ts"
import { isObject, toSafeText } from "./Vocabulary.ts"

/** The key of the question in `inputRequests` and `inputResponses`. */
const question = "publish"

/** A call that waits for the user's answer. */
export interface UserQuestion {
  readonly _tag: "UserQuestion"
  readonly question: InputRequiredResult
}

const refuse = (text: string): RefusedCall => ({ _tag: "Refused", text, code: errorCodes.Forbidden.code })

/** The page where a person publishes this entity, or the list of entities if the call names several. */
const publishPage = ({ entities, entity }: Pages, args: unknown) =>
  isObject(args) && typeof args.master_id === "string" ? entity(toSafeText(args.master_id)) : entities

/** The merchant requires a confirmation of each publish, but the client cannot ask its user. */
const cannotAsk = (pages: Pages, args: unknown) =>
  refuse(
    `Not published: the merchant must confirm each publish of this connection, but this client does not support confirmation (elicitation). Nothing was done; the draft is kept. Ask the merchant to publish it at ${publishPage(pages, args)}, or to disconnect the catalog in this client and connect it again without "Ask me before each publish".`
  )

const declined = refuse("Not published: the user declined. Nothing was done; the draft is kept.")

/** Whether the client declared that it can show forms to its user. A declaration without modes means forms. */
const showsForms = ({ mcpReq }: ServerContext): boolean => {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope }
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY]
  if (!isObject(capabilities) || !isObject(capabilities.elicitation)) return false
  const { elicitation } = capabilities
  return Object.keys(elicitation).length === 0 || isObject(elicitation.form)
}

/** How long the user has to answer, in milliseconds. */
const answerMillis = 15 * 60_000

/** The masters and channels that a dry run would publish. */
const rowsOf = ({ channels = [], masters = [] }: DryRun) => [...channels, ...masters]
const wouldPublish = ({ outcome }: { readonly outcome: string }) => outcome === "would_publish"

/** Limits the call to the masters that the user was shown. The dry run refused the others; they may be publishable by now. */
const limitToShown = (args: unknown, { masters }: DryRun): unknown => {
  if (!isObject(args) || masters === undefined || !Array.isArray(args.masters)) return args
  return { ...args, masters: args.masters.filter((_, place) => wouldPublish(masters[place] ?? { outcome: "refused" })) }
}

/** Adds the masters that were not published to the answer, each at its place in the call's list. */
const withNotShown = (called: CallOutcome, { masters }: DryRun): CallOutcome => {
  if (masters === undefined || called._tag === "Refused") return called
  const answer: DryRun = JSON.parse(called.json)
  const published = [...(answer.masters ?? [])]
  const rows = masters.map((row) => (wouldPublish(row) ? (published.shift() ?? row) : row))
  return { ...called, json: JSON.stringify({ ...answer, masters: rows }) }
}

const askUser = (preview: DryRun, requestState: string): UserQuestion => ({
  _tag: "UserQuestion",
  question: inputRequired({
    inputRequests: {
      [question]: inputRequired.elicit({
        message: `Publish this?\n${publishText(preview)}`,
        // The form has no fields: the user only accepts or declines.
        requestedSchema: { type: "object", properties: {} }
      })
    },
    requestState
  })
})

type Call = (args: unknown) => Effect.Effect<CallOutcome, never, CurrentActor>

/**
 * Publishes after the user has agreed, if the client can ask its user: the first call returns a question with the text of the
 * dry run, and the client repeats the call with the answer. The question's signed state contains the connection, the arguments,
 * the dry run and an expiry time. If any of them does not match, for example because the draft has changed, the user is asked
 * again. Masters that the dry run refuses are not published.
 */
export const makePublishConfirmed = Effect.gen(function* () {
  const pages = pagesOf(yield* BaseUrl)
  const cursors = yield* Cursors

  const confirm = (args: unknown, { mcpReq }: ServerContext, call: Call) =>
    Effect.gen(function* () {
      const answer = inputResponse(mcpReq.inputResponses, question)
      if (answer.kind === "elicit" && answer.action !== "accept") return declined
      const preview = yield* call(isObject(args) ? { ...args, dry_run: true } : args)
      if (preview._tag === "Refused") return preview
      const dryRun: DryRun = JSON.parse(preview.json)
      if (!rowsOf(dryRun).some(wouldPublish)) return preview
      const actor = yield* CurrentActor
      const binding = {
        list: "publish question",
        accountId: actor.accountId,
        filters: {
          connection: actor._tag === "Connection" ? actor.connectionId : undefined,
          arguments: JSON.stringify(args),
          preview: preview.json
        }
      }
      const now = yield* Clock.currentTimeMillis
      const state: unknown = mcpReq.requestState()
      const until = typeof state === "string" ? cursors.decode(binding, state) : Option.none()
      if (answer.kind !== "elicit" || Option.isNone(until) || until.value < now)
        return askUser(dryRun, cursors.encode(binding, now + answerMillis))
      return withNotShown(yield* call(limitToShown(args, dryRun)), dryRun)
    })

  return (
    args: unknown,
    context: ServerContext,
    call: Call
  ): Effect.Effect<CallOutcome | UserQuestion, never, CurrentActor> => {
    // A `dry_run` that is not a boolean is refused by the call, so the user is not asked about it either.
    if (isObject(args) && (args.dry_run ?? false) !== false) return call(args)
    if (showsForms(context)) return confirm(args, context, call)
    return Effect.flatMap(CurrentBounds, ({ confirmPublish }) =>
      confirmPublish ? Effect.succeed(cannotAsk(pages, args)) : call(args)
    )
  }
})
