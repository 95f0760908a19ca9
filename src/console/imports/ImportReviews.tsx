import { Effect } from "effect"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { holderOf } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import { ImportId, StoreId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { idOf, makeVisits, noteOf, numberOf, queryOf, type Visits } from "../Visits.ts"
import { ImportPage, maxRemovals } from "./ImportPage.tsx"
import { ImportsPage } from "./ImportsPage.tsx"
import { makeReviewForms } from "./ReviewForms.tsx"

const routes = {
  list: ["GET", paths.imports, refuseOnPage, "view"],
  upload: ["POST", paths.imports, refuseOnPage, "edit", "batch"],
  show: ["GET", paths.import, refuseOnPage, "view"],
  decide: ["POST", paths.decideConflicts, refuseOnPage, "edit"],
  decideAll: ["POST", paths.decideAllConflicts, refuseOnPage, "edit"],
  accept: ["POST", paths.acceptImport, refuseOnPage, "edit"],
  discard: ["POST", paths.discardImport, refuseOnPage, "edit", "batch"]
} as const

const notes: Readonly<Record<string, string>> = {
  decided: "Your decisions are saved. They take effect when you accept the import.",
  nothing: "Nothing was decided: choose one of the two values first.",
  accepted: "The import is accepted.",
  discarded: "The import is discarded. Nothing was changed."
}

/** Number of rows on a page. */
const importsPerPage = 50
const conflictsPerPage = 20

const unsent = (message: string) =>
  new PageRefused({
    status: 400,
    title: "Not accepted",
    message,
    next: { path: paths.imports, name: "To the imports" }
  })

/** The imports of an account: the list, the upload of a file, and the review of one import. */
export const importReviews: Surface<Stores | Visits> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const imports = yield* Imports
    const stores = yield* Stores
    const { asVisitor, withUpload } = yield* makeVisits

    return {
      list: asVisitor((visitor, request) =>
        Effect.map(Effect.all({ runs: imports.list, stores: stores.list }), ({ runs, stores }) => {
          const from = numberOf(queryOf(request).get("from"))
          return html(
            <ImportsPage
              visitor={visitor}
              stores={stores}
              holder={holderOf(runs)}
              runs={runs.slice(from, from + importsPerPage)}
              from={from}
              total={runs.length}
            />
          )
        })
      ),
      upload: withUpload((_, { file, form }) =>
        Effect.gen(function* () {
          if (form.get("store_id") === undefined)
            return yield* unsent("Choose the store that the file was exported from.")
          if (file.content.length === 0) return yield* unsent("Choose a file that is not empty.")
          const store = yield* Effect.flatMap(idOf(StoreId, form, "store_id"), stores.find)
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
            conflicts: imports.conflicts(id, after, conflictsPerPage),
            undecided: imports.undecided(id),
            removals: imports.removals(id, 0, maxRemovals)
          })
          return html(
            <ImportPage
              visitor={visitor}
              after={after}
              atOnce={conflictsPerPage}
              note={noteOf(notes, query.get("note"))}
              {...content}
            />
          )
        })
      ),
      ...(yield* makeReviewForms)
    }
  })
)
