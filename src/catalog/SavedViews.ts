import { Context, Effect, Layer } from "effect"
import type { EntityKind } from "../model/Attribute.ts"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId, UserId } from "../model/Ids.ts"
import { type SavedView, SavedViewsRepo } from "./SavedViewsRepo.ts"

/** Maximum number of views of a user for one list. */
const maxViews = 20
/** Maximum length of a view's name, in characters. */
export const maxViewName = 60

/** The user to whom views belong, and the list that they filter. */
export interface ViewsOf {
  readonly accountId: AccountId
  readonly userId: UserId
  readonly list: EntityKind
}

const make = Effect.map(SavedViewsRepo, (repo) => ({
  /** Ordered by name. */
  list: repo.list,
  /** Replaces a view of the same name. ValidationFailed: the name does not fit, or the user has `maxViews` others. */
  save: Effect.fnUntraced(function* (of: ViewsOf, view: SavedView) {
    const name = view.name.trim()
    if (name === "" || Array.from(name).length > maxViewName)
      return yield* ValidationFailed.at("name", `must have 1 to ${maxViewName} characters`)
    if (!(yield* repo.save(of, { ...view, name }, maxViews)))
      return yield* ValidationFailed.at(
        "name",
        `is the ${maxViews + 1}st view of this list: delete one first, or use the name of a view to replace it`
      )
  }),
  /** A view that does not exist is ignored. */
  remove: repo.remove
}))

/** Filters of the console's lists that users save under names. */
export class SavedViews extends Context.Tag("catalog/SavedViews")<SavedViews, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(SavedViews, make)
}
