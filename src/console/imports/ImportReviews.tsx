import { Effect } from "effect"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { Imports } from "../../imports/Imports.ts"
import { ImportId, StoreId } from "../../model/Ids.ts"
import { Stores } from "../../stores/Stores.ts"
import { PageRefused, type Visitor } from "../Browser.ts"
import type { Misfit } from "../Field.tsx"
import { html, seeOther } from "../Html.ts"
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

    /** The list and the form. `refused`: a form that was sent, and its problem. */
    const showList = (
      visitor: Visitor,
      from: number,
      refused?: { readonly chosen?: string; readonly misfit: Misfit }
    ) =>
      Effect.map(
        Effect.all({ holder: imports.holder, runs: imports.page(from, importsPerPage + 1), stores: stores.list }),
        ({ holder, runs, stores }) =>
          html(
            visitor,
            <ImportsPage
              visitor={visitor}
              stores={stores}
              holder={holder}
              runs={runs.slice(0, importsPerPage)}
              from={from}
              hasMore={runs.length > importsPerPage}
              {...refused}
            />,
            { status: refused === undefined ? 200 : 400 }
          )
      )

    return {
      list: asWatcher((visitor, request) => showList(visitor, numberOf(queryOf(request).get("from")))),
      upload: withUpload((visitor, { file, form }) =>
        Effect.gen(function* () {
          if (form.get("store_id") === undefined)
            return yield* showList(visitor, 0, {
              misfit: { field: "store_id", message: "Choose the store that the file was exported from." }
            })
          const store = yield* Effect.flatMap(idOf(StoreId, form, "store_id"), stores.find)
          const refuse = (message: Misfit["message"]) =>
            showList(visitor, 0, { chosen: store.id, misfit: { field: "file", message } })
          if (file.content.length === 0) return yield* refuse("Choose a file that is not empty.")
          return yield* Effect.matchEffect(imports.startCsv(file, store.domain), {
            onSuccess: ({ id }) => Effect.succeed(seeOther(pageOf(paths.import, id))),
            onFailure: (error) =>
              error._tag === "ValidationFailed"
                ? refuse({
                    sentence: "Not read: {problem}.",
                    values: { problem: error.reasons }
                  })
                : Effect.fail(error)
          })
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
