import { Cause, Effect, Exit, Schedule } from "effect"
import type { ConnectionId, EntityId } from "../../src/model/Ids.ts"
import { type Answer, aConnectionTo, message, messageIn, type Result, send } from "../mcp/Connector.ts"
import { hangLimit } from "../support/HangLimit.ts"
import type { Tally } from "./AccountLoad.ts"

/** The address at which clients reach all processes. */
export const base = "http://catalog.example"

/** How long the accounts of a node may get 503 after the node is back. This requirement is the only duration that tests assert. */
export const recoveryMillis = 10_000

/** A process of the service. A killed one loses its requests. */
export interface ServedProcess {
  port: number
  isUp: boolean
}

/** When a worker was down. */
export interface WorkerState {
  isDown: boolean
  /** When it was started again. */
  upAt: number
  /** When the last request was sent that got 503 after the worker was started again; undefined: none. */
  refusedAt: number | undefined
  /** The longest write, in milliseconds, that went to the coordinator or to this worker without the service, and ended after a moment. */
  readonly slowestSince?: (moment: number) => number
}

/** An account that writes, publishes and reads over HTTP. */
export interface Client extends Tally {
  /** The token of a connection that may publish. */
  readonly connection: string
  readonly connectionId: ConnectionId
  readonly worker: WorkerState
  /** All products of the account; undefined: too many to read them in one page. */
  readonly entityIds: ReadonlySet<EntityId> | undefined
  /** The current draft revision; undefined: unknown since a write without an answer. */
  revision: number | undefined
  /** The highest draft revision that was seen. */
  seen: number
  /** Whether a write without an answer may still be carried out. */
  isUncertain: boolean
  published: number
  lostConnections: number
  conflicts: number
}

export const aClient = (tally: Tally, worker: WorkerState, entityIds: ReadonlySet<EntityId> | undefined) =>
  Effect.map(
    aConnectionTo(base, tally.accountId),
    ({ connectionId, token }): Client => ({
      ...tally,
      connection: token,
      connectionId,
      worker,
      entityIds,
      revision: undefined,
      seen: 0,
      isUncertain: true,
      published: 0,
      lostConnections: 0,
      conflicts: 0
    })
  )

