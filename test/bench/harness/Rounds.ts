import type { BenchCatalog } from "./Catalog.ts"
import { type ContenderName, type Servers, titles } from "./Contenders.ts"
import { measureCpu } from "./Cpu.ts"
import type { Load } from "./Load.ts"
import type { ServerProcess } from "./Processes.ts"
import { progress } from "./Progress.ts"
import { ratio, table, whole } from "./Report.ts"
import { median, spreadOf } from "./Statistics.ts"

/** The requests to one contender in a round, and the expected answers. */
export interface Asked {
  readonly targets: ReadonlyArray<string>
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  /** The expected length of the answer to each target. */
  readonly lengths: ReadonlyArray<number>
}

interface Round {
  readonly answersPerSecond: number
  /** Processor time per answer, in microseconds. */
  readonly serverMicros: number
  readonly databaseMicros: number
}

/** The rounds of each contender, in order. */
export type Rounds = ReadonlyMap<ContenderName, ReadonlyArray<Round>>

/** The minimum for the median of the catalog's ratios to a peer. */
export interface Target {
  readonly peer: ContenderName
  readonly atLeast: number
}

export const connections = 16

const measure = async (
  load: Load,
  catalog: BenchCatalog,
  name: ContenderName,
  server: ServerProcess,
  { headers = {}, lengths, status, targets }: Asked
): Promise<Round> => {
  const order = { url: server.url, token: catalog.token, connections, targets, headers, status, lengths }
  const [result, cpu] = await measureCpu(catalog, name, server, () => load.run(order))
  const { answers, bytes, elapsedMillis } = result
  if (answers !== targets.length || bytes !== lengths.reduce((sum, length) => sum + length, 0))
    throw new Error(`${answers} answers of ${bytes} bytes came back to ${targets.length} requests.`)
  return {
    answersPerSecond: (answers / elapsedMillis) * 1_000,
    serverMicros: (cpu.serverMillis / answers) * 1_000,
    databaseMicros: (cpu.databaseMillis / answers) * 1_000
  }
}

/** Contenders alternate round by round, after one warm-up round. */
export const alternate = async (
  load: Load,
  catalog: BenchCatalog,
  servers: Servers,
  asked: ReadonlyMap<ContenderName, Asked>,
  count: number
): Promise<Rounds> => {
  const rounds = new Map([...asked.keys()].map((name): [ContenderName, Array<Round>] => [name, []]))
  for (let number = 0; number <= count; number++) {
    for (const [name, question] of asked) {
      const round = await measure(load, catalog, name, servers[name], question)
      progress(`round ${number}, ${titles[name]}: ${whole(round.answersPerSecond)} answers/s`)
      if (number > 0) rounds.get(name)?.push(round)
    }
  }
  return rounds
}

const ratesOf = (rounds: Rounds, name: ContenderName) =>
  (rounds.get(name) ?? []).map(({ answersPerSecond }) => answersPerSecond)

/** The rates, and the catalog's ratios to the peers. */
export const tablesOf = (rounds: Rounds, targets: ReadonlyArray<Target>): string =>
  [
    table(
      ["", "answers/s, median", "min", "max", "CPU, µs an answer", "of PostgreSQL, µs an answer"],
      [...rounds].map(([name, all]) => {
        const { max, median: middle, min } = spreadOf(ratesOf(rounds, name))
        const cpu = median(all.map(({ serverMicros }) => serverMicros))
        const database = median(all.map(({ databaseMicros }) => databaseMicros))
        return [titles[name], whole(middle), whole(min), whole(max), whole(cpu), whole(database)]
      })
    ),
    table(
      ["ratio within a round", "median", "min", "max", "target", "met"],
      targets.map(({ atLeast, peer }) => {
        const peers = ratesOf(rounds, peer)
        const ratios = ratesOf(rounds, "ours").map((rate, index) => rate / (peers[index] ?? Number.NaN))
        const { max, median: middle, min } = spreadOf(ratios)
        const met = middle >= atLeast ? "yes" : "no"
        return [`${titles.ours} / ${titles[peer]}`, ratio(middle), ratio(min), ratio(max), `≥ ${ratio(atLeast)}`, met]
      })
    )
  ].join("\n\n")
