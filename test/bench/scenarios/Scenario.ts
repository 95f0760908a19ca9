/** Options from the command line. */
export interface Options {
  /** The number of measured rounds, after one warm-up round. */
  readonly rounds: number
}

export interface Outcome {
  /** The report, in Markdown. */
  readonly report: string
  readonly postgresVersion: string
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly run: (options: Options) => Promise<Outcome>
}
