import { authorName, type Job } from "../../jobs/Job.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { jobPath, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { isUnderWay, JobStateOf, Progress, progressWords } from "./JobWords.tsx"

export const JobsPage = ({ jobs, visitor }: { readonly visitor: Visitor; readonly jobs: ReadonlyArray<Job> }) => {
  const t = useWords()
  return (
    <Frame title={t("Jobs")} visitor={visitor} current={paths.jobs}>
      <p>{t("Work that takes longer is done in the background, in steps. It can be paused between two steps.")}</p>
      <Live
        id="jobs"
        on={["job"]}
        says={jobs
          .filter(isUnderWay)
          .map((job) => progressWords(t, job))
          .join(" ")}
      >
        {jobs.length === 0 ? (
          <p class="quiet">{t("There are no jobs. Publishing all changes of a store begins one.")}</p>
        ) : (
          <Table
            name={t("The newest jobs")}
            columns={[t("Job"), t("State"), t("Progress"), t("Begun"), t("By")]}
            rows={jobs.map((job) => ({
              key: job.id,
              cells: [
                <a href={jobPath(job.id)}>{t.say(job.title)}</a>,
                <JobStateOf state={job.state} />,
                <Progress job={job} />,
                <Time at={job.created_at} />,
                <bdi>{t.say(authorName(job))}</bdi>
              ]
            }))}
          />
        )}
      </Live>
    </Frame>
  )
}
