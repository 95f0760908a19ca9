import { Effect } from "effect"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { holderOf } from "../../imports/Import.ts"
import { Imports } from "../../imports/Imports.ts"
import { ImportId, StoreId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, noteOf, numberOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { pageOf, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { isTab, maxSearch, undecided } from "./ImportLists.tsx"
import { ImportsPage } from "./ImportsPage.tsx"
import { makeShowImport } from "./ImportView.tsx"
import { filterOf, makeReviewForms } from "./ReviewForms.tsx"

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
  kept: "Nothing was changed: every conflict is decided. Earlier decisions are replaced only if you tick that above the buttons.",
  nothing: "Nothing was decided: choose one of the two values first.",
  accepted: "The import is accepted.",
  discarded: "The import is discarded. Nothing was changed."
}

/** Number of rows on a page. */
const importsPerPage = 50

const unsent = (message: string) =>
  new PageRefused({
    status: 400,
    title: "Not accepted",
    message,
    next: { path: paths.imports, name: "To the imports" }
  })

const tooLong = (id: ImportId) =>
  new PageRefused({
    status: 400,
    title: "Not understood",
    message: "A search or filter has at most {count, number} characters.",
    values: { count: maxSearch },
    next: { path: pageOf(paths.import, id), name: "To the import" }
  })

const noSuchList = (id: ImportId) =>
  new PageRefused({
    status: 400,
    title: "Not understood",
    message:
      "This address names no list of the import, or no place in it. The lists are New, Changed, Leaving and Conflicts.",
    next: { path: pageOf(paths.import, id), name: "To the import" }
  })

/** The imports of an account: the list, the upload of a file, and the review of one import. */
export const importReviews: Surface<Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const imports = yield* Imports
    const stores = yield* Stores
    const { asWatcher, withUpload } = yield* makePageHandlers
    const showImport = yield* makeShowImport

    return {
      list: asWatcher((visitor, request) =>
        Effect.map(Effect.all({ runs: imports.list, stores: stores.list }), ({ runs, stores }) => {
          const from = numberOf(queryOf(request).get("from"))
          return html(
            visitor,
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
      upload: withUpload((visitor, { file, form }) =>
        Effect.gen(function* () {
          if (form.get("store_id") === undefined)
            return yield* unsent("Choose the store that the file was exported from.")
          if (file.content.length === 0) return yield* unsent("Choose a file that is not empty.")
          const store = yield* Effect.flatMap(idOf(StoreId, form, "store_id"), stores.find)
          const run = yield* Effect.catchTag(imports.startCsv(file, store.domain), "ValidationFailed", ({ issues }) =>
            unsent(
              wordsIn(visitor.pageLanguage)("Not read: {problem}.", {
                problem: issues.map(({ message }) => message).join("; ")
              })
            )
          )
          return seeOther(pageOf(paths.import, run.id))
        })
      ),
      show: asWatcher((visitor, request) =>
        Effect.gen(function* () {
          const query = queryOf(request)
          const id = yield* idOf(ImportId, query)
          const list = query.get("list")
          const after = query.get("after")
          const only = query.get("only")
          if (
            (list !== undefined && !isTab(list)) ||
            (after !== undefined && !/^\d{1,9}$/.test(after)) ||
            (only !== undefined && (only !== undecided || list !== "conflicts"))
          )
            return yield* noSuchList(id)
          const filter = filterOf(query)
          if (filter.search.length > maxSearch) return yield* tooLong(id)
          return yield* showImport(visitor, id, {
            tab: list,
            filter,
            after: after === undefined ? undefined : Number(after),
            note: noteOf(notes, query.get("note"))
          })
        })
      ),
      ...(yield* makeReviewForms)
    }
  })
)
