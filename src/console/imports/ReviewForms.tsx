import type { HttpServerResponse } from "@effect/platform"
import { Effect, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import {
  type Choices,
  ConflictDecision,
  type DecidedMeanwhile,
  type ImportPhase,
  type ReviewIncomplete
} from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { type NotFound, ValidationFailed } from "../../model/Errors.ts"
import { ImportId } from "../../model/Ids.ts"
import { PageRefused, type Visitor } from "../Browser.ts"
import type { Misfit } from "../Field.tsx"
import { seeOther } from "../Html.ts"
import { type Values, type Words, wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, numberOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import { conflictField, replaceField, seenField } from "./Conflicts.tsx"
import { everything, filterParameters, type ListFilter, listPath, undecided } from "./ImportLists.tsx"
import { confirmField, restField } from "./ImportPage.tsx"
import { makeShowImport, type RefusedReview, rowsPerPage } from "./ImportView.tsx"

const isDecision = Schema.is(ConflictDecision)

const unreadable = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "The form has an invalid decision, so nothing was decided. Open the import again and decide there.",
  next: { path: paths.imports, name: "To the imports" }
})

const refused = (id: ImportId, title: string, message: string, values: Values = {}) =>
  new PageRefused({
    status: 400,
    title,
    message,
    values,
    next: { path: pageOf(paths.import, id), name: "To the import" }
  })

/** The fields of conflicts, by the number of the conflict. */
const fieldsOf = <A,>(
  form: Parameters,
  nameOf: typeof conflictField,
  read: (text: string) => A | undefined
): Effect.Effect<ReadonlyMap<number, A>, PageRefused> =>
  Effect.map(
    Effect.forEach(
      form.names.filter((name) => name.startsWith(nameOf(""))),
      (name) => {
        const number = name.slice(nameOf("").length)
        const value = read(form.get(name) ?? "")
        return /^[1-9]\d{0,8}$/.test(number) && value !== undefined
          ? Effect.succeed([Number(number), value] as const)
          : unreadable
      }
    ),
    (fields) => new Map(fields)
  )

/** The decisions of a form. `shown`: the decisions that its page showed; the person chose only those that differ. */
const choicesOf = (form: Parameters) =>
  Effect.gen(function* () {
    const all = yield* fieldsOf(form, conflictField, (text) => (isDecision(text) ? text : undefined))
    const shown = yield* fieldsOf(form, seenField, (text) => (text === "" ? null : isDecision(text) ? text : undefined))
    const decisions = new Map([...all].filter(([conflict, decision]) => shown.get(conflict) !== decision))
    const shownDecisions = new Map([...shown].filter(([conflict]) => decisions.has(conflict)))
    return { decisions, seen: shownDecisions, shown, isEmpty: all.size === 0 }
  })

/** Reads the decision on all undecided conflicts from a form. */
const restOf = (form: Parameters): Effect.Effect<ConflictDecision | undefined, PageRefused> => {
  const rest = form.get(restField)
  return rest === undefined || isDecision(rest) ? Effect.succeed(rest) : unreadable
}

/** `isSaved`: whether choices of the form were saved. */
const incompleteText = (t: Words, { removals, storeDomain, undecided }: ReviewIncomplete, isSaved: boolean) => {
  const conflicts = t(
    "{count, plural, one {# conflict is} other {# conflicts are}} undecided. Choose our draft or the store's value for each, then accept the import.",
    { count: undecided }
  )
  const entities = t(
    "The import removes {count, plural, one {# item} other {# items}} from {store}. Confirm that on its page, or discard the import.",
    { count: removals, store: storeDomain }
  )
  const sentences = [
    ...(undecided > 0 ? [conflicts] : []),
    ...(removals > 0 ? [entities] : []),
    isSaved ? t("Your choices are saved, and nothing else was written.") : t("Nothing was written.")
  ]
  return sentences.join(" ")
}

/** The filter in an address or a form. */
export const filterOf = (parameters: Parameters): ListFilter => ({
  search: parameters.get("search") ?? "",
  isUndecided: parameters.get("only") === undecided
})

