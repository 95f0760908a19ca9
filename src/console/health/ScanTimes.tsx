import { Option } from "effect"
import type { LastScan } from "../../health/Health.ts"
import type { ScanSchedule } from "../../health/ScanSchedule.ts"
import { Note, Time } from "../Frame.tsx"
import { jobPath } from "../Paths.ts"
import { causeWords } from "./HealthWords.ts"

/** When the last scan ended and why it was run, when the service scans next, and the scan that it runs now. */
export const ScanTimes = ({
  lastScan,
  schedule: { next, paused, running }
}: {
  readonly lastScan: Option.Option<LastScan>
  readonly schedule: ScanSchedule
}) => (
  <>
    {Option.isSome(running) && (
      <Note>
        The service is scanning now: <a href={jobPath(running.value.id)}>{running.value.title}</a>
        {running.value.total !== null && `, ${running.value.done} of ${running.value.total} scans are done`}. A scan
        that you start shares its work: nothing is scanned twice.
      </Note>
    )}
    <p class="quiet">
      {Option.isSome(lastScan) && (
        <>
          Last scan: <Time at={lastScan.value.at} />
          {lastScan.value.cause !== null && `, ${causeWords[lastScan.value.cause]}`}.{" "}
        </>
      )}
      {Option.isSome(next) ? (
        <>
          Next nightly scan: <Time at={next.value} />, if anything has changed by then.
        </>
      ) : Option.isSome(paused) ? (
        <>
          The nightly scans are <a href={jobPath(paused.value.id)}>paused</a>.
        </>
      ) : (
        "There are no nightly scans."
      )}
    </p>
  </>
)
