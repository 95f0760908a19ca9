import { Clock, Effect, Option } from "effect"
import type { ConflictDecision, ImportConflict } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import type { ImportId } from "../../model/Ids.ts"
import type { Visitor } from "../Browser.ts"
import type { Misfit } from "../Field.tsx"
import { html } from "../Html.ts"
import { type Words, wordsIn } from "../languages/Words.tsx"
import { actorName } from "../Naming.tsx"
import { conflictField, decisionWords } from "./Conflicts.tsx"
import { firstTab, type ImportTab, type ListFilter, listsTitle } from "./ImportLists.tsx"
import { ImportPage } from "./ImportPage.tsx"

/** Number of rows, or conflicts, on a page. */
export const rowsPerPage = 25

/** A form of the review that was refused. The page shows it again with all of its choices. */
export interface RefusedReview {
  readonly message: string
  /** The choices that are not saved. */
  readonly chosen: ReadonlyMap<number, ConflictDecision>
  /** Conflicts that were decided since the page was opened. */
  readonly decidedMeanwhile: ReadonlySet<number>
  /** Whether a choice is missing for undecided conflicts. */
  readonly isUndecided: boolean
  /** The problems of other fields. */
  readonly misfits: ReadonlyArray<Misfit>
  /** Whether the form confirmed the removals. */
  readonly isConfirmed: boolean
}

/** The part of an import to show. */
interface ImportPlace {
  /** Undefined: the one that `firstTab` names. */
  readonly tab: ImportTab | undefined
  /** The number of the conflict, or the ordinal of the row, after which the page starts; undefined: from the start. */
  readonly after: number | undefined
  readonly filter: ListFilter
  /** Of conflicts: only these, whatever the filter finds. */
  readonly numbers?: ReadonlyArray<number> | undefined
  readonly note?: string | undefined
  readonly refused?: RefusedReview
}

const misfitsOf = (
  t: Words,
  refused: RefusedReview,
  conflicts: ReadonlyArray<ImportConflict>
): ReadonlyArray<Misfit> => [
  ...conflicts.flatMap(({ conflict, decided_by, decision }): ReadonlyArray<Misfit> => {
    const field = conflictField(conflict)
    const ownDecision = refused.chosen.get(conflict)
    if (refused.decidedMeanwhile.has(conflict) && decided_by !== null && decision !== null) {
      const otherDecision = t("{author} chose meanwhile: {decision}.", {
        author: actorName(t, decided_by),
        decision: t(decisionWords[decision])
      })
      return [
        {
          field,
          message:
            ownDecision === undefined
              ? otherDecision
              : `${otherDecision} ${t("You chose: {decision}.", { decision: t(decisionWords[ownDecision]) })}`
        }
      ]
    }
    return refused.isUndecided && decision === null ? [{ field, message: "Choose one of the two values." }] : []
  }),
  ...refused.misfits
]

/** If a conflict was decided meanwhile, the page shows that decision, and the person's own choice in words. */
const refusedOf = (t: Words, refused: RefusedReview, conflicts: ReadonlyArray<ImportConflict>) => ({
  ...refused,
  chosen: new Map([...refused.chosen].filter(([conflict]) => !refused.decidedMeanwhile.has(conflict))),
  misfits: misfitsOf(t, refused, conflicts)
})

/** Shows the page of one import. It reads one page of one list, however large the import is. */
export const makeShowImport = Effect.map(
  Imports,
  (imports) =>
    (visitor: Visitor, id: ImportId, { after, filter, note, numbers, refused, tab: chosenTab }: ImportPlace) =>
      Effect.gen(function* () {
        const run = yield* imports.get(id)
        const tab = listsTitle(run) !== undefined ? (chosenTab ?? firstTab(run)) : "conflicts"
        const shown = yield* Effect.all({
          conflicts:
            tab === "conflicts"
              ? imports.conflicts(id, after ?? 0, rowsPerPage, numbers === undefined ? filter : { numbers })
              : Effect.succeed([]),
          rows:
            tab === "conflicts"
              ? Effect.succeed([])
              : imports.reviewList(id, tab, after ?? -1, rowsPerPage, filter.search),
          tally: imports.tally(id),
          reading: imports.progress(id)
        })
        return html(
          visitor,
          <ImportPage
            visitor={visitor}
            run={run}
            tab={tab}
            filter={filter}
            after={after}
            atOnce={rowsPerPage}
            now={yield* Clock.currentTimeMillis}
            note={note}
            refused={refused && refusedOf(wordsIn(visitor.pageLanguage), refused, shown.conflicts)}
            {...shown}
            reading={Option.getOrUndefined(shown.reading)}
          />,
          { status: refused === undefined ? 200 : 400 }
        )
      })
)