const phaseMessages: Readonly<Record<ImportPhase, string>> = {
  fetching: "This import is still being read: there is nothing to decide yet.",
  reviewing: "The form names a conflict that this import does not have: nothing was decided.",
  applying: "This import was accepted and is being applied: it can no longer be decided.",
  applied: "This import was accepted and applied already: it can no longer be decided.",
  discarded: "This import was discarded already: it can no longer be decided.",
  failed: "This import has failed: it can no longer be decided."
}

const isValidationFailed = <E,>(error: E | ValidationFailed): error is ValidationFailed =>
  error instanceof ValidationFailed

/** Without conflicts: their numbers are unknown. */
const decidedMeanwhileText = (t: Words, { length }: ReadonlyArray<number>) =>
  length === 0
    ? t(
        "Not saved: conflicts were decided since you opened this page. It shows those decisions now, and keeps your other choices. Check them, then send the form again."
      )
    : t(
        "Not saved: {count, plural, one {# conflict was} other {# conflicts were}} decided since you opened this page. It shows those decisions now, and keeps your other choices. Check them, then send the form again.",
        { count: length }
      )

const notReplaced: Misfit = {
  field: replaceField,
  message: "The numbers have changed. Tick this again to confirm them."
}
const unconfirmed: Misfit = { field: confirmField, message: "Tick this to accept the removals." }

/**
 * The page to show after the form: the page of the form, or else the page that begins with the first of these conflicts. A filtered page keeps
 * its conflicts, even if the filter finds others by now.
 */
const placeOf = (form: Parameters, shown: ReadonlyArray<number>, [first, ...others]: ReadonlyArray<number>) => {
  const after = numberOf(form.get("after"))
  const filter = filterOf(form)
  const isFiltered = filterParameters(filter).length > 0
  const isShown = (conflict: number) =>
    isFiltered ? shown.includes(conflict) : conflict > after && conflict <= after + rowsPerPage
  return first === undefined || [first, ...others].some(isShown)
    ? { after, filter, numbers: isFiltered ? shown : undefined }
    : { after: first - 1, filter: everything }
}

type Done = HttpServerResponse.HttpServerResponse

const toImport = (id: ImportId, note: string): Done => seeOther(`${pageOf(paths.import, id)}&note=${note}`)

/** The page of conflicts from which the form was sent. */
const toConflicts = (id: ImportId, note: string, form: Parameters): Done => {
  const after = numberOf(form.get("after"))
  const filter = filterOf(form)
  return after === 0 && filterParameters(filter).length === 0
    ? toImport(id, note)
    : seeOther(listPath(id, "conflicts", filter, { ...(after > 0 && { after: String(after) }), note }))
}

/** Refuses if somebody else accepted the import first, with other decisions than this form has. */
const requireDecisions = (
  imports: Imports["Type"],
  id: ImportId,
  {
    decisions,
    rest,
    shown
  }: Pick<Choices, "decisions"> & { readonly shown: Choices["seen"]; readonly rest: ConflictDecision | undefined }
) =>
  Effect.gen(function* () {
    const numbers = [...new Set([...shown.keys(), ...decisions.keys()])]
    const conflicts = numbers.length === 0 ? [] : yield* imports.conflicts(id, 0, numbers.length, { numbers })
    const others = conflicts.filter(({ conflict, decision }) => {
      const own = decisions.get(conflict) ?? shown.get(conflict) ?? rest
      return own !== undefined && own !== decision
    })
    if (others.length > 0)
      return yield* refused(
        id,
        "Accepted with other decisions",
        "Somebody accepted this import since you opened the page, and decided {count, plural, one {# conflict} other {# conflicts}} otherwise than you. Your decisions were not saved: the page of the import shows those that count.",
        { count: others.length }
      )
  })

