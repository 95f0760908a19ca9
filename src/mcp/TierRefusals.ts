import type { HttpServerRequest } from "@effect/platform"
import { classifyInboundRequest } from "@modelcontextprotocol/server"
import { errorCodes } from "../api/ErrorCodes.ts"
import { resourceOf } from "../connections/AuthorizationRequest.ts"
import { covers, shortName, type Tier, tierOfRole, tierWords } from "../connections/Tier.ts"
import { type Role, roleWords } from "../model/Role.ts"
import type { CallOutcome } from "./Calls.ts"
import type { DerivedTool } from "./Tools.ts"

/** The refusal of a call that needs a higher tier. The tool does not run. */
type TierRefusal =
  /** Answered as 403 with a challenge, from which a client learns to ask its user for a higher tier. */
  | { readonly _tag: "Status"; readonly needed: Tier; readonly text: string }
  /** Answered as the result of the tool, which clients show to the user. */
  | { readonly _tag: "Result"; readonly called: Extract<CallOutcome, { _tag: "Refused" }> }

/** Whether a message has a protocol revision with `initialize`, whose clients do not show the text of an HTTP error. */
const isLegacy = (message: unknown, { headers }: HttpServerRequest.HttpServerRequest) =>
  classifyInboundRequest({
    httpMethod: "POST",
    body: message,
    ...(headers["mcp-protocol-version"] !== undefined && { protocolVersionHeader: headers["mcp-protocol-version"] }),
    ...(headers["mcp-method"] !== undefined && { mcpMethodHeader: headers["mcp-method"] }),
    ...(headers["mcp-name"] !== undefined && { mcpNameHeader: headers["mcp-name"] })
  }).kind === "legacy"

const quotedName = (tier: Tier) => `"${tierWords[tier].name}"`

/**
 * Refuses a call that needs a higher tier than its token grants, than the connector's URL allows, or than the role of the user who
 * consented includes. Undefined: it is allowed.
 */
export const makeTierRefusals =
  (baseUrl: string) =>
  (
    { listed: { name }, tool: { tier: needed } }: DerivedTool,
    { allowed, granted, role }: { readonly allowed: Tier; readonly granted: Tier; readonly role: Role },
    message: unknown,
    request: HttpServerRequest.HttpServerRequest
  ): TierRefusal | undefined => {
    const needs = `${name} needs the tier ${quotedName(needed)} (${needed})`
    const asResult = (text: string): TierRefusal => ({
      _tag: "Result",
      called: { _tag: "Refused", text, code: errorCodes.Forbidden.code }
    })
    // Not an HTTP error: the client would ask for consent again, which cannot change the URL.
    if (!covers(allowed, needed))
      return asResult(
        `${needs}, and the connector's URL in this client ends with ?tier=${shortName(allowed)}, which limits it to ${quotedName(allowed)}. Nothing was done. To allow more, change the URL in this client to ${resourceOf(baseUrl)}.`
      )
    if (covers(granted, needed)) return undefined
    // Not an HTTP error either: the consent page offers no more than the role includes.
    if (!covers(tierOfRole(role), needed))
      return asResult(
        `${needs}, and the user who connected this agent has the role "${roleWords[role].name}", which limits it to ${quotedName(tierOfRole(role))}. Nothing was done. An administrator of the account can change the role on the page Team.`
      )
    const text = `${needs}, and this connection was granted ${quotedName(granted)}. Nothing was done. To grant more, disconnect the catalog in this client, connect it again and choose ${quotedName(needed)} on the consent page.`
    return isLegacy(message, request) ? asResult(text) : { _tag: "Status", needed, text: `insufficient_scope: ${text}` }
  }
