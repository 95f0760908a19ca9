import { Schema } from "effect"
import {
  authorName,
  countUnnamed,
  isLocking,
  isOpen,
  isPublishing,
  isResumable,
  type Job,
  type JobKindName,
  jobKinds
} from "../../jobs/Job.ts"
import type { JobCommand } from "../../jobs/Jobs.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { includesRole } from "../../model/Role.ts"
import type { Visitor } from "../Browser.ts"
import { Facts } from "../Field.tsx"
import { Alert, Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { kindWords, titleOr } from "../Naming.tsx"
import { jobPath, pageOf, paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { countName, JobStateOf, Progress, progressWords } from "./JobWords.tsx"

/** Kinds of jobs that the role edit can begin. */
const kindsOfEditors: ReadonlyArray<JobKindName> = ["bulk_change", "import"]

/**
 * Controlling jobs needs the role publish. The person who began a job may also pause and cancel it, and may continue it if the role
 * allows beginning such a job.
 */
export const mayCommand = (visitor: Visitor, command: JobCommand, { author, kind }: Job) =>
  includesRole(visitor.role, "publish") ||
  (includesRole(visitor.role, "edit") &&
    author.kind === "user" &&
    author.id === visitor.userId &&
    (command !== "resume" || kindsOfEditors.includes(kind)))

const buttons: ReadonlyArray<{
  readonly command: JobCommand
  readonly name: Sentence
  readonly style: string
  readonly isShown: (job: Job) => boolean
}> = [
  { command: "pause", name: "Pause", style: "plain", isShown: (job) => isOpen(job) && job.state !== "paused" },
  { command: "resume", name: "Resume", style: "", isShown: isResumable },
  {
    command: "cancel",
    name: "Cancel the job",
    style: "danger",
    isShown: (job) => isOpen(job) && jobKinds[job.kind].whyUncancellable === null
  }
]

const isKind = Schema.is(EntityKind)

/** The kind and the name of a refused item. */
const RefusedItem = ({ item }: { readonly item: string }) => {
  const t = useWords()
  const [kind = "", ...words] = item.split(" ")
  const name = words.join(" ")
  return (
    <>
      {t(isKind(kind) ? kindWords[kind] : "Item")} <bdi>{isKind(kind) ? titleOr(t, kind, name) : name}</bdi>
    </>
  )
}

const Errors = ({ job: { error_count, errors } }: { readonly job: Job }) => {
  const t = useWords()
  return (
    <section aria-labelledby="refused">
      <h2 id="refused">{t("Refused")}</h2>
      <ul>
        {errors.map(({ item, message }, index) => (
          <li key={`${index} ${item}`}>
            <RefusedItem item={item} />: {t.say(message)}
          </li>
        ))}
      </ul>
      {error_count > errors.length && (
        <p class="quiet">{t("And {count, number} more.", { count: error_count - errors.length })}</p>
      )}
    </section>
  )
}

const Deleted = ({ job }: { readonly job: Job }) => {
  const t = useWords()
  const more = countUnnamed(job)
  return (
    <section aria-labelledby="deleted">
      <h2 id="deleted">{t("Deleted")}</h2>
      <ul>
        {job.deleted.map(({ id, kind, name }) => (
          <li key={id}>
            <bdi>{titleOr(t, kind, name)}</bdi>{" "}
            <span class="quiet">
              {t(kindWords[kind])} <code>{id}</code>
            </span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">{t("And {count, number} more.", { count: more })}</p>}
    </section>
  )
}

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
}) => {
  const t = useWords()
  return (
    <Frame title={t.say(job.title)} visitor={visitor} current={paths.jobs}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.jobs}>{t("All jobs")}</a>
      </nav>
      <Refusal text={refusal} />
      {note !== undefined && <Note>{t.say(note)}</Note>}
      <Live
        id="job"
        on={[`job:${job.id}`, ...(isPublishing(job) ? ["publish" as const] : [])]}
        says={progressWords(t, job)}
      >
        {job.problem !== null && (
          <Alert>
            <p>{t.say(job.problem.why)}</p>
            <p>{t.say(job.problem.next)}</p>
          </Alert>
        )}
        {isLocking(job) && <p>{t("The catalog is locked until you resume or cancel this job.")}</p>}
        {isPublishing(job) && (job.state === "done" || job.result.failed !== undefined) && (
          <p>
            {t.rich(
              "A product is published with its variants and media, so there can be fewer requests than items. Failed publishes are shown on <link>Home</link>.",
              { link: (words) => <a href={paths.home}>{words}</a> }
            )}
          </p>
        )}
        {(job.result.incomplete ?? 0) > 0 && (
          <p>
            {t(
              "The store has accepted the incomplete publishes, but not done a part of them, such as the sales channels of a new product. The history of each item says why."
            )}
          </p>
        )}
        {job.kind === "import" && (
          <p>
            <a href={pageOf(paths.import, job.id)}>{t("Show the import")}</a>
          </p>
        )}
        <div class="sheet">
          <Facts
            of={[
              [
                t("State"),
                <>
                  <JobStateOf state={job.state} />
                  {job.waiting_for !== null && (
                    <span class="quiet"> {t("until {condition}", { condition: t.say(job.waiting_for) })}</span>
                  )}
                </>
              ],
              [t("Progress"), <Progress job={job} />],
              ...Object.entries(job.result).map(([name, count]) => [countName(t, name), t.number(count)] as const),
              [
                t("Begun"),
                t.rich("{time} by {author}", {
                  time: <Time at={job.created_at} />,
                  author: <bdi>{t.say(authorName(job))}</bdi>
                })
              ],
              job.ended_at !== null && [t("Ended"), <Time at={job.ended_at} />]
            ]}
          />
          <div class="buttons">
            {buttons
              .filter(({ command, isShown }) => isShown(job) && mayCommand(visitor, command, job))
              .map(({ command, name, style }) => (
                <form method="post" action={paths.commandJob} key={command}>
                  <HiddenFields csrf={visitor.csrf} id={job.id} />
                  <input type="hidden" name="command" value={command} />
                  <button type="submit" class={style}>
                    {t(name)}
                  </button>
                </form>
              ))}
            {isOpen(job) && <a href={jobPath(job.id)}>{t("Look again")}</a>}
          </div>
        </div>
        {job.error_count > 0 && <Errors job={job} />}
        {job.deleted.length > 0 && <Deleted job={job} />}
      </Live>
    </Frame>
  )
}
