import { Args, Command, Options } from "@effect/cli"
import { Console, Effect, Option, Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { CancelledStore, PublishEvent, PublishResult } from "../admin/AdminRpcs.ts"
import type { Job } from "../jobs/Job.ts"
import type { JobId } from "../model/Ids.ts"
import { orLost, withAdmin } from "./CommandRuntime.ts"
import { entity, missing } from "./DraftCommands.ts"
import { textOption } from "./Flags.ts"
import { awaitJob, lineOfJob, linesOfJob } from "./JobCommands.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, formatCount, hint, json, Refused, reasonOf } from "./Output.ts"
import { draw, followEvents } from "./ProgressLine.ts"

const store = Options.optional(
  textOption("store", "DOMAIN", "Domain or id of a store. Default: all stores of the entity.")
)

/** Prints each reason why the publish to a store waits, once: the command may wait for hours. */
const tellWaiting = () => {
  const printed = new Set<string>()
  return (event: PublishEvent) =>
    Effect.forEach(
      event._tag === "Done" ? [] : event.waiting,
      ({ message, store_domain }) => {
        const line = `${store_domain}: waiting. ${message}`
        if (printed.has(line)) return Effect.void
        printed.add(line)
        return Effect.zipRight(draw(""), Console.error(line))
      },
      { discard: true }
    )
}

const followPublish = <E, R>(events: Stream.Stream<PublishEvent, E, R>, account: Option.Option<string>) =>
  followEvents(Stream.tap(events, tellWaiting()), {
    progress: ({ open, total }) => (open === 0 ? "" : `publishing: ${open} of ${total} stores to go`),
    interrupted: () =>
      "Interrupted. The publish request stays queued: a running server or the next `catalog publish` of this entity completes it.",
    unknown: `It is unknown how the publish goes on: see \`${hint("history ENTITY", account)}\`.`
  })

const lineOf = ({ draft_revision, error, outcome, store_domain }: PublishResult) => {
  switch (outcome) {
    case "published":
      return `${store_domain}: published draft revision ${draft_revision}${error === null ? "" : `. ${reasonOf(error)}`}`
    case "nothing_to_publish":
      return `${store_domain}: nothing to publish, it already has draft revision ${draft_revision}; --again sends it again`
    case "skipped":
      return `${store_domain}: skipped, it has no platform`
    case "failed":
      return `${store_domain}: failed`
    case "refused":
      return `${store_domain}: refused`
  }
}

const lineOfCancelled = ({ has_draft, is_already, is_of_drop, store_domain }: CancelledStore) =>
  [
    `${store_domain}: ${is_already ? "cancelled already" : "cancelled"}`,
    ...(is_of_drop ? ["the drop takes its values out of the drafts"] : []),
    ...(has_draft ? ["its drafts wait to be published"] : []),
    ...(is_of_drop || has_draft ? [] : ["the store has its draft"])
  ].join("; ")

/** The line with the reason of a failed or refused publish on one store. */
const whyNot = ({ error, outcome, store_domain }: PublishResult) =>
  outcome === "failed" || outcome === "refused"
    ? [`${store_domain}: ${error === null ? outcome : `${reasonOf(error)} (${error.code})`}`]
    : []

/** Why the publishes of a job are not all done. */
const whyIncomplete = (job: Job, account: Option.Option<string>) => {
  const { failed = 0 } = job.result
  if (job.state !== "done") return [lineOfJob(job, account)]
  return failed === 0
    ? []
    : [`${job.title}: ${formatCount(failed)} failed. \`${hint("history ENTITY", account)}\` says why an entity failed.`]
}

/** Waits until all jobs have ended. `none`: what to say without jobs. */
const followAll = (
  account: Option.Option<string>,
  begun: {
    readonly jobs: ReadonlyArray<Job>
    readonly earlier: ReadonlyArray<JobId>
    readonly refused: ReadonlyArray<string>
  },
  none: string,
  json: boolean
) =>
  Effect.gen(function* () {
    for (const { id, title } of begun.jobs.filter(({ id }) => begun.earlier.includes(id)))
      yield* Console.error(
        `${title}: follows the open job ${id}, which was begun before. Run the command again for what was changed since.`
      )
    const [lost, jobs] = yield* Effect.partition(begun.jobs, (job) => awaitJob(account, job)).pipe(
      // If the process that runs the command has ended, no other job can be followed either.
      Effect.tap(([errors]) => errors.find(({ _tag }) => _tag === "RpcClientError") ?? Effect.void),
      orLost(`It is unknown how the jobs go on: see \`${hint("jobs list", account)}\`.`)
    )
    const done = jobs.filter(({ state }) => state === "done")
    const failures = [
      ...begun.refused,
      ...lost.map(({ message }) => message),
      ...jobs.flatMap((job) => whyIncomplete(job, account))
    ]
    if (json || done.length > 0 || failures.length === 0)
      yield* answer(json, { jobs }, begun.jobs.length === 0 ? [none] : done.flatMap((job) => linesOfJob(job, account)))
    if (failures.length > 0) return yield* new Refused({ message: failures.join(" "), isAnswered: true })
  })

/** Begins a job for each store with unpublished changes, and waits until all jobs have ended. */
export const publishAll = (account: Option.Option<string>, store: Option.Option<string>, json: boolean) =>
  Effect.gen(function* () {
    const begun = yield* (yield* AdminClient).publishAll({ account, store })
    return yield* followAll(account, begun, "There is nothing to publish.", json)
  })

/** Begins a job for each store with publishes that wait, and waits until all jobs have ended. */
const cancelAll = (account: Option.Option<string>, store: Option.Option<string>, json: boolean) =>
  Effect.gen(function* () {
    const begun = yield* (yield* AdminClient).cancelPublishes({ account, store })
    return yield* followAll(account, begun, "No publish waits: there is nothing to cancel.", json)
  })

export const publishCommand = Command.make(
  "publish",
  {
    entity: Args.optional(entity),
    all: Options.boolean("all").pipe(
      Options.withDescription("Publish all drafts that are not published yet, as a job for each store.")
    ),
    store,
    again: Options.boolean("again").pipe(
      Options.withDescription("Publish even if nothing changed since the store last accepted it.")
    ),
    cancel: Options.boolean("cancel").pipe(
      Options.withDescription(
        "Cancel the publishes of the entity, or of all with --all, that wait and cannot have reached a store."
      )
    ),
    account,
    json
  },
  ({ account, again, all, cancel, entity: given, json, store }) =>
    Effect.gen(function* () {
      if (all) {
        if (Option.isSome(given) || again)
          return yield* new Refused({ message: "--all is for every entity: omit ENTITY and --again." })
        return yield* cancel ? cancelAll(account, store, json) : publishAll(account, store, json)
      }
      if (Option.isNone(given)) return yield* new Refused({ message: "Give ENTITY, or --all." })
      const entity = given.value
      if (cancel) {
        if (again) return yield* new Refused({ message: "Give either --again or --cancel." })
        const ended = yield* (yield* AdminClient).cancelPublish({ account, entity, store })
        return yield* answer(json, ended, ended.stores.map(lineOfCancelled))
      }
      const { entity_id, results } = yield* followPublish(
        (yield* AdminClient).publish({ account, entity, store, again }),
        account
      )
      const failures = results.flatMap(whyNot)
      const arrived = results.filter(({ outcome }) => outcome !== "failed" && outcome !== "refused")
      if (json || arrived.length > 0) yield* answer(json, { entity_id, results }, arrived.map(lineOf))
      if (failures.length > 0) return yield* new Refused({ message: failures.join("; "), isAnswered: true })
    }).pipe(
      Effect.catchTags({
        NotFound: () =>
          missing(
            Option.getOrElse(given, () => ""),
            store
          ),
        ValidationFailed: ({ issues, reasons }) => new Refused({ message: reasons, details: issues }),
        PimLocked: () => lockedBy(account)
      }),
      withAdmin
    )
).pipe(Command.withDescription("Publish the draft of an entity, or of all, to its stores, and wait for the outcome."))
