import { Schema } from "effect"
import { isOpen, type Job, JobCount, type JobKindName, type JobState } from "../../jobs/Job.ts"
import type { Sentence, Words } from "../languages/Words.tsx"
import { State } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"

const stateWords: Readonly<Record<JobState, { readonly name: Sentence; readonly tone: string }>> = {
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
export const progressWords = (t: Words, { done, state, title, total }: Job): string => {
  const tenths = total === null || total === 0 ? 0 : Math.min(10, Math.floor((10 * done) / total))
  const words = { job: title, state: t(stateWords[state].name) }
  return state === "running" && tenths > 0
    ? t("{job}: {state}, {percent, number} %.", { ...words, percent: 10 * tenths })
    : t("{job}: {state}.", words)
}

export const JobStateOf = ({ state }: { readonly state: JobState }) => <State {...stateWords[state]} />

/** The number of items that a job has done, by its kind. */
const items: Sentence = "{done, plural, one {# item} other {# items}}"
const doneWords: Readonly<Record<JobKindName, Sentence>> = {
  bulk_change: items,
  store_unlink: items,
  store_link: items,
  publish_waiting: items,
  publish_selected: items,
  publish_cancel: items,
  account_deletion: "{done, plural, one {# row} other {# rows}}",
  export: "{done, plural, one {# product} other {# products}}",
  health_scan: "{done, plural, one {# check} other {# checks}}",
  import: "{done, plural, one {# change} other {# changes}}"
}

const itemsOf: Sentence = "{done, number} of {all, plural, one {# item} other {# items}}"
const progressOf: Readonly<Record<JobKindName, Sentence>> = {
  bulk_change: itemsOf,
  store_unlink: itemsOf,
  store_link: itemsOf,
  publish_waiting: itemsOf,
  publish_selected: itemsOf,
  publish_cancel: itemsOf,
  account_deletion: "{done, number} of {all, plural, one {# row} other {# rows}}",
  export: "{done, number} of {all, plural, one {# product} other {# products}}",
  health_scan: "{done, number} of {all, plural, one {# check} other {# checks}}",
  import: "{done, number} of {all, plural, one {# change} other {# changes}}"
}

/** The names of the counts in the result of a job. */
const countWords: Readonly<Record<JobCount, Sentence>> = {
  requested: "Requested",
  published: "Published",
  cancelled: "Cancelled",
  failed: "Failed",
  incomplete: "Incomplete",
  refused: "Refused",
  new: "New",
  changed: "Changed",
  unchanged: "Unchanged",
  removed: "Removed"
}

const isCount = Schema.is(JobCount)

/** A name that only another version of the service knows is shown as it is. */
export const countName = (t: Words, name: string): string => (isCount(name) ? t(countWords[name]) : name)

/** The progress of a job: a bar and its numbers. */
export const Progress = ({ job: { done, kind, state, title, total } }: { readonly job: Job }) => {
  const t = useWords()

  if (state === "done" || total === null) return <span>{t(doneWords[kind], { done })}</span>
  const all = Math.max(total, done)
  return (
    <>
      <progress max={Math.max(all, 1)} value={done} aria-label={t("Progress: {job}", { job: title })} />{" "}
      <span>{t(progressOf[kind], { done, all })}</span>
    </>
  )
}