/** The forms that decide, accept or discard an import under review. */
export const makeReviewForms = Effect.gen(function* () {
  const imports = yield* Imports
  const showImport = yield* makeShowImport
  const { withForm } = yield* makePageHandlers

  /** Carries out a form of an import. `title`: the title of the refusal if the import is not under review. */
  const formOfImport = (
    title: string,
    work: (
      id: ImportId,
      form: Parameters,
      visitor: Visitor
    ) => Effect.Effect<Done, DecidedMeanwhile | NotFound | PageRefused | ValidationFailed, CurrentActor>
  ) =>
    withForm((visitor, form) =>
      Effect.gen(function* () {
        const id = yield* idOf(ImportId, form)
        return yield* work(id, form, visitor).pipe(
          Effect.catchTag("DecidedMeanwhile", ({ conflicts }) =>
            Effect.flatMap(choicesOf(form), ({ decisions }) =>
              showAgain(visitor, id, form, conflicts, {
                message: decidedMeanwhileText(wordsIn(visitor.pageLanguage), conflicts),
                chosen: decisions,
                decidedMeanwhile: new Set(conflicts),
                isUndecided: false,
                misfits: conflicts.length === 0 ? [notReplaced] : []
              })
            )
          ),
          Effect.catchIf(isValidationFailed, () =>
            Effect.flatMap(imports.get(id), ({ phase }) => refused(id, title, phaseMessages[phase]))
          )
        )
      })
    )

  /** Shows these conflicts again, with the person's choices. */
  const showAgain = (
    visitor: Visitor,
    id: ImportId,
    form: Parameters,
    conflicts: ReadonlyArray<number>,
    review: Omit<RefusedReview, "isConfirmed">
  ) => {
    const isConfirmed = !review.misfits.includes(unconfirmed) && form.get(confirmField) !== undefined
    return Effect.flatMap(choicesOf(form), ({ shown }) => {
      const { after, ...place } = placeOf(form, [...shown.keys()], conflicts)
      return showImport(visitor, id, {
        tab: undefined,
        after: after === 0 ? undefined : after,
        ...place,
        refused: { ...review, isConfirmed }
      })
    })
  }

  /** Ignores the refusal if the import is in one of these phases already, so that a form that is sent twice succeeds twice. */
  const unlessIn = <A, E>(
    phases: ReadonlyArray<ImportPhase>,
    id: ImportId,
    work: Effect.Effect<A, E | ValidationFailed, CurrentActor>
  ) =>
    Effect.catchIf(work, isValidationFailed, (error) =>
      Effect.flatMap(imports.get(id), ({ phase }) => (phases.includes(phase) ? Effect.void : Effect.fail(error)))
    )

  return {
    decide: formOfImport("Not decided", (id, form) =>
      Effect.gen(function* () {
        const { isEmpty, ...choices } = yield* choicesOf(form)
        yield* imports.decideEach(id, choices)
        return toConflicts(id, isEmpty ? "nothing" : "decided", form)
      })
    ),
    decideAll: formOfImport("Not decided", (id, form) =>
      Effect.gen(function* () {
        const decision = form.get("decision")
        if (!isDecision(decision)) return yield* unreadable
        const { decisions, seen } = yield* choicesOf(form)
        const replaces = form.get(replaceField)
        const isWritten = yield* imports.decideAll(id, { decision, choices: { decisions, seen }, replaces })
        return toConflicts(id, isWritten ? "decided" : "kept", form)
      })
    ),
    accept: formOfImport("Not accepted", (id, form, visitor) =>
      Effect.gen(function* () {
        const { summary } = yield* imports.get(id)
        const { decisions, seen, shown } = yield* choicesOf(form)
        const rest = yield* restOf(form)
        const confirmsRemovals = form.get(confirmField) === String(summary.unlinked)
        // The person who accepts an import is responsible for every decision that the page showed.
        const accepting = imports.startAccepting(id, { decisions, seen: shown, rest, confirmsRemovals })
        return yield* unlessIn(["applying", "applied"], id, accepting).pipe(
          Effect.zipRight(requireDecisions(imports, id, { decisions, shown, rest })),
          Effect.as(toImport(id, "accepted")),
          // A choice is never lost: the acceptance failed as a whole, so the choices are saved by themselves.
          Effect.catchTag("ReviewIncomplete", (error) =>
            Effect.gen(function* () {
              yield* imports.decideEach(id, { decisions, seen })
              return yield* showAgain(visitor, id, form, error.conflicts, {
                message: incompleteText(wordsIn(visitor.pageLanguage), error, decisions.size > 0),
                chosen: new Map(),
                decidedMeanwhile: new Set(),
                isUndecided: error.undecided > 0,
                misfits: error.removals > 0 ? [unconfirmed] : []
              })
            })
          )
        )
      })
    ),
    discard: formOfImport("Not discarded", (id) =>
      Effect.as(unlessIn(["discarded"], id, imports.discard(id)), toImport(id, "discarded"))
    )
  }
})
