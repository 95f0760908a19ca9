import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  isSpecType,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY
} from "@modelcontextprotocol/server"
import { toolsByName } from "./Calls.ts"
import { callMethod } from "./Message.ts"
import { type DerivedTool, isPublish } from "./Tools.ts"
import { isObject } from "./Vocabulary.ts"

/** The revision whose answers to calls are one JSON body without a session or a stream. */
const version = "2026-07-28"

/** Headers of a request, by their names in lower case. */
export type SentHeaders = Readonly<Record<string, string | undefined>>

/** A call that the SDK would pass on to the tool unchanged. */
export interface PlainCall {
  readonly tool: DerivedTool
  readonly id: string | number
}

const hasOnly = (value: Readonly<Record<string, unknown>>, members: ReadonlyArray<string>) =>
  Object.keys(value).every((name) => members.includes(name))

const messageMembers = ["jsonrpc", "id", "method", "params"]
const paramsMembers = ["name", "arguments", "_meta"]
const metaMembers = [PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY]

/**
 * A call that needs nothing of the SDK: of the newest revision, complete, with nothing beside its arguments, and of a tool that
 * neither asks the user nor reports progress. Undefined: the SDK judges the message and answers it. The SDK takes about 270 µs of
 * processor time for a call (`npm run bench -- tool-calls`); a test compares the bytes of both.
 */
export const plainCallOf = (message: unknown, headers: SentHeaders): PlainCall | undefined => {
  if (headers["mcp-protocol-version"] !== version || headers["mcp-method"] !== callMethod) return undefined
  if (!isObject(message) || !hasOnly(message, messageMembers)) return undefined
  const { id, jsonrpc, method, params } = message
  if (jsonrpc !== "2.0" || method !== callMethod || !isObject(params) || !hasOnly(params, paramsMembers))
    return undefined
  if (typeof id !== "string" && !Number.isSafeInteger(id)) return undefined
  const { _meta: meta, arguments: args, name } = params
  if (headers["mcp-name"] !== name || (args !== undefined && !isObject(args))) return undefined
  if (!isObject(meta) || !hasOnly(meta, metaMembers) || meta[PROTOCOL_VERSION_META_KEY] !== version) return undefined
  if (!isSpecType.Implementation(meta[CLIENT_INFO_META_KEY])) return undefined
  if (!isSpecType.ClientCapabilities(meta[CLIENT_CAPABILITIES_META_KEY])) return undefined
  const tool = toolsByName.get(String(name))
  return tool === undefined || isPublish(tool) ? undefined : { tool, id: id as string | number }
}

type ServerInfo = Readonly<Record<string, string>>

const responseTo = (id: string | number, result: string) =>
  `{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`

/** The SDK's response for an answer. `json`: the answer's JSON, which stands in it twice, once as text. */
export const plainAnswer = (json: string, server: ServerInfo, id: string | number): string => {
  const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: server })
  return responseTo(
    id,
    `{"content":[{"type":"text","text":${JSON.stringify(json)}}],"structuredContent":${json},"resultType":"complete","_meta":${meta}}`
  )
}

/** The SDK's response for a refused call. */
export const plainRefusal = (
  { _meta, ...result }: { readonly _meta: Readonly<Record<string, unknown>>; readonly [member: string]: unknown },
  server: ServerInfo,
  id: string | number
): string =>
  responseTo(
    id,
    JSON.stringify({ _meta: { ..._meta, [SERVER_INFO_META_KEY]: server }, ...result, resultType: "complete" })
  )
