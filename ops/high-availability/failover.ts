/**
 * Starts a highly available database on this machine and the service in front of it, takes the primary away under load, and
 * checks what clients got. README.md explains it; --help lists the options.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import build from "../../test/support/Build.ts"
import { serveCatalog } from "../../test/support/CommandLine.ts"
import { Cluster, installation, missingCommands, until } from "./Cluster.ts"
import { Load, type LoadVerdict, type Seen } from "./Load.ts"

/** Something that happens to the database machines under load. */
interface Scenario {
  readonly title: string
  /** Settings that Patroni's members share for this scenario, beside those of patroni.yml. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Does the harm. Answers how it is repaired. */
  readonly strike: (cluster: Cluster) => Promise<() => void>
  /** Seconds before the repair, also while writes fail. Without it the repair waits for the first successful write. */
  readonly repairAfter?: number
  /** No write that begins before the repair may succeed. */
  readonly refusesWrites?: true
}

/** Seconds that a write may take to succeed again before the script gives up. */
const patienceSeconds = 120

const kill = async (cluster: Cluster) => {
  const primary = await cluster.primary()
  primary.signal("SIGKILL")
  return () => primary.start()
}

const killReplicas = async (cluster: Cluster) => {
  const primary = await cluster.primary()
  const replicas = cluster.nodes.filter((node) => node !== primary)
  for (const node of replicas) node.signal("SIGKILL")
  return () => {
    for (const node of replicas) node.start()
  }
}

const scenarios: Readonly<Record<string, Scenario>> = {
  kill: { title: "PostgreSQL and Patroni of the primary are killed", strike: kill },
  stop: {
    title: "PostgreSQL and Patroni of the primary stand still (SIGSTOP), and wake up later",
    strike: async (cluster) => {
      const primary = await cluster.primary()
      primary.signal("SIGSTOP")
      return () => primary.signal("SIGCONT")
    }
  },
  patroni: {
    title: "Only Patroni of the primary stands still; its PostgreSQL goes on",
    strike: async (cluster) => {
      const primary = await cluster.primary()
      primary.signalPatroni("SIGSTOP")
      return () => primary.signalPatroni("SIGCONT")
    }
  },
  lag: {
    title: "The primary sends nothing to its replicas for 2 s, then is killed",
    strike: async (cluster) => {
      const primary = await cluster.primary()
      primary.stopWalSenders()
      await sleep(2_000)
      primary.signal("SIGKILL")
      return () => primary.start()
    }
  },
  switchover: {
    title: "The operator moves the primary (switchover)",
    strike: async (cluster) => {
      const [primary, standby] = [await cluster.primary(), await cluster.synchronousStandby()]
      void primary.ask("switchover", "POST", { leader: primary.name, candidate: standby.name })
      return () => {}
    }
  },
  replicas: { title: "Both replicas are killed", strike: killReplicas, repairAfter: 30 },
  strict: {
    title: "Both replicas are killed, with synchronous_mode_strict",
    settings: { synchronous_mode_strict: true },
    strike: killReplicas,
    repairAfter: 30,
    refusesWrites: true
  }
}

const usage = `node --import tsx ops/high-availability/failover.ts [OPTION...] [SCENARIO...]

Runs etcd, three PostgreSQL servers under Patroni, HAProxy and the service in a temporary folder, on free ports of this machine.
Takes about two minutes, and one more for each scenario.
Exit code 0: every check held. 1: one did not. 2: wrong arguments. 3: packages are missing.

Scenarios (default: kill stop):
${Object.entries(scenarios)
  .map(([name, { title }]) => `  ${name.padEnd(12)} ${title}`)
  .join("\n")}

--asynchronous   replicas acknowledge nothing: \`lag\` must then find lost writes, and the script ends with 1
--within N       seconds within which writes and reads must work again (default 30; 0: any)
--keep           keep the temporary folder, with all logs`

interface Outcome {
  readonly name: string
  readonly seen: ReadonlyArray<Seen>
  readonly struckAt: number
  readonly verdict: LoadVerdict
  /** Checks that did not hold. */
  readonly faults: ReadonlyArray<string>
}

