import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import type { NamedChange } from "../admin/DraftRpcs.ts"
import { EntityKind } from "../model/Attribute.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { oneAssignment } from "./DraftCommands.ts"
import { choiceArgument, textOption } from "./Flags.ts"
import { followJob, linesOfJob } from "./JobCommands.ts"
import { filter, type GivenFilters, isFiltered, listFilters } from "./ListFilters.ts"
import { lockedBy } from "./LockedBy.ts"
import { account, answer, byPlace, formatCount, json, Refused } from "./Output.ts"

const kind = choiceArgument("KIND", EntityKind.literals, "Kind of the entities: product, variant, collection or media.")

const filters = {
  ...listFilters,
  all: Options.boolean("all").pipe(Options.withDescription("All entities of the kind. Needed if there is no filter."))
}

interface Given extends GivenFilters {
  readonly account: Option.Option<string>
  readonly json: boolean
  readonly kind: EntityKind
  readonly all: boolean
}

/** Begins a bulk change, and follows its job to the end. Refused: nothing was changed, or the job has refused entities. */
const run = (change: NamedChange, { account, all, json, ...given }: Given) =>
  Effect.gen(function* () {
    if (all === isFiltered(given))
      return yield* new Refused({ message: "Give a filter, such as --search WORDS, or --all, and not both." })
    const begun = yield* (yield* AdminClient).beginBulk({ account, change, ...given })
    const ended = yield* followJob(account, begun)
    yield* answer(json, ended, linesOfJob(ended, account))
    if (ended.error_count > 0)
      return yield* new Refused({
        message: `${ended.title}: ${formatCount(ended.error_count)} of ${formatCount(ended.done)} refused.`,
        isAnswered: true
      })
  }).pipe(
    Effect.catchTags({
      NotFound: () => new Refused({ message: "Nothing was changed: the store was unlinked meanwhile." }),
      ValidationFailed: byPlace((path) => path),
      PimLocked: () => lockedBy(account)
    }),
    withAdmin
  )

const set = Command.make(
  "set",
  {
    kind,
    assignment: Args.atMost(oneAssignment, 1),
    unset: filter("unset", "KEY", "Key to clear or, with --store, key of the override to remove."),
    store: filter("store", "DOMAIN", "Domain or id of a store: write its own values instead of the canonical ones."),
    ...filters,
    account,
    json
  },
  ({ assignment: [given], store, unset, ...rest }) => {
    const edit = given ?? Option.getOrNull(Option.map(unset, (key) => ({ key, value: null })))
    return edit === null || (given !== undefined && Option.isSome(unset))
      ? new Refused({ message: "Give one KEY=VALUE or --unset KEY." })
      : run({ _tag: "SetField", ...edit, store }, rest)
  }
).pipe(Command.withDescription("Write one field of the drafts of many entities, as a job."))

const add = Command.make(
  "add",
  {
    kind,
    to: textOption("to", "DOMAIN", "Domain or id of the store to add them to."),
    ...filters,
    account,
    json
  },
  ({ to, ...rest }) => run({ _tag: "AddToStore", store: to }, rest)
).pipe(Command.withDescription("Add many entities to a store, products with their variants and pictures, as a job."))

const remove = Command.make(
  "remove",
  {
    kind,
    from: textOption("from", "DOMAIN", "Domain or id of the store to take them off."),
    ...filters,
    account,
    json
  },
  ({ from, ...rest }) => run({ _tag: "RemoveFromStore", store: from }, rest)
).pipe(
  Command.withDescription(
    "Take many entities off a store that they were never published to, products with their variants, as a job."
  )
)

const withMedia = Options.boolean("with-media").pipe(
  Options.withDescription("Also delete the media files of their galleries that nothing else shows.")
)

const deleteCommand = Command.make(
  "delete",
  { kind, withMedia, ...filters, account, json },
  ({ withMedia, ...given }) => run({ _tag: "Delete", withMedia }, given)
).pipe(
  Command.withDescription(
    "Delete many entities that no linked store has, products with their variants, as a job. This cannot be undone."
  )
)

export const bulkCommand = Command.make("bulk").pipe(
  Command.withDescription("Changes of the drafts of many entities."),
  Command.withSubcommands([set, add, remove, deleteCommand])
)
