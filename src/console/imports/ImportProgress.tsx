import { type ImportPhase, type ImportRun, plannedOf, type ReadingProgress } from "../../imports/Import.ts"
import type { Sentence, Words } from "../languages/Words.tsx"
import { withTimeLeft } from "../TimeLeft.ts"
import { useWords } from "../Viewer.tsx"

interface Shown {
  readonly text: string
  readonly done: number
  readonly total: number | null
}

const percentOf = (done: number, total: number) => `${Math.min(100, Math.floor((100 * done) / total))} %`

const stepWords: Readonly<Record<ReadingProgress["step"], Sentence>> = {
  checking: "Checking the file",
  fetching: "Reading the store",
  comparing: "Comparing with the catalog"
}

const readingOf = (t: Words, run: ImportRun, { done, seconds, step, total }: ReadingProgress): Shown => {
  const amount =
    total === null
      ? t("{count, plural, one {# record} other {# records}}", { count: done })
      : step === "checking"
        ? percentOf(done, total)
        : t(
            run.source === "csv"
              ? "{done, number} of {all, plural, one {# row} other {# rows}}"
              : "{done, number} of {all, plural, one {# record} other {# records}}",
            { done, all: total }
          )
  const text = t("{step}: {amount}", { step: t(stepWords[step]), amount })
  return { text: total === null ? text : withTimeLeft(t, text, { done, total, seconds }), done, total }
}

const shownOf = (t: Words, run: ImportRun, reading: ReadingProgress | undefined, now: number): Shown | undefined => {
  if (run.phase === "fetching") return reading === undefined ? undefined : readingOf(t, run, reading)
  if (run.phase !== "applying") return undefined
  const total = plannedOf(run.summary)
  const seconds = (now - Date.parse(run.updatedAt)) / 1_000
  const text = t("Applying: {done, number} of {all, number}", { done: run.applied, all: total })
  // The pace is unknown after a takeover, because `applied` also counts what was done before it.
  const shown = run.isPaused || run.wasTakenOver ? text : withTimeLeft(t, text, { done: run.applied, total, seconds })
  return { text: shown, done: run.applied, total }
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
  const t = useWords()

  const shown = shownOf(t, run, reading, now)
  if (shown === undefined) return null
  return (
    <p>
      {shown.total !== null && shown.total > 0 && (
        <progress
          max={shown.total}
          value={Math.min(shown.done, shown.total)}
          aria-label={t("Progress of the import")}
        />
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
  const t = useWords()

  const at = stepOf(run, reading)
  const names: ReadonlyArray<Sentence> =
    run.source === "csv"
      ? ["Uploaded", "Checked", "Compared", "Reviewed", "Applied"]
      : ["Started", "Read", "Compared", "Reviewed", "Applied"]
  return at === 0 ? null : (
    <ol class="steps" aria-label={t("Steps of the import")}>
      {names.map((name, index) => (
        <li
          key={name}
          class={index < at ? "done" : undefined}
          {...(index === at ? { "aria-current": "step" as const } : {})}
        >
          {t(name)}
          {index < at && <span class="spoken"> {t("(done)")}</span>}
        </li>
      ))}
    </ol>
  )
}

const phaseSentences: Readonly<Record<ImportPhase, Sentence>> = {
  fetching: "The import is being read.",
  reviewing: "The import waits for your review.",
  applying: "The import is being applied.",
  applied: "The import is applied.",
  discarded: "The import is discarded.",
  failed: "The import has failed."
}

/** A sentence for screen readers. It changes with each step and each tenth of it. */
export const progressSentence = (t: Words, run: ImportRun, reading: ReadingProgress | undefined): string => {
  if (run.isPaused) return t("The import is paused. The catalog is locked until you resume or cancel it.")
  const shown = shownOf(t, run, reading, Date.parse(run.updatedAt))
  if (shown === undefined) return t(phaseSentences[run.phase])
  const step = run.phase === "applying" || reading === undefined ? t("Applying") : t(stepWords[reading.step])
  const { done, total } = shown
  return total === null || total === 0
    ? t("{step}.", { step })
    : t("{step}: {percent, number} %.", { step, percent: Math.floor((10 * Math.min(done, total)) / total) * 10 })
}
