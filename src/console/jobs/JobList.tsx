import { Effect, Either, Schema } from "effect"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { Job, JobState } from "../../jobs/Job.ts"
import { type JobCommand, Jobs } from "../../jobs/Jobs.ts"
import { JobId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { PublishJobs } from "../../publishing/PublishJobs.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import {
  decoded,
  idInPath,
  idOf,
  makePageHandlers,
  noteOf,
  type PageServices,
  queryOf,
  roleRefusal
} from "../PageHandlers.ts"
import { jobPath, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { shorten } from "../Wording.tsx"
import { JobPage, mayCommand } from "./JobPage.tsx"
import { JobsPage } from "./JobsPage.tsx"

const routes = {
  list: ["GET", paths.jobs, refuseOnPage, "view"],
  show: ["GET", paths.job, refuseOnPage, "view"],
  command: ["POST", paths.commandJob, refuseOnPage, "edit", "batch"]
} as const

/** A job with the name of its store in the title. The command line knows stores by their domains. */
const withStoreName =
  (stores: ReadonlyArray<Store>) =>
  (job: Job): Job => {
    const store = stores.find(({ domain }) => job.title.endsWith(` ${domain}`))
    return store === undefined
      ? job
      : { ...job, title: `${job.title.slice(0, -store.domain.length)}${shorten(store.name, 60)}` }
  }

const CommandForm = Schema.Struct({ command: Schema.Literal("pause", "resume", "cancel") })

/** The parameter `note` if a form was to begin another job, while this one works on the store. */
export const otherJobNote = "other"

const notes: Readonly<Record<string, string>> = {
  pause: "The job is paused. Finished steps are not undone.",
  resume: "The job continues after its last finished step.",
  cancel: "The job is cancelled. Finished steps are not undone.",
  [otherJobNote]: "This job works on the store already, so no other job was begun. Try again when it has ended."
}

/**
 * For each command: the states that it leads to. If a form is sent twice, the second one finds the job in such a state
 * and is not an error.
 */
const results: Readonly<Record<JobCommand, ReadonlyArray<JobState>>> = {
  pause: ["paused"],
  resume: ["queued", "running", "done"],
  cancel: ["cancelled"]
}

/** The list of an account's jobs, and the page of one job, with forms to pause, resume and cancel it. */
export const jobList: Surface<Jobs | PublishJobs | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const stores = yield* Stores
    const { withOutcomes } = yield* PublishJobs
    const { asWatcher, withForm } = yield* makePageHandlers

    const naming = Effect.map(stores.list, withStoreName)
    const toShow = (job: Job) => Effect.zipWith(withOutcomes(job), naming, (shown, withName) => withName(shown))

    return {
      list: asWatcher((visitor) =>
        Effect.zipWith(jobs.list, naming, (list, withName) =>
          html(visitor, <JobsPage visitor={visitor} jobs={list.map(withName)} />)
        )
      ),
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const job = yield* toShow(yield* jobs.get(yield* idInPath(JobId, request)))
          return html(
            visitor,
            <JobPage visitor={visitor} job={job} note={noteOf(notes, queryOf(request).get("note"))} />
          )
        })
      ),
      command: withForm((visitor, form) =>
        Effect.gen(function* () {
          const id = yield* idOf(JobId, form)
          const { command } = yield* decoded(CommandForm, ["command"], form)
          if (!mayCommand(visitor, command, yield* jobs.get(id)))
            return yield* new PageRefused({
              ...roleRefusal(visitor, "publish"),
              next: { path: jobPath(id), name: "Back to the page" }
            })
          const changed = yield* jobs.command(command, id).pipe(
            Effect.map(Either.right),
            Effect.catchTag("ValidationFailed", (error) => Effect.succeed(Either.left(error)))
          )
          const job = yield* jobs.get(id)
          if (Either.isRight(changed) || results[command].includes(job.state))
            return seeOther(`${jobPath(id)}?note=${command}`)
          const refusal = wordsIn(visitor.pageLanguage)("Refused: {problem}.", {
            problem: changed.left.reasons
          })
          return html(visitor, <JobPage visitor={visitor} job={yield* toShow(job)} refusal={refusal} />, {
            status: 400
          })
        })
      )
    }
  })
)
