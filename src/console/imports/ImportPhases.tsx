import { type ImportPhase, type ImportRun, plannedOf } from "../../imports/Import.ts"
import { State } from "../Naming.tsx"

const phaseWords: Readonly<Record<ImportPhase, { readonly name: string; readonly tone: string }>> = {
  fetching: { name: "Being read", tone: "wait" },
  reviewing: { name: "Under review", tone: "wait" },
  applying: { name: "Being applied", tone: "wait" },
  applied: { name: "Applied", tone: "good" },
  discarded: { name: "Discarded", tone: "idle" },
  failed: { name: "Failed", tone: "bad" }
}

export const PhaseOf = ({ phase }: { readonly phase: ImportPhase }) => <State {...phaseWords[phase]} />

/** Whether the source was read completely. An import that failed before that has no counts. */
export const isRead = ({ phase, summary }: ImportRun) =>
  phase !== "fetching" && (phase !== "failed" || plannedOf(summary) + summary.unchanged + summary.variants > 0)
