import { errorCodes } from "../api/ErrorCodes.ts"
import type { ConnectionBounds } from "../model/ConnectionBounds.ts"
import type { Called } from "./Calls.ts"
import type { DerivedTool } from "./Tools.ts"
import { isObject, shown } from "./Vocabulary.ts"

/** The page that publishes an entity, or lists all. The pages are beside this surface, which cannot import them. */
const pageOf = (args: unknown) =>
  isObject(args) && typeof args.master_id === "string"
    ? `/entity?${new URLSearchParams({ id: shown(args.master_id) })}`
    : "/entities"

/** Whether a call publishes for a connection whose merchant wants to be asked before each publish. */
export const mustConfirm = ({ tool }: DerivedTool, { confirmPublish }: ConnectionBounds): boolean =>
  confirmPublish && tool.tier === "pim:publish"

/** The answer to a call that must be confirmed, if the client cannot ask its user. */
export const unconfirmed = (baseUrl: string, args: unknown): Extract<Called, { _tag: "Refused" }> => ({
  _tag: "Refused",
  text: `Not published: the merchant wants to confirm each publish of this connection, and this client cannot ask them. Nothing was done; the draft is kept. Ask the merchant to publish it at ${baseUrl}${pageOf(args)}, or to disconnect the catalog in this client and connect it again without "Ask me before each publish".`,
  code: errorCodes.Forbidden.code
})
