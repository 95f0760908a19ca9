import { Effect } from "effect"
import type { HistoryActor } from "../drafts/History.ts"
import { pageOf, pagePaths } from "../http/PagePaths.ts"
import { holderOf, type ImportRun } from "../imports/Import.ts"
import { Imports } from "../imports/Imports.ts"
import { type ConnectionBounds, CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import { shown } from "./Vocabulary.ts"

/** URLs of the pages on which a person does what an agent cannot. */
export const pagesOf = (baseUrl: string) => ({
  stores: `${baseUrl}${pagePaths.stores}`,
  entities: `${baseUrl}${pagePaths.entities}`,
  connections: `${baseUrl}${pagePaths.connections}`,
  entity: (id: string) => `${baseUrl}${pageOf(pagePaths.entity, id)}`,
  import: (id: string) => `${baseUrl}${pageOf(pagePaths.import, id)}`
})
export type Pages = ReturnType<typeof pagesOf>

const nameOf = ({ kind, name }: HistoryActor) => (kind === "cli" ? "The command line" : shown(name ?? `A ${kind}`, 200))

const lockOf = (
  pages: Pages,
  bounds: ConnectionBounds,
  { actor, createdAt, id, phase, source, storeDomain, storeId }: ImportRun
) => {
  const store = includes(bounds, storeId) ? storeDomain : "another store"
  const what = `${source === "csv" ? "an import of a file into" : "a refresh of"} ${store}`
  const page = pages.import(id)
  return phase === "applying"
    ? `${what}, begun at ${createdAt}, is being applied: it ends without a person; its state is on ${page}`
    : `${nameOf(actor)} began ${what} at ${createdAt}, and drafts wait until a person accepts or discards it on ${page}`
}

/** Describes the import that locks the actor's account: who began it, when, and the page where a person ends the lock. */
export const makeFindLock = (pages: Pages) =>
  Effect.map(Imports, ({ list }) =>
    Effect.gen(function* () {
      const bounds = yield* CurrentBounds
      const holder = holderOf(yield* list)
      return holder === undefined
        ? "an import has locked the account, and has ended meanwhile"
        : lockOf(pages, bounds, holder)
    })
  )
