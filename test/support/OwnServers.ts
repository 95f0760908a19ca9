import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import { freePort } from "./FreePort.ts"
import { query } from "./RunDatabases.ts"

const binaries = "/usr/lib/postgresql/15/bin"

export const run = (command: string, args: ReadonlyArray<string>) =>
  execFileSync(command, args, { stdio: ["ignore", "pipe", "pipe"] }).toString()

/** As the user postgres: a server refuses to run as root. */
const asPostgres = (command: string, ...args: ReadonlyArray<string>) =>
  run("setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", command, ...args])

/** Why no server can be started here; undefined: one can. */
export const noServer =
  process.getuid?.() !== 0
    ? "it needs root, to run servers as the user postgres"
    : existsSync(join(binaries, "initdb"))
      ? undefined
      : `there is no ${binaries}/initdb`

/** Creates the files of a server. */
export const initialize = (data: string, ...options: ReadonlyArray<string>) =>
  asPostgres(`${binaries}/initdb`, "-D", data, "-A", "trust", "-E", "UTF8", "-N", ...options)

/** Starts a server on its port, without flushes to the disk. */
export const start = (data: string, port: number, options = "", log = `${data}.log`) => {
  const all = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off ${options}`
  asPostgres(`${binaries}/pg_ctl`, "-D", data, "-w", "-l", log, "-o", all, "start")
}

export const stop = (data: string) => asPostgres(`${binaries}/pg_ctl`, "-D", data, "-m", "immediate", "stop")

export const urlOn = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`

const postmasterOf = (data: string) => Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])

/** Signals the processes that a server's postmaster has started. */
export const signalChildren = (postmaster: number, signal: NodeJS.Signals) => {
  for (const pid of readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").match(/\d+/g) ?? [])
    try {
      process.kill(Number(pid), signal)
    } catch {
      // It ended meanwhile.
    }
}

/** A server and a streaming replica of it, made by pg_basebackup. `replayDelayMillis`: the replica applies commits so much later. */
export const replicatedServer = (replayDelayMillis: number) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const made = mkdtempSync(join(tmpdir(), "catalog-replica-"))
        run("chown", ["postgres:postgres", made])
        return made
      }),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    const started = (data: string, options?: string) =>
      Effect.acquireRelease(
        Effect.promise(async () => {
          const port = await freePort()
          start(data, port, options)
          return port
        }),
        () => Effect.sync(() => existsSync(join(data, "postmaster.pid")) && stop(data))
      )
    const [primary, data] = [join(folder, "primary"), join(folder, "replica")]
    initialize(primary)
    const port = yield* started(primary)
    const from = ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres"]
    asPostgres(`${binaries}/pg_basebackup`, ...from, "-D", data, "-R", "-X", "stream", "-c", "fast")
    const options = `-c recovery_min_apply_delay=${replayDelayMillis}ms`
    const replicaPort = yield* started(data, options)
    const url = urlOn(port)
    const readUrl = urlOn(replicaPort)

    /** Signals all processes of the replica: none of them is left to answer. */
    const signal = (name: "SIGSTOP" | "SIGCONT") =>
      Effect.sync(() => {
        const postmaster = postmasterOf(data)
        process.kill(postmaster, name)
        signalChildren(postmaster, name)
      })

    return {
      url,
      readUrl,
      /** A statement on the replica. */
      onReplica: (text: string) => Effect.promise(() => query(readUrl, text)),
      /** Waits until the replica has replayed all that the primary has committed. */
      caughtUp: Effect.gen(function* () {
        const [now] = yield* Effect.promise(() => query(url, "SELECT pg_current_wal_lsn()::text AS lsn"))
        const text = `SELECT pg_last_wal_replay_lsn() >= '${now?.lsn}' AS done`
        yield* Effect.promise(() => query(readUrl, text)).pipe(
          Effect.repeat({ until: ([row]) => row?.done === true, schedule: Schedule.spaced("20 millis") })
        )
      }),
      freeze: signal("SIGSTOP"),
      thaw: signal("SIGCONT"),
      kill: Effect.promise(async () => {
        const postmaster = postmasterOf(data)
        process.kill(postmaster, "SIGKILL")
        // Its other processes end by themselves.
        while (existsSync(`/proc/${postmaster}`)) await new Promise((resume) => setTimeout(resume, 20))
        rmSync(join(data, "postmaster.pid"))
      }),
      restart: Effect.sync(() => start(data, replicaPort, options)).pipe(
        Effect.sandbox,
        // Processes of the killed server may keep its memory for a moment.
        Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 60 }),
        Effect.orDie
      ),
      promote: Effect.sync(() => asPostgres(`${binaries}/pg_ctl`, "-D", data, "-w", "promote"))
    }
  })
