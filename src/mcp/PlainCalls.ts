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

/** The protocol revision in which the answer to a tool call is one JSON body, without a session or a stream. */
const version = "2026-07-28"

/** Headers of a request by their lower-case names. */
export type SentHeaders = Readonly<Record<string, string | undefined>>

/** A tool call that the SDK would pass to the tool unchanged. */
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
 * Finds tool calls that can be answered without the SDK: of the newest revision, without unusual members, and to a tool that
 * neither asks the user nor reports progress. Undefined: the SDK checks and answers the message. The SDK takes about 270 µs of
 * processor time per call (`npm run bench -- tool-calls`). A test compares the bytes of both answers.
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

/** The response that the SDK would send for an answer. It includes the answer's `json` twice: as text and as an object. */
export const plainAnswer = (json: string, server: ServerInfo, id: string | number): string => {
  const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: server })
  return responseTo(
    id,
    `{"content":[{"type":"text","text":${JSON.stringify(json)}}],"structuredContent":${json},"resultType":"complete","_meta":${meta}}`
  )
}

/** The response that the SDK would send for a refused call. */
export const plainRefusal = (
  { _meta, ...result }: { readonly _meta: Readonly<Record<string, unknown>>; readonly [member: string]: unknown },
  server: ServerInfo,
  id: string | number
): string =>
  responseTo(
    id,
    JSON.stringify({ _meta: { ..._meta, [SERVER_INFO_META_KEY]: server }, ...result, resultType: "complete" })
  )
