import { Schema } from "effect"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { type Issue, NotOnStore } from "../model/Errors.ts"
import { EntityId } from "../model/Ids.ts"
import { noPlatform } from "../publishing/PublishRequests.ts"
import type { Pages } from "./Pages.ts"
import type { DerivedTool } from "./Tools.ts"
import { isObject, toSafeText } from "./Vocabulary.ts"

/** Maximum characters of the issues in a refusal. The advice after them is never cut. */
const maxIssuesCharacters = 3_000

/** Maximum number of issues in a refusal: if there are many, most are alike. */
const maxIssues = 20

/** Maximum number of ids that a refusal repeats from one list. */
const maxNamed = 3

/** The ids among the arguments, as a refusal repeats them. */
const namedBy = ({ tool }: DerivedTool, args: unknown): ReadonlyArray<string> =>
  Object.keys(tool.idsFrom ?? {}).flatMap((name) => {
    const value = isObject(args) ? args[name] : undefined
    if (typeof value === "string") return [`${name} ${toSafeText(value)}`]
    return Array.isArray(value)
      ? [
          `${name} ${value
            .slice(0, maxNamed)
            .map((id) => toSafeText(String(id)))
            .join(", ")}`
        ]
      : []
  })

const sentence = (parts: ReadonlyArray<string>) => parts.filter((part) => part !== "").join(" ")

const describeNotFound = (derived: DerivedTool, args: unknown) => {
  const ids = namedBy(derived, args)
  const all = Object.entries(derived.tool.idsFrom ?? {})
  const withValue = all.filter(([name]) => isObject(args) && (args[name] ?? null) !== null)
  const sources = [...new Set((withValue.length === 0 ? all : withValue).map(([, source]) => source))]
  const what = ids.length === 0 ? "such record" : `record with ${ids.join(" and ")}`
  return sentence([
    `Not found: this account has no ${what}.`,
    sources.length === 0 ? "" : `Call ${sources.join(" or ")} for ids that exist.`
  ])
}

/** Maximum number of channels in a refusal. */
const maxChannels = 20

const describeNotOnChannel = ({ entityId, store, stores }: NotOnStore) => {
  const names = stores.slice(0, maxChannels).map(({ domain, id }) => `${id} (${domain})`)
  const others = stores.length - names.length
  return sentence([
    `Not found: master ${entityId} is not on channel ${store.id} (${store.domain});`,
    stores.length === 0
      ? "it is on no channel."
      : `its channels are ${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}.`,
    "Nothing was changed. update_projection_attributes_v1 with add_to_channel true adds it there, as a draft."
  ])
}

/** Lists as many issues as fit, but at least the first one. */
const listIssues = (issues: ReadonlyArray<Issue>) => {
  const all = issues.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
  const listed: Array<string> = []
  let room = maxIssuesCharacters
  for (const each of all.slice(0, maxIssues)) {
    if (listed.length > 0 && each.length > room) break
    listed.push(toSafeText(each, maxIssuesCharacters))
    room -= each.length
  }
  const rest = all.length - listed.length
  return `${listed.join("; ")}${rest === 0 ? "" : `; and ${rest} more`}`
}

/** Data for a refusal's text in addition to its error. `lock`: for `PimLocked`, a description of the import. */
interface RefusalContext {
  readonly pages: Pages
  readonly lock: string
}

/** Advice for the person, by issue. Empty for most issues. */
const remedyOf = (issues: ReadonlyArray<Issue>) =>
  issues.some(({ message }) => message.includes(noPlatform))
    ? "The operator of this service can link the store to its platform."
    : ""

const isId = Schema.is(EntityId)

/** Whether an argument is an id, or a list of ids. */
const hasIds = (value: unknown) => (Array.isArray(value) ? value.length > 0 && value.every(isId) : isId(value))

/** The value at the path of an issue, such as `masters[0].master_id`. */
const valueAt = (args: unknown, path: string) =>
  path
    .split(/[.[\]]+/)
    .filter((step) => step !== "")
    .reduce<unknown>(
      (value, step) =>
        isObject(value) && Object.hasOwn(value, step)
          ? value[step]
          : Array.isArray(value)
            ? value[Number(step)]
            : undefined,
      args
    )

/** Which tools give ids for the arguments that are missing or are no ids. An id that is refused for another reason needs no other one. */
const sourcesOf = ({ tool }: DerivedTool, args: unknown, issues: ReadonlyArray<Issue>) => {
  const argumentNames = new Set(
    issues
      .filter(({ message, path }) => {
        const value = valueAt(args, path)
        // A channel that the call did not name can be refused too.
        return value === undefined ? message.startsWith("is missing") : !hasIds(value)
      })
      .map(({ path }) => path.replace(/\[\d+\]$/, "").replace(/^.*\./, ""))
  )
  return Object.entries(tool.idsFrom ?? {}).flatMap(([name, source]) =>
    argumentNames.has(name) ? `${source} gives ${name}.` : []
  )
}

/** The text for an agent whose call failed: what failed, for which value, and which tool to call next. */
export const refusalOf = (
  derived: DerivedTool,
  args: unknown,
  error: ApiError,
  { lock, pages }: RefusalContext
): string => {
  const { name } = derived.tool
  switch (error._tag) {
    case "NotFound":
      return error instanceof NotOnStore ? describeNotOnChannel(error) : describeNotFound(derived, args)
    case "ValidationFailed":
      return sentence([
        `Invalid: ${listIssues(error.issues)}. Nothing was changed.`,
        remedyOf(error.issues),
        ...sourcesOf(derived, args, error.issues),
        `Correct this and call ${name} again.`
      ])
    case "RevisionConflict": {
      const sentRevision = isObject(args) ? args.draft_revision : undefined
      return sentence([
        `Conflict: draft_revision ${Number(sentRevision)} is not the current one, which is ${error.currentRevision}: the master was changed meanwhile.`,
        `Nothing was changed. Call get_master_v1 with master_id ${error.entityId}, read its current values, and call ${name} again with its current draft_revision.`
      ])
    }
    case "PimLocked":
      return `Locked: ${lock}. Nothing was changed. Call ${name} again after the import has ended. Tools that read still work.`
    case "LiveReadFailed":
      return `Failed: ${toSafeText(error.message, maxIssuesCharacters)} A person can check the store at ${pages.stores}. Call ${name} again later.`
    case "InternalError":
      return `Failed: something went wrong on our side. Call ${name} again later, or quote the request id in _meta to the operator: the log has the cause under it.`
    default:
      return `Failed: ${toSafeText(error.message, maxIssuesCharacters)} Call ${name} again later.`
  }
}

export const codeOf = (error: ApiError): string => errorCodes[error._tag].code
