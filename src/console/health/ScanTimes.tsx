import { Option } from "effect"
import type { LastScan } from "../../health/Health.ts"
import type { ScanSchedule } from "../../health/ScanSchedule.ts"
import type { Job } from "../../jobs/Job.ts"
import { Note, Time } from "../Frame.tsx"
import { jobPath } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { causeWords } from "./HealthWords.ts"

const Running = ({ job: { done, id, title, total } }: { readonly job: Job }) => {
  const t = useWords()
  const job = <a href={jobPath(id)}>{title}</a>
  return (
    <Note>
      {total === null
        ? t.rich(
            "The service is scanning now: {job}. A scan that you start shares its work: nothing is scanned twice.",
            { job }
          )
        : t.rich(
            "The service is scanning now: {job}, {done, number} of {all, number} checks are done. A scan that you start shares its work: nothing is scanned twice.",
            { job, done, all: total }
          )}
    </Note>
  )
}

/** When the last scan ended and why it was run, when the service scans next, and the scan that it runs now. */
export const ScanTimes = ({
  lastScan,
  schedule: { next, paused, running }
}: {
  readonly lastScan: Option.Option<LastScan>
  readonly schedule: ScanSchedule
}) => {
  const t = useWords()
  return (
    <>
      {Option.isSome(running) && <Running job={running.value} />}
      <p class="quiet">
        {Option.isSome(lastScan) && (
          <>
            {lastScan.value.cause === null
              ? t.rich("Last scan: {time}.", { time: <Time at={lastScan.value.at} /> })
              : t.rich("Last scan: {time}, {cause}.", {
                  time: <Time at={lastScan.value.at} />,
                  cause: t(causeWords[lastScan.value.cause])
                })}{" "}
          </>
        )}
        {Option.isSome(next)
          ? t.rich("Next nightly scan: {time}, if anything has changed by then.", { time: <Time at={next.value} /> })
          : Option.isSome(paused)
            ? t.rich("The nightly scans are <link>paused</link>.", {
                link: (words) => <a href={jobPath(paused.value.id)}>{words}</a>
              })
            : t("There are no nightly scans.")}
      </p>
    </>
  )
}
