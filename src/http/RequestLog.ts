import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Actor } from "../model/Actor.ts"
import { measuring, metrics, readBeforeExport, type Series } from "../telemetry/Metrics.ts"
import { type RequestState, requestStateIn } from "./RequestState.ts"

/** Status of a request whose connection was closed before its answer was sent, as nginx counts it. */
const abandoned = 499

const standardMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** The surface that a route belongs to, by its path. */
const surfaceOfPath = (path: string): string => {
  if (path === "/mcp") return "mcp"
  if (path.startsWith("/api/")) return "rest"
  if (path.startsWith("/oauth/") || path.startsWith("/.well-known/")) return "oauth"
  return path === "/healthz" || path === "/readyz" ? "health" : "pages"
}

/** The series of one route. A request finds them by one look-up of the route, which is faster than by all labels. */
interface RouteSeries {
  readonly surface: string
  readonly seconds: Series
  readonly byStatus: Map<number, Map<string, Series>>
}

const noRoute = "none"
const byRoute = new Map<string, RouteSeries>()

const seriesOf = (route: string): RouteSeries => {
  const existing = byRoute.get(route)
  if (existing !== undefined) return existing
  const surface = route === noRoute ? noRoute : surfaceOfPath(route)
  const record = { surface, seconds: metrics.requestSeconds.of(surface, route), byStatus: new Map() }
  byRoute.set(route, record)
  return record
}

/** Counts a request. `route`: the pattern of its path, `none` if no path matches. */
const countRequest = (route: string, method: string, status: number, seconds: number) => {
  const series = seriesOf(route)
  let byMethod = series.byStatus.get(status)
  if (byMethod === undefined) {
    byMethod = new Map()
    series.byStatus.set(status, byMethod)
  }
  let requests = byMethod.get(method)
  if (requests === undefined) {
    const label = standardMethods.has(method) ? method : "other"
    requests = metrics.requests.of(series.surface, route, label, String(status))
    byMethod.set(method, requests)
  }
  requests.add(1)
  series.seconds.add(seconds)
}

/** A request that no handler saw, because Node's parser or a bound on connections refused it. `reason`: the code of its error. */
export interface UnreadRequest {
  readonly id: string
  readonly status: number
  readonly reason: string
}

export type NoteUnread = (request: UnreadRequest) => void

/** The line of a request in the access log. `bytes`: of the whole answer on the connection, head included. */
interface AccessLine {
  readonly status: number
  readonly millis: number
  readonly bytes: number
}

const callerOf = (actor: Actor): string => {
  switch (actor._tag) {
    case "Key":
      return `,"account":"${actor.accountId}","key":"${actor.keyId}"`
    case "Connection":
      return `,"account":"${actor.accountId}","connection":"${actor.connectionId}"`
    case "User":
      return `,"account":"${actor.accountId}","user":"${actor.userId}"`
    case "Cli":
      return `,"account":"${actor.accountId}"`
  }
}

let lastMillis = 0
let lastTime = ""

/** The time of day, written out once in a millisecond. */
const timeOf = (millis: number): string => {
  if (millis !== lastMillis) {
    lastMillis = millis
    lastTime = new Date(millis).toISOString()
  }
  return lastTime
}

/**
 * JSON without JSON.stringify, which takes twice the time: every value is a pattern, an id or a number of ours, except the
 * method, which Node's parser takes from a list of words. The path is not in it: it may have names, and a query has tokens and
 * search words.
 */
const lineOf = (state: RequestState | undefined, method: string, { bytes, millis, status }: AccessLine): string => {
  const caller = state === undefined ? undefined : (state.caller ?? state.actor)
  return `{"time":"${timeOf(Date.now())}","message":"request","id":"${state?.id ?? ""}","route":"${state?.route?.path ?? noRoute}","method":"${method}","status":${status},"ms":${Math.round(millis * 1_000) / 1_000},"bytes":${bytes}${caller === undefined ? "" : callerOf(caller)}}\n`
}

const unreadLineOf = ({ id, reason, status }: UnreadRequest): string =>
  `{"time":"${timeOf(Date.now())}","message":"request","id":"${id}","route":"${noRoute}","status":${status},"reason":"${reason}"}\n`

const flushMillis = 100
const flushLength = 16_384

/** Writes lines in groups: a write for each line would cost more than the line. */
const makeLines = (write: (text: string) => void) => {
  let lines = ""
  const flush = () => {
    if (lines === "") return
    const text = lines
    lines = ""
    write(text)
  }
  const timer = setInterval(flush, flushMillis).unref()
  process.once("exit", flush)
  return {
    add: (line: string) => {
      lines += line
      if (lines.length >= flushLength) flush()
    },
    stop: () => {
      clearInterval(timer)
      process.off("exit", flush)
      flush()
    }
  }
}

const startedAt = Symbol("startedAt")
const writtenBefore = Symbol("writtenBefore")

type Answer = ServerResponse & { [startedAt]?: number }
type Connection = Socket & { [writtenBefore]?: number }

/** Where the lines of the access log go. Undefined: there is none. */
export type WriteAccessLog = (text: string) => void

/**
 * Counts every request of a server and writes its line of the access log. This includes requests that are answered without the
 * library, answered late, or abandoned by their clients. All responses share one listener function. Returns a function that does the
 * same for a request without a response object.
 */
export const observeRequests = (server: Server, write: WriteAccessLog | undefined): NoteUnread => {
  const lines = write === undefined ? undefined : makeLines(write)
  let inFlight = 0
  let open = 0

  function closed(this: Answer) {
    inFlight--
    const request = this.req
    const state = requestStateIn(request)
    const millis = performance.now() - (this[startedAt] ?? 0)
    const status = this.writableFinished ? this.statusCode : abandoned
    const method = request.method ?? ""
    if (measuring.isOn) countRequest(state?.route?.path ?? noRoute, method, status, millis / 1_000)
    if (lines === undefined) return
    const socket: Connection = request.socket
    const written = socket.bytesWritten
    // Answers of a connection are sent one after the other.
    const bytes = written - (socket[writtenBefore] ?? 0)
    socket[writtenBefore] = written
    lines.add(lineOf(state, method, { status, millis, bytes }))
  }

  server.on("request", (_request: IncomingMessage, response: Answer) => {
    if (!measuring.isOn && lines === undefined) return
    inFlight++
    response[startedAt] = performance.now()
    response.on("close", closed)
  })
  server.on("connection", (socket) => {
    open++
    socket.once("close", () => open--)
  })
  const stop = readBeforeExport(() => {
    metrics.requestsInFlight.of().add(inFlight)
    metrics.connections.of().add(open)
  })
  server.once("close", () => {
    stop()
    lines?.stop()
  })
  return (request) => {
    countRequest(noRoute, "other", request.status, 0)
    lines?.add(unreadLineOf(request))
  }
}
