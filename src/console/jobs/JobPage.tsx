import { authorName, isOpen, type Job, jobKinds } from "../../jobs/Job.ts"
import type { JobCommand } from "../../jobs/Jobs.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { jobPath, paths } from "../Paths.ts"
import { Allowed } from "../Viewer.tsx"
import { JobStateOf, Progress, progressWords } from "./JobWords.tsx"

const buttons: ReadonlyArray<{
  readonly command: JobCommand
  readonly name: string
  readonly style: string
  readonly isShown: (job: Job) => boolean
}> = [
  { command: "pause", name: "Pause", style: "plain", isShown: (job) => isOpen(job) && job.state !== "paused" },
  { command: "resume", name: "Resume", style: "", isShown: ({ state }) => state === "paused" || state === "failed" },
  {
    command: "cancel",
    name: "Cancel the job",
    style: "danger",
    isShown: (job) => isOpen(job) && jobKinds[job.kind].whyUncancellable === null
  }
]

const Errors = ({ job: { error_count, errors } }: { readonly job: Job }) => (
  <section aria-labelledby="refused">
    <h2 id="refused">Refused</h2>
    <ul>
      {errors.map(({ item, message }, index) => (
        <li key={`${index} ${item}`}>
          <bdi>{item}</bdi>: {message}
        </li>
      ))}
    </ul>
    {error_count > errors.length && (
      <p class="quiet">{`And ${(error_count - errors.length).toLocaleString("en")} more.`}</p>
    )}
  </section>
)

/** `refusal`: why the last form was refused. */
export const JobPage = ({
  job,
  note,
  refusal,
  visitor
}: {
  readonly visitor: Visitor
  readonly job: Job
  readonly note?: string | undefined
  readonly refusal?: string
}) => (
  <Frame title={job.title} visitor={visitor} current={paths.jobs}>
    <nav class="trail" aria-label="Trail">
      <a href={paths.jobs}>All jobs</a>
    </nav>
    <Refusal text={refusal} />
    {note !== undefined && <Note>{note}</Note>}
    <Live id="job" on={[`job:${job.id}`]} says={progressWords(job)}>
      {job.problem !== null && (
        <Alert>
          <p>{job.problem.why}</p>
          <p>{job.problem.next}</p>
        </Alert>
      )}
      <div class="sheet">
        <dl>
          <dt>State</dt>
          <dd>
            <JobStateOf state={job.state} />
            {job.waiting_for !== null && <span class="quiet"> until {job.waiting_for}</span>}
          </dd>
          <dt>Progress</dt>
          <dd>
            <Progress job={job} />
          </dd>
          {Object.entries(job.result).flatMap(([name, count]) => [
            <dt key={`${name} name`}>{`${name.charAt(0).toUpperCase()}${name.slice(1)}`}</dt>,
            <dd key={name}>{count.toLocaleString("en")}</dd>
          ])}
          <dt>Begun</dt>
          <dd>
            <Time at={job.created_at} /> by <bdi>{authorName(job)}</bdi>
          </dd>
          {job.ended_at !== null && (
            <>
              <dt>Ended</dt>
              <dd>
                <Time at={job.ended_at} />
              </dd>
            </>
          )}
        </dl>
        <div class="buttons">
          <Allowed to="publish">
            {buttons
              .filter(({ isShown }) => isShown(job))
              .map(({ command, name, style }) => (
                <form method="post" action={paths.commandJob} key={command}>
                  <HiddenFields csrf={visitor.csrf} id={job.id} />
                  <input type="hidden" name="command" value={command} />
                  <button type="submit" class={style}>
                    {name}
                  </button>
                </form>
              ))}
          </Allowed>
          {isOpen(job) && <a href={jobPath(job.id)}>Look again</a>}
        </div>
      </div>
      {job.error_count > 0 && <Errors job={job} />}
    </Live>
  </Frame>
)
