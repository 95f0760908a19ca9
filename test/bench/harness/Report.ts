import { cpus, totalmem } from "node:os"

/** A Markdown table; all columns except the first have numbers. */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map((_, column) => (column === 0 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n")

export const whole = (value: number): string => (Number.isFinite(value) ? Math.round(value).toLocaleString("en") : "–")

export const ratio = (value: number): string => value.toFixed(2)

/** The machine and the versions of a measurement. */
export const machine = (postgresVersion: string, command: string): string =>
  [
    `- Processor: ${cpus()[0]?.model ?? "unknown"}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `- Node ${process.versions.node}, PostgreSQL ${postgresVersion}; server, database and load on this one machine`,
    `- Run at ${new Date().toISOString().slice(0, 16)}Z by \`${command}\``
  ].join("\n")