/** Seconds from the end of the first failure to the end of the first success that began after it; 0: nothing failed. */
const outageOf = (kind: Seen["kind"], seen: ReadonlyArray<Seen>): number => {
  const own = seen.filter((one) => one.kind === kind)
  const failed = own.find(({ status }) => status !== 200)
  if (failed === undefined) return 0
  const success = own.find(({ began, status }) => status === 200 && began >= failed.ended)
  return success === undefined ? Number.POSITIVE_INFINITY : (success.ended - failed.ended) / 1_000
}

/** Seconds from the strike to the end of the last failure; 0: nothing failed. */
const lastFailureOf = (kind: Seen["kind"], { seen, struckAt }: Outcome): number => {
  const last = seen.findLast((one) => one.kind === kind && one.status !== 200)
  return last === undefined ? 0 : (last.ended - struckAt) / 1_000
}

const count = (seen: ReadonlyArray<Seen>, status: number) => seen.filter((one) => one.status === status).length

/** Acknowledged writes that began and ended in this time, in milliseconds of performance.now(). */
const acknowledgedBetween = (seen: ReadonlyArray<Seen>, from: number, to: number): number =>
  seen.filter(({ began, ended, kind, status }) => kind === "write" && status === 200 && began > from && ended < to)
    .length

const faultsOf = (
  { seen, verdict }: Pick<Outcome, "seen" | "verdict">,
  withinSeconds: number
): ReadonlyArray<string> => {
  const wrong = seen.flatMap((one) => (one.wrong === undefined ? [] : [`${one.kind}: ${one.wrong}`]))
  const counts = {
    "answers that are neither 200 nor a 503 in the form of the API": wrong.length,
    "acknowledged writes lost, in products": verdict.lost.length,
    "products with half a write": verdict.half.length,
    "products with a write that nobody began": verdict.unexplained.length,
    "products that a walk skipped": verdict.skipped.length,
    "products that a walk repeated": verdict.repeated.length,
    "products whose last copy is stale": verdict.stale.length,
    "products that were delivered and do not exist": verdict.phantom.length
  }
  const slow = (["write", "read"] as const).filter((kind) => withinSeconds > 0 && outageOf(kind, seen) > withinSeconds)
  return [
    ...Object.entries(counts).flatMap(([name, number]) => (number > 0 ? [`${name}: ${number}`] : [])),
    ...wrong.slice(0, 3),
    ...slow.map((kind) => `${kind}s failed for more than ${withinSeconds} s`)
  ]
}

const enough = 100

/** Runs the load through one scenario, from a whole cluster to a whole cluster. */
const run = async (
  cluster: Cluster,
  service: Awaited<ReturnType<typeof serveCatalog>>,
  name: string,
  { refusesWrites, repairAfter, settings, strike }: Scenario,
  options: { readonly isAsynchronous: boolean; readonly withinSeconds: number }
): Promise<Outcome> => {
  const progress = (text: string) => process.stderr.write(`${name}: ${text}\n`)
  await cluster.configure({
    synchronous_mode: !options.isAsynchronous,
    synchronous_mode_strict: false,
    // Asynchronous replicas may become the primary whatever they lack: that is what this variant shows.
    ...(options.isAsynchronous && { maximum_lag_on_failover: 2 ** 30 }),
    ...settings
  })
  await cluster.whole(120, !options.isAsynchronous)
  const load = await Load.start(cluster.databaseUrl, service.baseUrl)
  await until("writes before the strike", 60, () => load.acknowledged >= enough)
  const before = await cluster.primary()
  progress(`strikes; ${before.name} is the primary`)
  const struckAt = performance.now()
  const repair = await strike(cluster)
  const brokenAt = performance.now()
  if (repairAfter === undefined) {
    await until("another primary", patienceSeconds, async () => (await cluster.primaryName(before)) !== undefined)
    const promotedAt = performance.now()
    await until("writes and reads after the strike", patienceSeconds, () =>
      (["write", "read"] as const).every((kind) => load.successAfter(kind, promotedAt) !== undefined)
    )
    progress(`${await cluster.primaryName(before)} is the primary, and writes succeed`)
    await sleep(3_000)
  } else await sleep(repairAfter * 1_000)
  const repairedAt = performance.now()
  repair()
  await cluster.whole(120, !options.isAsynchronous)
  const acknowledged = load.acknowledged
  await until("writes after the repair", 60, () => load.acknowledged >= acknowledged + enough)
  progress("a primary and two replicas again; compares")
  const verdict = await load.stop()
  const { seen } = load
  const unreplicated = refusesWrites === true ? acknowledgedBetween(seen, brokenAt, repairedAt) : 0
  const faults = [
    ...faultsOf({ seen, verdict }, refusesWrites === true ? 0 : options.withinSeconds),
    ...(unreplicated > 0 ? [`writes acknowledged that no replica has: ${unreplicated}`] : [])
  ]
  return { name, seen, struckAt, verdict, faults }
}

