/** What the command line says. */
export interface Options {
  /** Rounds that count, after one that does not. */
  readonly rounds: number
}

export interface Outcome {
  /** Markdown. */
  readonly report: string
  readonly postgresVersion: string
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly run: (options: Options) => Promise<Outcome>
}
