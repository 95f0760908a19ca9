import type { Drop, DropOutcome, DropStatus } from "../../drops/Drop.ts"
import { State } from "../Naming.tsx"

const statusWords: Readonly<Record<DropStatus, { readonly name: string; readonly tone: string }>> = {
  scheduled: { name: "Scheduled", tone: "wait" },
  applying: { name: "Being applied", tone: "wait" },
  applied: { name: "Applied", tone: "good" },
  failed: { name: "Failed", tone: "bad" },
  cancelled: { name: "Cancelled", tone: "idle" },
  reverted: { name: "Ended", tone: "idle" }
}

const outcomeWords: Readonly<Record<DropOutcome, string>> = {
  applied: "Applied",
  failed: "Failed",
  reverted: "Restored",
  skipped: "Left alone: somebody edited it meanwhile"
}

/** A sentence about the drop for screen readers. */
export const statusSentence = ({ name, status }: Drop): string => `${name}: ${statusWords[status].name}.`

export const Status = ({ status }: { readonly status: DropStatus }) => <State {...statusWords[status]} />

export const Outcome = ({ outcome }: { readonly outcome: DropOutcome | null }) =>
  outcome === null ? <span class="quiet">not yet</span> : <span>{outcomeWords[outcome]}</span>