const seconds = (value: number) => (value === 0 ? "none" : `${value.toFixed(1)} s`)

const table = (outcomes: ReadonlyArray<Outcome>): string => {
  const head = [
    "scenario",
    "writes acknowledged",
    "lost",
    "reads",
    "walks",
    "skipped or repeated",
    "503",
    "other errors",
    "writes fail for",
    "reads fail for",
    "last failure after"
  ]
  const rows = outcomes.map((outcome) => {
    const { name, seen, verdict } = outcome
    const { acknowledged, lost, repeated, skipped, walks } = verdict
    return [
      name,
      acknowledged,
      lost.length,
      count(
        seen.filter(({ kind }) => kind === "read"),
        200
      ),
      walks,
      skipped.length + repeated.length,
      count(seen, 503),
      seen.filter(({ wrong }) => wrong !== undefined).length,
      seconds(outageOf("write", seen)),
      seconds(outageOf("read", seen)),
      seconds(Math.max(lastFailureOf("write", outcome), lastFailureOf("read", outcome)))
    ]
  })
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
}

const main = async (
  chosen: ReadonlyArray<readonly [string, Scenario]>,
  options: { readonly isAsynchronous: boolean; readonly withinSeconds: number; readonly keep: boolean }
): Promise<number> => {
  const closings: Array<() => void> = []
  const close = () => {
    for (const closing of closings.splice(0).reverse()) closing()
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => {
      close()
      process.exit(130)
    })
  try {
    await build()
    const cluster = await Cluster.open()
    closings.push(() => cluster.close(options.keep))
    process.stderr.write(`Starts the database machines in ${cluster.folder}\n`)
    await cluster.whole(120, true)
    await cluster.createDatabase()
    const service = await serveCatalog(
      {
        DATABASE_URL: cluster.databaseUrl,
        LOG_FORMAT: "logfmt",
        RATE_LIMIT_PER_KEY: "999999",
        RATE_LIMIT_PER_ACCOUNT: "999999"
      },
      (output, child) =>
        closings.push(() => {
          writeFileSync(join(cluster.folder, "service.log"), output.stderr)
          child.kill("SIGKILL")
        })
    )
    let hasEnded = false
    void service.ended.then(() => {
      hasEnded = true
    })
    const outcomes: Array<Outcome> = []
    for (const [name, scenario] of chosen) outcomes.push(await run(cluster, service, name, scenario, options))
    process.stdout.write(`${table(outcomes)}\n`)
    const faults = [
      ...outcomes.flatMap(({ faults, name }) => faults.map((fault) => `${name}: ${fault}`)),
      ...(hasEnded ? ["the service ended"] : [])
    ]
    for (const fault of faults) process.stdout.write(`NOT AS IT SHOULD BE: ${fault}\n`)
    return faults.length === 0 ? 0 : 1
  } finally {
    close()
  }
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    asynchronous: { type: "boolean", default: false },
    within: { type: "string", default: "30" },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", default: false }
  }
})
const names = positionals.length === 0 ? ["kill", "stop"] : positionals
const chosen = names.flatMap((name) => {
  const scenario = scenarios[name]
  return scenario === undefined ? [] : [[name, scenario] as const]
})
const withinSeconds = Number(values.within)
const missing = missingCommands()

if (values.help || chosen.length < names.length || !(withinSeconds >= 0)) {
  process.stderr.write(`${usage}\n`)
  process.exitCode = values.help ? 0 : 2
} else if (missing.length > 0) {
  process.stderr.write(`Missing: ${missing.join(", ")}. On Debian 12: ${installation}\n`)
  process.exitCode = 3
} else {
  process.exitCode = await main(chosen, { isAsynchronous: values.asynchronous, withinSeconds, keep: values.keep })
}
