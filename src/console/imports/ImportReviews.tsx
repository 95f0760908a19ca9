import { Effect, Schema } from "effect"
import type { Sessions } from "../../access/Sessions.ts"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import type { BaseUrl } from "../../http/BaseUrl.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { type Acceptance, ConflictDecision, holderOf, type ImportPhase, ReviewIncomplete } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import type { CurrentActor } from "../../model/Actor.ts"
import { NotFound, ValidationFailed } from "../../model/Errors.ts"
import { ImportId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { counted } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { idOf, makeVisits, queryOf } from "../Visits.ts"
import { conflictField } from "./Conflicts.tsx"
import { confirmField, ImportPage, maxRemovals, restField } from "./ImportPage.tsx"
import { ImportsPage } from "./ImportsPage.tsx"

const routes = {
  list: ["GET", paths.imports, refuseOnPage],
  upload: ["POST", paths.imports, refuseOnPage, "batch"],
  show: ["GET", paths.import, refuseOnPage],
  decide: ["POST", paths.decideConflicts, refuseOnPage],
  decideAll: ["POST", paths.decideAllConflicts, refuseOnPage],
  accept: ["POST", paths.acceptImport, refuseOnPage],
  discard: ["POST", paths.discardImport, refuseOnPage, "batch"]
} as const

/** Said after a form of our own, whatever the address asks for. */
const notes: Readonly<Record<string, string>> = {
  decided: "Your decisions are kept. They take effect when you accept the import.",
  nothing: "Nothing was decided: choose one of the two values first.",
  accepted: "The import is accepted.",
  discarded: "The import is discarded: nothing of it was written."
}

const noteOf = (name: string | undefined) =>
  name !== undefined && Object.hasOwn(notes, name) ? notes[name] : undefined

/** Rows of a page. */
const importsAtOnce = 50
const conflictsAtOnce = 20

/** A number of an address or a form; what is none is the start. */
const numberOf = (text: string | undefined): number => (text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0)

const isDecision = Schema.is(ConflictDecision)

const unreadable = new PageRefused({
  status: 400,
  title: "Not understood",
  message: "A decision of the form is not readable: nothing was decided. Open the import again and repeat it there.",
  next: { path: paths.imports, name: "To the imports" }
})

/** What a form decides of each conflict. */
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

/** What a form says about accepting an import. `unlinked`: how many entities the import takes off its store. */
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

/** The page's words for an acceptance that leaves something open. */
const incomplete = ({ id, removals, storeDomain, undecided }: ReviewIncomplete) =>
  new PageRefused({
    status: 400,
    title: "Not accepted yet",
    message: [
      ...(undecided > 0
        ? [
            `${counted(undecided, "conflict is", "conflicts are")} undecided. Choose our draft or the store's value for each, then accept the import.`
          ]
        : []),
      ...(removals > 0
        ? [
            `The import takes ${counted(removals, "entity", "entities")} off ${storeDomain}. Confirm that on its page, or discard the import.`
          ]
        : []),
      "Nothing was written, and no choice of the form was kept."
    ].join(" "),
    next: { path: pageOf(paths.import, id), name: "To the import" }
  })

/** The page of an import from a conflict on, with what came of the form before. */
const importPage = (id: ImportId, { after, note }: { readonly after: number; readonly note: string }) =>
  `${pageOf(paths.import, id)}&${new URLSearchParams({ ...(after > 0 && { after: String(after) }), note })}`

const overWords: Readonly<Record<Exclude<ImportPhase, "reviewing">, string>> = {
  fetching: "This import is still being read: there is nothing to decide yet.",
  applying: "This import was accepted and is being applied: nothing about it can be decided any more.",
  applied: "This import was accepted and applied already: nothing about it can be decided any more.",
  discarded: "This import was discarded already: nothing about it can be decided any more.",
  failed: "This import has failed: nothing about it can be decided any more."
}

const unsent = (message: string) =>
  new PageRefused({
    status: 400,
    title: "Not accepted",
    message,
    next: { path: paths.imports, name: "To the imports" }
  })

/** The imports of an account: listed, begun from a file, and one under review decided about. */
export const importReviews: Surface<BaseUrl | Sessions | Imports | Stores> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const imports = yield* Imports
    const stores = yield* Stores
    const { asVisitor, withForm, withUpload } = yield* makeVisits

    /** Whatever does not fit says so in the words of the page. */
    const refusing =
      (id: ImportId) =>
      <A, E>(work: Effect.Effect<A, E | ValidationFailed, CurrentActor>) =>
        Effect.catchIf(
          work,
          (error): error is ValidationFailed => error instanceof ValidationFailed,
          () =>
            Effect.flatMap(
              imports.get(id),
              ({ phase }) =>
                new PageRefused({
                  status: 400,
                  title: "Not accepted",
                  message:
                    phase === "reviewing"
                      ? "The form names a conflict that this import does not have: nothing was decided."
                      : overWords[phase],
                  next: { path: pageOf(paths.import, id), name: "To the import" }
                })
            )
        )

    /** What is asked for twice is done: only an import in another phase refuses it. */
    const unlessIn = <A, E>(
      done: ReadonlyArray<ImportPhase>,
      id: ImportId,
      work: Effect.Effect<A, E | ValidationFailed, CurrentActor>
    ) =>
      Effect.catchIf(
        work,
        (error): error is ValidationFailed => error instanceof ValidationFailed,
        (refused) =>
          Effect.flatMap(imports.get(id), ({ phase }) => (done.includes(phase) ? Effect.void : Effect.fail(refused)))
      )

    /** A form about one import; `work` says what is noted afterwards, and from which conflict on they are shown. */
    const about = (
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
          const { after = 0, note } = yield* refusing(id)(work(id, form))
          return seeOther(importPage(id, { after, note }))
        })
      )

    return {
      list: asVisitor((visitor, request) =>
        Effect.map(Effect.all({ runs: imports.list, stores: stores.list }), ({ runs, stores }) => {
          const from = numberOf(queryOf(request).get("from"))
          return html(
            <ImportsPage
              visitor={visitor}
              stores={stores}
              holder={holderOf(runs)}
              runs={runs.slice(from, from + importsAtOnce)}
              from={from}
              total={runs.length}
            />
          )
        })
      ),
      upload: withUpload((_, { file, form }) =>
        Effect.gen(function* () {
          const id = form.get("store_id")
          if (id === undefined) return yield* unsent("Choose the store that the file was exported from.")
          if (file.content.length === 0) return yield* unsent("Choose a file: none was sent, or an empty one.")
          const store = (yield* stores.list).find((each) => each.id === id)
          if (store === undefined) return yield* new NotFound()
          const run = yield* Effect.catchTag(imports.startCsv(file, store.domain), "ValidationFailed", ({ issues }) =>
            unsent(`Not read: ${issues.map(({ message }) => message).join("; ")}.`)
          )
          return seeOther(pageOf(paths.import, run.id))
        })
      ),
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const id = yield* idOf(ImportId, query)
          const after = numberOf(query.get("after"))
          const content = yield* Effect.all({
            run: imports.get(id),
            conflicts: imports.conflicts(id, after, conflictsAtOnce),
            undecided: imports.undecided(id),
            removals: imports.removals(id, 0, maxRemovals)
          })
          return html(
            <ImportPage
              visitor={visitor}
              after={after}
              atOnce={conflictsAtOnce}
              note={noteOf(query.get("note"))}
              {...content}
            />
          )
        })
      ),
      decide: about((id, form) =>
        Effect.gen(function* () {
          const decided = yield* imports.decideEach(id, yield* decisionsOf(form))
          return { note: decided === 0 ? "nothing" : "decided", after: numberOf(form.get("after")) }
        })
      ),
      decideAll: about((id, form) => {
        const decision = form.get("decision")
        return isDecision(decision)
          ? Effect.as(imports.decide(id, "all", decision), { note: "decided" })
          : Effect.fail(unreadable)
      }),
      accept: about((id, form) =>
        Effect.gen(function* () {
          const { summary } = yield* imports.get(id)
          const acceptance = yield* acceptanceOf(form, summary.unlinked)
          yield* unlessIn(["applying", "applied"], id, imports.startAccepting(id, acceptance)).pipe(
            Effect.catchIf((error) => error instanceof ReviewIncomplete, incomplete)
          )
          return { note: "accepted" }
        })
      ),
      discard: about((id) => Effect.as(unlessIn(["discarded"], id, imports.discard(id)), { note: "discarded" }))
    }
  })
)
