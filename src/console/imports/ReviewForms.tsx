import { Effect, Schema } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Acceptance, ConflictDecision, type ImportPhase, ReviewIncomplete } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { type NotFound, ValidationFailed } from "../../model/Errors.ts"
import { ImportId } from "../../model/Ids.ts"
import { PageRefused } from "../Browser.ts"
import { seeOther } from "../Html.ts"
import { counted } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { idOf, makeVisits, numberOf } from "../Visits.ts"
import { conflictField } from "./Conflicts.tsx"
import { confirmField, restField } from "./ImportPage.tsx"

const isDecision = Schema.is(ConflictDecision)

const unreadable = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "The form has an invalid decision, so nothing was decided. Open the import again and repeat it there.",
  next: { path: paths.imports, name: "To the imports" }
})

const refused = (id: ImportId, title: string, message: string) =>
  new PageRefused({ status: 400, title, message, next: { path: pageOf(paths.import, id), name: "To the import" } })

const decisionsOf = (form: Parameters): Effect.Effect<ReadonlyMap<number, ConflictDecision>, PageRefused> =>
  Effect.map(
    Effect.forEach(
      form.names.filter((name) => name.startsWith(conflictField(""))),
      (name) => {
        const number = name.slice(conflictField("").length)
        const decision = form.get(name)
        return /^[1-9]\d{0,8}$/.test(number) && isDecision(decision)
          ? Effect.succeed([Number(number), decision] as const)
          : unreadable
      }
    ),
    (decisions) => new Map(decisions)
  )

/** Reads an acceptance from a form. `unlinked`: number of entities that the import removes; the form must confirm it. */
const acceptanceOf = (form: Parameters, unlinked: number): Effect.Effect<Acceptance, PageRefused> =>
  Effect.gen(function* () {
    const rest = form.get(restField)
    if (rest !== undefined && !isDecision(rest)) return yield* unreadable
    return {
      decisions: yield* decisionsOf(form),
      rest,
      confirmsRemovals: form.get(confirmField) === String(unlinked)
    }
  })

const incomplete = ({ id, removals, storeDomain, undecided }: ReviewIncomplete) => {
  const conflicts = `${counted(undecided, "conflict is", "conflicts are")} undecided. Choose our draft or the store's value for each, then accept the import.`
  const entities = `The import removes ${counted(removals, "entity", "entities")} from ${storeDomain}. Confirm that on its page, or discard the import.`
  const sentences = [
    ...(undecided > 0 ? [conflicts] : []),
    ...(removals > 0 ? [entities] : []),
    "Nothing was written, and your choices were not saved."
  ]
  return refused(id, "Not accepted yet", sentences.join(" "))
}

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

/** The forms that decide, accept or discard an import under review. */
export const makeReviewForms = Effect.gen(function* () {
  const imports = yield* Imports
  const { withForm } = yield* makeVisits

  /** Carries out a form and redirects to the import. `note`: the flash message; `after`: show the conflicts behind this number. */
  const formOfImport = (
    work: (
      id: ImportId,
      form: Parameters
    ) => Effect.Effect<
      { readonly note: string; readonly after?: number },
      NotFound | PageRefused | ValidationFailed,
      CurrentActor
    >
  ) =>
    withForm((_, form) =>
      Effect.gen(function* () {
        const id = yield* idOf(ImportId, form)
        const { after = 0, note } = yield* Effect.catchIf(work(id, form), isValidationFailed, () =>
          Effect.flatMap(imports.get(id), ({ phase }) => refused(id, "Not accepted", phaseMessages[phase]))
        )
        const query = new URLSearchParams({ ...(after > 0 && { after: String(after) }), note })
        return seeOther(`${pageOf(paths.import, id)}&${query}`)
      })
    )

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
    decide: formOfImport((id, form) =>
      Effect.gen(function* () {
        const decided = yield* imports.decideEach(id, yield* decisionsOf(form))
        return { note: decided === 0 ? "nothing" : "decided", after: numberOf(form.get("after")) }
      })
    ),
    decideAll: formOfImport((id, form) => {
      const decision = form.get("decision")
      return isDecision(decision)
        ? Effect.as(imports.decide(id, "all", decision), { note: "decided" })
        : Effect.fail(unreadable)
    }),
    accept: formOfImport((id, form) =>
      Effect.gen(function* () {
        const { summary } = yield* imports.get(id)
        const acceptance = yield* acceptanceOf(form, summary.unlinked)
        yield* unlessIn(["applying", "applied"], id, imports.startAccepting(id, acceptance)).pipe(
          Effect.catchIf((error) => error instanceof ReviewIncomplete, incomplete)
        )
        return { note: "accepted" }
      })
    ),
    discard: formOfImport((id) => Effect.as(unlessIn(["discarded"], id, imports.discard(id)), { note: "discarded" }))
  }
})
