import { Context, Effect, Layer } from "effect"
import { Cursors } from "../catalog/Cursors.ts"
import { CurrentActor } from "../model/Actor.ts"
import { CursorExpired, ValidationFailed } from "../model/Errors.ts"
import { JsonText } from "../model/JsonText.ts"
import type { FeedChange } from "./FeedChange.ts"
import { FeedRepo } from "./FeedRepo.ts"

export interface FeedQuery {
  /** Changes on a page, 1 to 250. */
  readonly limit: number
  /** The `next_cursor` of the page before, or `latest`: after the last change. Undefined: from the oldest change that is kept. */
  readonly cursor?: string | undefined
}

export interface FeedPage {
  readonly data: ReadonlyArray<FeedChange>
  readonly next_cursor: string
}

const make = Effect.gen(function* () {
  const cursors = yield* Cursors
  const repo = yield* FeedRepo

  return {
    /**
     * For a reader in this program: changes of an account after a number, and the ends of the feed at that moment. A reader keeps
     * the number of the last change that it has handled. If that is smaller than `floor`, it missed changes.
     */
    read: repo.read,
    /** Deletes changes that are older than 30 days. Returns the number of rows. */
    forget: repo.forget,
    /**
     * A page of the actor's account. ValidationFailed: the cursor is not one of this feed. CursorExpired: changes after it were
     * deleted.
     */
    page: Effect.fnUntraced(function* ({ cursor, limit }: FeedQuery) {
      const { accountId } = yield* CurrentActor
      const binding = { list: "changes", accountId, filters: {} }
      const pageText = (changes: ReadonlyArray<FeedChange>, last: number) =>
        new JsonText<FeedPage>(`{"data":${JSON.stringify(changes)},"next_cursor":"${cursors.encode(binding, last)}"}`)
      if (cursor === "latest") return pageText([], (yield* repo.read(accountId, 0, 0)).last)
      const decoded = cursor === undefined ? undefined : cursors.decode(binding, cursor)
      if (decoded?._tag === "None") return yield* foreignCursor
      const after = decoded?.value ?? 0
      const { changes, floor, last } = yield* repo.read(accountId, after, limit)
      if (decoded !== undefined && after < floor) return yield* new CursorExpired()
      if (decoded !== undefined && after > last) return yield* foreignCursor
      if (after >= floor) return pageText(changes, changes.at(-1)?.seq ?? after)
      const oldest = yield* repo.read(accountId, floor, limit)
      return pageText(oldest.changes, oldest.changes.at(-1)?.seq ?? oldest.floor)
    })
  }
})

/** The feed of changes, in the order in which they became visible. */
export class ChangeFeed extends Context.Tag("catalog/ChangeFeed")<ChangeFeed, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(ChangeFeed, make)
}

const foreignCursor = ValidationFailed.at(
  "cursor",
  "is not a cursor of this feed; send next_cursor unchanged, `latest` to begin now, or no cursor to begin with the oldest change"
)
