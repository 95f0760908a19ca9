import { isOpen, type Job, type JobState, jobKinds } from "../../jobs/Job.ts"
import { State } from "../Naming.tsx"

const stateWords: Readonly<Record<JobState, { readonly name: string; readonly tone: string }>> = {
  queued: { name: "Waiting", tone: "wait" },
  running: { name: "Running", tone: "wait" },
  paused: { name: "Paused", tone: "idle" },
  cancelled: { name: "Cancelled", tone: "idle" },
  failed: { name: "Failed", tone: "bad" },
  done: { name: "Done", tone: "good" }
}

/** Whether screen readers should read out the progress of the job. */
export const isUnderWay = (job: Job): boolean => isOpen(job) && job.state !== "paused"

/** A sentence about the job for screen readers. It changes with each tenth of the work, not with each item. */
export const progressWords = ({ done, state, title, total }: Job): string => {
  const tenths = total === null || total === 0 ? 0 : Math.min(10, Math.floor((10 * done) / total))
  return `${title}: ${stateWords[state].name}${state === "running" && tenths > 0 ? `, ${tenths}0 %` : ""}.`
}

export const JobStateOf = ({ state }: { readonly state: JobState }) => <State {...stateWords[state]} />

/** The progress of a job: a bar and its numbers. */
export const Progress = ({ job: { done, kind, state, title, total } }: { readonly job: Job }) => {
  const { items } = jobKinds[kind]
  const number = done.toLocaleString("en")
  if (state === "done" || total === null) return <span>{`${number} ${items}`}</span>
  const all = Math.max(total, done)
  return (
    <>
      <progress max={Math.max(all, 1)} value={done} aria-label={`Progress: ${title}`} />{" "}
      <span>{`${number} of ${all.toLocaleString("en")} ${items}`}</span>
    </>
  )
}
