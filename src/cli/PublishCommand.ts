import { Command, Options } from "@effect/cli"
import { Console, Effect, Option, Stream } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { PublishEvent, PublishResult } from "../admin/AdminRpcs.ts"
import { entity, missing } from "./DraftCommands.ts"
import { textOption } from "./Flags.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, json, Refused, reasonOf } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const store = Options.optional(
  textOption("store", "DOMAIN", "Domain or id of a store. Default: all stores of the entity.")
)

/** Replaces a line of progress on stderr if it is a terminal. */
const draw = (text: string) =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  })

type Done = Extract<PublishEvent, { readonly _tag: "Done" }>

const followed = <E, R>(events: Stream.Stream<PublishEvent, E, R>) =>
  Effect.gen(function* () {
    const last = yield* Stream.runFoldEffect(events, Option.none<Done>(), (last, event) =>
      event._tag === "Done"
        ? Effect.succeedSome(event)
        : Effect.as(draw(event.open === 0 ? "" : `publishing: ${event.open} of ${event.total} stores to go`), last)
    ).pipe(
      Effect.ensuring(draw("")),
      Effect.onInterrupt(() =>
        Console.error(
          "Interrupted. The publish request stays queued: a running server or the next `catalog publish` of this entity completes it."
        )
      )
    )
    return yield* Effect.mapError(
      last,
      () => new Refused({ message: "The publish ended without a result: see `catalog history`." })
    )
  })

const lineOf = ({ draft_revision, outcome, store_domain }: PublishResult) => {
  switch (outcome) {
    case "published":
      return `${store_domain}: published draft revision ${draft_revision}`
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

/** The line with the reason of a failed or refused publish on one store. */
const whyNot = ({ error, outcome, store_domain }: PublishResult) =>
  outcome === "failed" || outcome === "refused"
    ? [`${store_domain}: ${error === null ? outcome : `${reasonOf(error)} (${error.code})`}`]
    : []

export const publishCommand = Command.make(
  "publish",
  {
    entity,
    store,
    again: Options.boolean("again").pipe(
      Options.withDescription("Publish even if nothing changed since the store last accepted it.")
    ),
    account,
    json
  },
  ({ account, again, entity, json, store }) =>
    Effect.gen(function* () {
      const { entity_id, results } = yield* followed((yield* AdminClient).publish({ account, entity, store, again }))
      const failures = results.flatMap(whyNot)
      const arrived = results.filter(({ outcome }) => outcome !== "failed" && outcome !== "refused")
      if (json || arrived.length > 0) yield* answer(json, { entity_id, results }, arrived.map(lineOf))
      if (failures.length > 0) return yield* new Refused({ message: failures.join("; "), isAnswered: true })
    }).pipe(
      Effect.catchTags({
        NotFound: () => missing(account, entity, store),
        ValidationFailed: ({ issues }) =>
          new Refused({ message: issues.map(({ message }) => message).join("; "), details: issues }),
        PimLocked: () => lockedBy(account)
      }),
      withAdmin
    )
).pipe(Command.withDescription("Publish an entity's draft to its stores, and wait for the outcome."))