const envelope = /^\{"error":\{"code":"unavailable","message":"[^"]+","request_id":"req_[0-9a-f-]+"\}\}$/

/** Notes a refusal with 503, which is wrong if the account's worker is up. Its text has the request's id, by which the log is searched. */
export const refuse = (
  client: Client,
  what: "refusedReads" | "refusedWrites",
  sentAt: number,
  { headers, text }: Pick<Answer, "headers" | "text">
) => {
  const { worker } = client
  client[what] += 1
  if (worker.isDown) return
  worker.refusedAt = Math.max(worker.refusedAt ?? 0, sentAt)
  if (sentAt > worker.upAt + recoveryMillis)
    client.wrong.push(
      `${what} after ${Math.round(performance.now() - sentAt)} ms, ${Math.round(sentAt - worker.upAt)} ms after its worker was up ` +
        `(slowest direct write: ${Math.round(worker.slowestSince?.(sentAt) ?? Number.NaN)} ms), ` +
        `${headers["x-request-id"]}: ${text}`
    )
}

/**
 * Sends a request to a process that is up. Undefined: the process was killed meanwhile. `mayBeCut`: whether the death of the account's
 * worker may cut the answer off.
 */
export const ask = (
  processes: ReadonlyArray<ServedProcess>,
  client: Client,
  sent: Parameters<typeof send>[1],
  mayBeCut = false
) =>
  Effect.gen(function* () {
    const up = processes.filter(({ isUp }) => isUp)
    const chosen = up[Math.floor(Math.random() * up.length)]
    if (chosen === undefined) return undefined
    const { port } = chosen
    const sentAt = performance.now()
    const exit = yield* Effect.exit(send(port, sent).pipe(Effect.timeout(hangLimit)))
    if (Exit.isSuccess(exit)) return exit.value
    client.lostConnections += 1
    const { isDown, upAt } = client.worker
    if (mayBeCut && (isDown || sentAt < upAt + recoveryMillis)) return undefined
    if (chosen.isUp && chosen.port === port) {
      const worker = isDown ? "while its worker was down" : `${Math.round(sentAt - upAt)} ms after its worker was up`
      client.wrong.push(
        `no answer to ${sent?.method ?? "POST"} ${sent?.path ?? "/mcp"} after ${Math.round(performance.now() - sentAt)} ms, ` +
          `sent ${worker}, at ${new Date().toTimeString().slice(0, 8)}: ${Cause.squash(exit.cause)}`
      )
    }
    return undefined
  })

export const toServer = { host: new URL(base).host }

/** Calls a tool. `lost`: without an answer, or refused with 503, so the outcome is unknown. */
export const call = (
  processes: ReadonlyArray<ServedProcess>,
  client: Client,
  name: string,
  args: unknown
): Effect.Effect<Result | "lost"> =>
  Effect.gen(function* () {
    const { body, headers } = message("modern", "tools/call", { name, arguments: args })
    const sentAt = performance.now()
    const answer = yield* ask(processes, client, {
      token: client.connection,
      body,
      headers: { ...headers, ...toServer }
    })
    if (answer === undefined) return "lost"
    if (answer.status === 503) {
      refuse(client, "refusedWrites", sentAt, answer)
      return "lost"
    }
    const { error, result } = answer.status === 200 ? messageIn(answer) : { error: answer.text, result: undefined }
    if (error !== undefined || result === undefined) {
      client.wrong.push(`${name} ${answer.status} ${JSON.stringify(error)}`)
      return "lost"
    }
    const code = Object.values((result as Result)._meta ?? {})[0]?.code
    if (result.isError !== true) return result
    if (code === "unavailable") {
      refuse(client, "refusedWrites", sentAt, answer)
      return "lost"
    }
    // A write without an answer was carried out after its revision was read.
    if (code === "revision_conflict" && client.isUncertain) client.conflicts += 1
    else client.wrong.push(`${name} ${code} ${result.content[0]?.text}`)
    return "lost"
  })

const see = (client: Client, revision: number) => {
  if (revision < client.seen) client.wrong.push(`draft_revision ${revision} after ${client.seen}`)
  client.seen = Math.max(client.seen, revision)
  client.revision = revision
}

const write = (processes: ReadonlyArray<ServedProcess>, client: Client) =>
  Effect.gen(function* () {
    if (client.revision === undefined) return
    client.begun += 1
    const number = client.begun
    const result = yield* call(processes, client, "update_master_attributes_v1", {
      master_id: client.entityId,
      draft_revision: client.revision,
      attributes: [{ key: "title", value: `w${number}` }]
    })
    if (result === "lost") {
      client.revision = undefined
      client.isUncertain = true
      return
    }
    client.acknowledged = number
    client.writes += 1
    client.isUncertain = false
    see(client, result.structuredContent.draft_revision)
  })

const publish = (processes: ReadonlyArray<ServedProcess>, client: Client) =>
  Effect.gen(function* () {
    if (client.revision === undefined) return
    const result = yield* call(processes, client, "publish_master_v1", {
      master_id: client.entityId,
      draft_revision: client.revision
    })
    if (result === "lost") client.revision = undefined
    else client.published += 1
  })

interface Row {
  readonly id: EntityId
  readonly title: string
  readonly draft_revision: number
}

interface Page {
  readonly data: ReadonlyArray<Row>
  readonly next_cursor: string | null
}

/** Reads a page of a list. Undefined: no answer, or 503. */
export const page = (processes: ReadonlyArray<ServedProcess>, client: Client, query: string) =>
  Effect.gen(function* () {
    const sentAt = performance.now()
    const path = `/api/v1/products?${query}`
    const answer = yield* ask(processes, client, { method: "GET", path, token: client.token, headers: toServer })
    if (answer === undefined) return undefined
    if (answer.status === 200) {
      client.reads += 1
      return JSON.parse(answer.text) as Page
    }
    if (answer.status === 503 && envelope.test(answer.text)) refuse(client, "refusedReads", sentAt, answer)
    else client.wrong.push(`read ${answer.status} ${answer.text}`)
    return undefined
  })

/** Reads the account's newest products, which must have every acknowledged write. */
const read = (processes: ReadonlyArray<ServedProcess>, client: Client, startedAt: string) =>
  Effect.gen(function* () {
    const { acknowledged, entityIds, seen } = client
    const found = yield* page(
      processes,
      client,
      entityIds === undefined ? `limit=250&updated_since=${startedAt}` : "limit=250"
    )
    if (found === undefined) return
    const row = found.data.find(({ id }) => id === client.entityId)
    if (row === undefined) return void client.wrong.push("a list without the product that is written")
    const number = Number(row.title.slice(1))
    if (number < acknowledged || number > client.begun)
      client.wrong.push(`read ${row.title} after w${acknowledged} was acknowledged`)
    if (row.draft_revision < seen) client.wrong.push(`read revision ${row.draft_revision} after ${seen}`)
    if (
      entityIds !== undefined &&
      (found.data.length !== entityIds.size || found.data.some(({ id }) => !entityIds.has(id)))
    )
      client.wrong.push(`a list of ${found.data.length} products instead of ${entityIds.size}`)
    see(client, row.draft_revision)
  })

/** Writes, reads and sometimes publishes until it is interrupted. */
export const working = (
  processes: ReadonlyArray<ServedProcess>,
  client: Client,
  { pauseMillis, startedAt }: { readonly pauseMillis: number; readonly startedAt: string }
) =>
  Effect.gen(function* () {
    // The accounts do not begin at the same moment.
    yield* Effect.sleep(Math.random() * pauseMillis)
    for (let turn = 0; !client.isPaused; turn++) {
      client.isWriting = true
      yield* write(processes, client)
      yield* read(processes, client, startedAt)
      if (turn % 4 === 0) yield* publish(processes, client)
      client.isWriting = false
      yield* Effect.sleep(pauseMillis)
    }
  })

/** Walks through all products of an account. The walk at the end of the time is completed. Each must have every product. Returns their number. */
export const walking = (
  processes: ReadonlyArray<ServedProcess>,
  client: Client,
  products: number,
  isOver: () => boolean
) =>
  Effect.gen(function* () {
    let walks = 0
    while (!isOver()) {
      const ids = new Set<EntityId>()
      const rows = new Set<string>()
      let cursor: string | null = ""
      let repeated = 0
      while (cursor !== null) {
        const found: Page | undefined = yield* page(
          processes,
          client,
          `limit=250${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
        )
        if (found === undefined) {
          yield* Effect.sleep("100 millis")
          continue
        }
        for (const { draft_revision, id } of found.data) {
          ids.add(id)
          if (rows.size === rows.add(`${id} ${draft_revision}`).size) repeated += 1
        }
        cursor = found.next_cursor
        yield* Effect.sleep("20 millis")
      }
      if (ids.size !== products || repeated > 0)
        client.wrong.push(`a walk had ${ids.size} of ${products} products, ${repeated} of its rows twice`)
      walks += 1
    }
    return walks
  })

/** Waits until the accounts have ended their turns. */
export const untilIdle = (clients: ReadonlyArray<Client>) =>
  Effect.void.pipe(
    Effect.repeat({ until: () => clients.every(({ isWriting }) => !isWriting), schedule: Schedule.spaced("50 millis") })
  )
