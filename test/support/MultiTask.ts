import pg from "pg"
import { allAccounts } from "../../src/database/PlannerHints.ts"
import { unnamedTables } from "../database/NamedAccounts.ts"

/**
 * Statements, by database, that query several shards of a cluster although they name the account for each table.
 * Statements of tests that read all accounts do not name it.
 */
const found = new Map<string, Set<string>>()

/** Statements, by database, that Citus runs in pieces. Recorded if the sessions of the database report messages of level `debug1`. */
const inPieces = new Map<string, Set<string>>()

export const statementsInPieces = (database: string): ReadonlyArray<string> => [...(inPieces.get(database) ?? [])]

/** A command that the coordinator sends to a node. */
interface RemoteCommand {
  readonly command: string
  /** Citus's own words: the node and the connection. */
  readonly connection: string
}

/** Commands to nodes, by database, in order. Recorded if `citus.log_remote_commands` is on in the sessions of the database. */
const remote = new Map<string, Array<RemoteCommand>>()

/** Takes the commands that were recorded so far. */
export const takeRemoteCommands = (database: string): ReadonlyArray<RemoteCommand> => {
  const commands = remote.get(database) ?? []
  remote.delete(database)
  return commands
}

let isRecording = false

/** Records the statements that Citus reports as multi-task, in all sessions that this process opens. */
export const recordMultiTask = (): void => {
  if (isRecording) return
  isRecording = true
  const { connect } = pg.Client.prototype
  // biome-ignore lint/suspicious/noExplicitAny: connect has two overloads, and both pass.
  pg.Client.prototype.connect = function (this: pg.Client, ...args: ReadonlyArray<any>): any {
    this.on("notice", ({ detail, message }) => {
      const issued = /^issuing (.*)$/s.exec(message ?? "")?.[1]
      if (issued !== undefined) {
        const commands = remote.get(this.database ?? "") ?? []
        commands.push({ command: issued, connection: detail ?? "" })
        remote.set(this.database ?? "", commands)
      }
      const isInPieces = message?.startsWith("generating subplan") === true
      if (!isInPieces && message !== "multi-task query about to be executed") return
      const query = (this as unknown as { readonly _activeQuery: { readonly text?: string } | null })._activeQuery
      const text = query?.text ?? ""
      const note = (texts: Map<string, Set<string>>) => {
        const database = this.database ?? ""
        texts.set(database, (texts.get(database) ?? new Set()).add(text))
      }
      if (isInPieces) return note(inPieces)
      if (!text.includes("account_id = $") || text.includes(allAccounts) || unnamedTables(text).length > 0) return
      note(found)
    })
    return connect.apply(this, args as never)
  }
}

/**
 * Database settings that make sessions report such statements. A generic plan, which Citus tries and discards, would
 * be reported too.
 */
export const reportMultiTask = ["citus.multi_task_query_log_level = 'notice'", "plan_cache_mode = 'force_custom_plan'"]

/** Throws if a statement of this database queried several shards. */
export const refuseMultiTask = (database: string): void => {
  const texts = [...(found.get(database) ?? [])]
  if (texts.length > 0) throw new Error(`Statements of one account that asked several shards:\n${texts.join("\n")}`)
}
