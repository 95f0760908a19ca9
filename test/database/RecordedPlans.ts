import pg from "pg"

/** A node of an executed plan, in the JSON of EXPLAIN (ANALYZE, FORMAT JSON). */
interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Actual Rows"?: number
  readonly "Actual Loops"?: number
  readonly "Rows Removed by Filter"?: number
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** A statement that ran, also inside functions and triggers, with its plan. */
export interface RecordedPlan {
  readonly text: string
  readonly plan: PlanNode
}

/** From now on, every new session of the database reports the plan of each statement to its client. */
export const reportPlans = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const settings = {
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice"
  }
  try {
    for (const [name, value] of Object.entries(settings))
      await client.query(`ALTER DATABASE ${client.database} SET ${name} = '${value}'`)
  } finally {
    await client.end()
  }
}

const reported = /^duration: [\d.]+ ms {2}plan:\n(.+)$/s

/** Collects the plans that sessions of this process report, whichever code opened them. */
export const recordPlans = (): Array<RecordedPlan> => {
  const recorded: Array<RecordedPlan> = []
  const { connect } = pg.Client.prototype
  // biome-ignore lint/suspicious/noExplicitAny: connect has two overloads, and both pass.
  pg.Client.prototype.connect = function (this: pg.Client, ...args: ReadonlyArray<any>): any {
    this.on("notice", ({ message }) => {
      const [, json] = reported.exec(message ?? "") ?? []
      if (json === undefined) return
      const { Plan: plan, "Query Text": text } = JSON.parse(json)
      recorded.push({ text, plan })
    })
    return connect.apply(this, args as never)
  }
  return recorded
}

const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** The tables that a plan scans from end to end. */
export const scannedBy = ({ plan }: RecordedPlan): ReadonlyArray<string> =>
  nodesOf(plan).flatMap((node) =>
    node["Node Type"] === "Seq Scan" && node["Relation Name"] !== undefined ? [node["Relation Name"]] : []
  )

/** A plan as text: one line per node, with the rows that it returned and removed. */
export const outline = ({ plan }: RecordedPlan): string => {
  const lines = (node: PlanNode, depth: number): ReadonlyArray<string> => {
    const place = [node["Relation Name"], node["Index Name"]].filter((name) => name !== undefined).join(" by ")
    const rows = `${node["Actual Rows"] ?? 0} rows, ${node["Rows Removed by Filter"] ?? 0} removed`
    const line = `${"  ".repeat(depth)}${node["Node Type"]} ${place} (${rows}, ${node["Actual Loops"] ?? 0} times)`
    return [line, ...(node.Plans ?? []).flatMap((child) => lines(child, depth + 1))]
  }
  return lines(plan, 0).join("\n")
}

/** The largest number of rows that a node of the plan returned, in all its runs together. */
export const mostRows = ({ plan }: RecordedPlan): number =>
  Math.max(...nodesOf(plan).map((node) => (node["Actual Rows"] ?? 0) * (node["Actual Loops"] ?? 0)))
