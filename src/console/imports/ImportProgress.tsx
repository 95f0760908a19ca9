import { type ImportPhase, type ImportRun, plannedOf, type ReadingProgress } from "../../imports/Import.ts"

/** The time left is shown after this many seconds, and in these words. */
const minSeconds = 3

const timeLeft = (done: number, total: number, seconds: number): string => {
  if (seconds < minSeconds || done === 0 || done >= total) return ""
  const left = Math.ceil((seconds * (total - done)) / done)
  return left < 60 ? ", less than a minute left" : `, about ${Math.ceil(left / 60)} minutes left`
}

interface Shown {
  readonly text: string
  readonly done: number
  readonly total: number | null
}

const percentOf = (done: number, total: number) => `${Math.min(100, Math.floor((100 * done) / total))} %`

const stepWords: Readonly<Record<ReadingProgress["step"], string>> = {
  checking: "Checking the file",
  fetching: "Reading the store",
  comparing: "Comparing with the catalog"
}

const readingOf = (run: ImportRun, { done, seconds, step, total }: ReadingProgress): Shown => {
  const left = total === null ? "" : timeLeft(done, total, seconds)
  // A file is measured in bytes, a store in records.
  const isFile = run.source === "csv"
  const amount =
    total === null
      ? `${done.toLocaleString("en")} records`
      : isFile
        ? percentOf(done, total)
        : `${done.toLocaleString("en")} of ${total.toLocaleString("en")} records`
  return { text: `${stepWords[step]}: ${amount}${left}`, done, total }
}

const shownOf = (run: ImportRun, reading: ReadingProgress | undefined, now: number): Shown | undefined => {
  if (run.phase === "fetching") return reading === undefined ? undefined : readingOf(run, reading)
  if (run.phase !== "applying") return undefined
  const total = plannedOf(run.summary)
  const seconds = (now - Date.parse(run.updatedAt)) / 1_000
  const numbers = `${run.applied.toLocaleString("en")} of ${total.toLocaleString("en")}`
  return { text: `Applying: ${numbers}${timeLeft(run.applied, total, seconds)}`, done: run.applied, total }
}

/** A bar with the progress of the step that runs, its numbers, and the time left when it is known. */
export const ProgressOf = ({
  now,
  reading,
  run
}: {
  readonly run: ImportRun
  readonly reading: ReadingProgress | undefined
  readonly now: number
}) => {
  const shown = shownOf(run, reading, now)
  if (shown === undefined) return null
  return (
    <p>
      {shown.total !== null && shown.total > 0 && (
        <progress max={shown.total} value={Math.min(shown.done, shown.total)} aria-label="Progress of the import" />
      )}{" "}
      {shown.text}
    </p>
  )
}

/** The number of the current step, from 1; 5: all are done; 0: the import failed or was discarded. */
const stepOf = ({ phase }: ImportRun, reading: ReadingProgress | undefined): number => {
  switch (phase) {
    case "fetching":
      return reading?.step === "comparing" ? 2 : 1
    case "reviewing":
      return 3
    case "applying":
      return 4
    case "applied":
      return 5
    case "discarded":
    case "failed":
      return 0
  }
}

/** The steps of an import, the current one marked. Nothing for an import that failed or was discarded. */
export const StepsOf = ({
  reading,
  run
}: {
  readonly run: ImportRun
  readonly reading: ReadingProgress | undefined
}) => {
  const at = stepOf(run, reading)
  const names =
    run.source === "csv"
      ? ["Uploaded", "Checked", "Compared", "Reviewed", "Applied"]
      : ["Started", "Read", "Compared", "Reviewed", "Applied"]
  return at === 0 ? null : (
    <ol class="steps" aria-label="Steps of the import">
      {names.map((name, index) => (
        <li
          key={name}
          class={index < at ? "done" : undefined}
          {...(index === at ? { "aria-current": "step" as const } : {})}
        >
          {name}
          {index < at && <span class="spoken"> (done)</span>}
        </li>
      ))}
    </ol>
  )
}

const phaseSentences: Readonly<Record<ImportPhase, string>> = {
  fetching: "The import is being read.",
  reviewing: "The import waits for your review.",
  applying: "The import is being applied.",
  applied: "The import is applied.",
  discarded: "The import is discarded.",
  failed: "The import has failed."
}

/** A sentence for screen readers. It changes with each step and each tenth of it. */
export const progressSentence = (run: ImportRun, reading: ReadingProgress | undefined): string => {
  const shown = shownOf(run, reading, Date.parse(run.updatedAt))
  if (shown === undefined) return phaseSentences[run.phase]
  const what = run.phase === "applying" || reading === undefined ? "Applying" : stepWords[reading.step]
  const { done, total } = shown
  return total === null || total === 0
    ? `${what}.`
    : `${what}: ${Math.floor((10 * Math.min(done, total)) / total) * 10} %.`
}
