import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext
} from "@modelcontextprotocol/server"
import { Effect } from "effect"
import { errorCodes } from "../api/ErrorCodes.ts"
import { pageOf, pagePaths } from "../http/PagePaths.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import type { Called, Refused } from "./Calls.ts"
import { type DryRun, publishText } from "./PublishText.ts"
import { isObject, shown } from "./Vocabulary.ts"

/** The key of the question in `inputRequests` and `inputResponses`. */
const question = "publish"

/** A call that waits for the user's answer. */
export interface Asks {
  readonly _tag: "Asks"
  readonly question: InputRequiredResult
}

const refused = (text: string): Refused => ({ _tag: "Refused", text, code: errorCodes.Forbidden.code })

/** The page where a person publishes this entity, or chooses one. */
const publishPage = (args: unknown) =>
  isObject(args) && typeof args.master_id === "string"
    ? pageOf(pagePaths.entity, shown(args.master_id))
    : pagePaths.entities

/** The client cannot ask its user, though the merchant wants to confirm each publish. */
const cannotAsk = (baseUrl: string, args: unknown) =>
  refused(
    `Not published: the merchant wants to confirm each publish of this connection, and this client cannot ask them. Nothing was done; the draft is kept. Ask the merchant to publish it at ${baseUrl}${publishPage(args)}, or to disconnect the catalog in this client and connect it again without "Ask me before each publish".`
  )

const declined = refused("Not published: the user declined. Nothing was done; the draft is kept.")

/** Whether the client declared that it shows forms to its user. A declaration without modes means forms. */
const showsForms = ({ mcpReq }: ServerContext): boolean => {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope }
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY]
  if (!isObject(capabilities) || !isObject(capabilities.elicitation)) return false
  const { elicitation } = capabilities
  return Object.keys(elicitation).length === 0 || isObject(elicitation.form)
}

const wouldPublish = ({ channels = [], masters = [] }: DryRun) =>
  [...channels, ...masters].some(({ outcome }) => outcome === "would_publish")

const ask = (preview: DryRun): Asks => ({
  _tag: "Asks",
  question: inputRequired({
    inputRequests: {
      [question]: inputRequired.elicit({
        message: `Publish this?\n${publishText(preview)}`,
        // The answer is whether the user accepts: there is nothing to fill in.
        requestedSchema: { type: "object", properties: {} }
      })
    }
  })
})

/**
 * Publishes after the user has agreed, if the client can ask its user: the first call returns a question with the text of the
 * dry run, and the client repeats the call with the answer. The draft_revision in the arguments is checked again then, so that
 * the user agrees to what is published. `call` makes the call with these arguments.
 */
export const publishConfirmed = (
  baseUrl: string,
  args: unknown,
  context: ServerContext,
  call: (args: unknown) => Effect.Effect<Called, never, CurrentActor>
): Effect.Effect<Called | Asks, never, CurrentActor> =>
  Effect.gen(function* () {
    if (isObject(args) && args.dry_run === true) return yield* call(args)
    if (!showsForms(context)) {
      const { confirmPublish } = yield* CurrentBounds
      return confirmPublish ? cannotAsk(baseUrl, args) : yield* call(args)
    }
    const answer = inputResponse(context.mcpReq.inputResponses, question)
    if (answer.kind === "elicit") return answer.action === "accept" ? yield* call(args) : declined
    const preview = yield* call(isObject(args) ? { ...args, dry_run: true } : args)
    if (preview._tag === "Refused") return preview
    const dryRun: DryRun = JSON.parse(preview.json)
    return wouldPublish(dryRun) ? ask(dryRun) : yield* call(args)
  })
