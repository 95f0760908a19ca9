import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, Layer, Logger, Redacted, Schedule } from "effect"
import { layerWatch } from "../../src/database/ClusterNodesRepo.ts"
import * as Database from "../../src/database/Database.ts"
import * as Distribution from "../../src/database/Distribution.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { signalChildren } from "../support/OwnServers.ts"
import { readNodes } from "../support/ReadNodes.ts"
import { query } from "../support/RunDatabases.ts"
import { isClusterThere, requireDistributed } from "../support/TestDatabase.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../", import.meta.url))
const script = `${root}test/support/citus.sh`

/** Whether suites that kill or add nodes can start a cluster of their own: TEST_CITUS_URL is set. */
export const canStart = isClusterThere && existsSync(process.env.CITUS_CLUSTER ?? `${root}../shared/citus/cluster`)

/** The line of docs/scale.md that begins with this command. */
export const commandOfPage = (command: string): string => {
  const lines = readFileSync(`${root}docs/scale.md`, "utf8").split("\n")
  const found = lines.filter((line) => line.startsWith(command))
  if (found.length !== 1) throw new Error(`docs/scale.md has ${found.length} lines that begin with "${command}"`)
  return String(found[0])
}

/** The nodes of a cluster: 0 is the coordinator. */
export interface OwnCluster {
  /** The database with distributed tables, on the coordinator. */
  readonly url: string
  readonly urlOf: (node: number) => string
  readonly addressOf: (node: number) => string
  /** Kills a node's postmaster with SIGKILL. */
  readonly kill: (node: number) => void
  /**
   * Stops all processes of a node, which then neither answer nor refuse. `SIGCONT` continues them. `backends`: all except the
   * postmaster, which goes on accepting connections.
   */
  readonly signal: (node: number, signal: "SIGSTOP" | "SIGCONT", processes?: "all" | "backends") => void
  /** Starts a node again. Processes of the killed server may keep its memory for a moment. */
  readonly start: (node: number) => Effect.Effect<void>
  /** Starts a worker that the coordinator does not know yet. */
  readonly addServer: (node: number) => Effect.Effect<void>
}

/**
 * A cluster of a coordinator and two workers that ends with the scope, with distributed tables. `fill` writes rows
 * before the tables are distributed.
 */
export const ownCluster = (fill: (url: string) => Promise<void> = async () => {}) =>
  Effect.gen(function* () {
    const directory = mkdtempSync(join(tmpdir(), "catalog-citus-"))
    const port = 15_000 + (process.pid % 2_000) * 5
    const command = (...words: ReadonlyArray<string>) =>
      Effect.promise(() => run("sh", [script, ...words], { env: { ...process.env, CITUS_PORT: String(port) } }))
    const asPostgres = (text: string) => Effect.promise(() => run("su", ["postgres", "-c", text]))
    const urlOf = (node: number) => `postgres://postgres@127.0.0.1:${port + node}/catalog`
    const postmasterOf = (node: number) =>
      Number(readFileSync(`${directory}/node${node}/postmaster.pid`, "utf8").split("\n")[0])
    const bin = "/usr/lib/postgresql/15/bin"
    yield* Effect.acquireRelease(command("up", directory), () =>
      Effect.gen(function* () {
        for (const node of [3])
          if (existsSync(`${directory}/node${node}`))
            yield* asPostgres(`${bin}/pg_ctl -s -m immediate -D ${directory}/node${node} stop || true`)
        yield* command("down", directory)
        rmSync(directory, { recursive: true, force: true })
      })
    )
    yield* Migrations.run.pipe(
      Effect.zipRight(Effect.promise(() => fill(urlOf(0)))),
      Effect.zipRight(Distribution.distribute),
      Effect.provide(Database.layerServer({ url: Redacted.make(urlOf(0)), maxConnections: 1 }))
    )
    yield* Effect.promise(() => requireDistributed(urlOf(0)))
    const cluster: OwnCluster = {
      url: urlOf(0),
      urlOf,
      addressOf: (node) => `127.0.0.1:${port + node}`,
      kill: (node) => process.kill(postmasterOf(node), "SIGKILL"),
      signal: (node, signal, processes = "all") => {
        const postmaster = postmasterOf(node)
        // The postmaster first: then it starts no further process.
        if (processes === "all") process.kill(postmaster, signal)
        signalChildren(postmaster, signal)
      },
      start: (node) =>
        Effect.tryPromise(() =>
          run("sh", [script, "start", String(node), directory], { env: { ...process.env, CITUS_PORT: String(port) } })
        ).pipe(Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 60 }), Effect.orDie, Effect.asVoid),
      addServer: (node) =>
        Effect.gen(function* () {
          const data = `${directory}/node${node}`
          yield* asPostgres(`${bin}/initdb -D ${data} -U postgres -A trust -E UTF8 --locale=C.UTF-8 > ${data}.init`)
          yield* asPostgres(
            `sed 's/^port = .*/port = ${port + node}/' ${directory}/node1/postgresql.conf > ${data}/postgresql.conf`
          )
          yield* asPostgres(`${bin}/pg_ctl -w -s -D ${data} -l ${data}.log start`)
          const maintenance = urlOf(node).replace(/catalog$/, "postgres")
          yield* Effect.promise(() => query(maintenance, "CREATE DATABASE catalog"))
          yield* Effect.promise(() => query(urlOf(node), "CREATE EXTENSION citus"))
        })
    }
    return cluster
  })

/** All services on the cluster. */
export const servicesOn = ({ url }: OwnCluster) =>
  ServicesOnDatabase.pipe(
    Layer.provideMerge(
      layerWatch(Effect.provide(readNodes, Database.layerServer({ url: Redacted.make(url), maxConnections: 1 })))
    ),
    Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 24 })),
    Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
    Layer.orDie
  )

/** Settings of a process of the service on the cluster, without request budgets that a test could use up. */
export const settingsOf = ({ url }: OwnCluster) => ({
  DATABASE_URL: url,
  SECRET_KEY: "c".repeat(64),
  RATE_LIMIT_PER_KEY: "999999",
  RATE_LIMIT_PER_ACCOUNT: "999999"
})

/** Planted fault: a worker acknowledges commits that its disk does not have yet. */
export const acknowledgeEarly = async ({ urlOf }: OwnCluster, node: number) => {
  const settings = ["synchronous_commit = off", "wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'"]
  for (const setting of settings) await query(urlOf(node), `ALTER SYSTEM SET ${setting}`)
  await query(urlOf(node), "SELECT pg_reload_conf()")
}
