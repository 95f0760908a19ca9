import { maxViewName } from "../../catalog/SavedViews.ts"
import type { SavedView } from "../../catalog/SavedViewsRepo.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { Visitor } from "../Browser.ts"
import { listPages } from "../entities/ListPages.ts"
import { FieldMisfit, fieldState, type Misfit } from "../Field.tsx"
import { HiddenFields } from "../Frame.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { type ListQuery, listAddress } from "./ListFilters.tsx"

/** The refused form of a view: its name, and what is wrong with it. */
export interface RefusedView {
  readonly name: string
  readonly misfit: Misfit
}

interface Content {
  readonly visitor: Visitor
  readonly kind: EntityKind
  readonly query: ListQuery
  readonly views: ReadonlyArray<SavedView>
  readonly refused: RefusedView | undefined
}

/** The query of a list's address, without the position. */
export const viewQueryOf = (query: ListQuery): string => listAddress("", query).slice(1)

const Fields = ({ kind, query, visitor }: Content) => (
  <>
    <HiddenFields csrf={visitor.csrf} />
    <input type="hidden" name="list" value={kind} />
    <input type="hidden" name="query" value={viewQueryOf(query)} />
  </>
)

/** The saved views of a list, and the form that saves the filters that are set, or deletes the view that is shown. */
export const ViewBar = (content: Content) => {
  const t = useWords()

  const { kind, query, refused, views } = content
  const { path } = listPages[kind]
  const current = viewQueryOf(query)
  // Two pages that were opened before can save the same filters.
  const shown = views.filter((view) => view.query === current)
  if (views.length === 0 && current === "") return null
  return (
    <div class="views">
      {views.length > 0 && (
        <ul class="chips" aria-label={t("Saved views")}>
          {views.map((view) => (
            <li key={view.name}>
              <a class="chip" href={`${path}?${view.query}`} aria-current={shown.includes(view) ? "true" : undefined}>
                <bdi>{view.name}</bdi>
              </a>
            </li>
          ))}
        </ul>
      )}
      {shown.map(({ name }) => (
        <form key={name} method="post" action={paths.deleteView}>
          <Fields {...content} />
          <input type="hidden" name="name" value={name} />
          <button type="submit" class="plain">
            {t("Delete the view")} {shown.length > 1 && <bdi>{name}</bdi>}
          </button>
        </form>
      ))}
      {shown.length === 0 && current !== "" && (
        <details open={refused !== undefined}>
          <summary>{t("Save these filters")}</summary>
          <form method="post" action={paths.saveView} class="line">
            <Fields {...content} />
            <label>
              {t("Name of the view")}
              <input
                type="text"
                name="name"
                value={refused?.name ?? ""}
                required
                maxLength={maxViewName}
                {...fieldState(refused?.misfit, "name")}
              />
            </label>
            <button type="submit" class="plain">
              {t("Save")}
            </button>
            <FieldMisfit field="name" misfit={refused?.misfit} />
          </form>
        </details>
      )}
    </div>
  )
}
