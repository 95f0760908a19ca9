import type { DropOutcome, DropStatus } from "../../drops/Drop.ts"

/** The states of a drop in the words of a merchant. */
const statusWords: Readonly<Record<DropStatus, { readonly name: string; readonly tone: string }>> = {
  scheduled: { name: "Scheduled", tone: "wait" },
  applying: { name: "Being applied", tone: "wait" },
  applied: { name: "Applied", tone: "good" },
  failed: { name: "Failed", tone: "bad" },
  cancelled: { name: "Cancelled", tone: "idle" },
  reverted: { name: "Over", tone: "idle" }
}

const outcomeWords: Readonly<Record<DropOutcome, { readonly name: string; readonly tone: string }>> = {
  applied: { name: "Applied", tone: "good" },
  failed: { name: "Failed", tone: "bad" },
  reverted: { name: "Back to what it was", tone: "idle" },
  skipped: { name: "Left as it is: somebody edited it meanwhile", tone: "wait" }
}

const State = ({ name, tone }: { readonly name: string; readonly tone: string }) => (
  <span class={`state ${tone}`}>{name}</span>
)

export const Status = ({ status }: { readonly status: DropStatus }) => <State {...statusWords[status]} />

/** What has become of a change so far. */
export const Outcome = ({ outcome }: { readonly outcome: DropOutcome | null }) =>
  outcome === null ? <span class="quiet">nothing yet</span> : <span>{outcomeWords[outcome].name}</span>
