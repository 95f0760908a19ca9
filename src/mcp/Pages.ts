import { Effect, Option } from "effect"
import type { HistoryActor } from "../drafts/History.ts"
import { pageOf, pagePaths } from "../http/PagePaths.ts"
import type { ImportRun } from "../imports/Import.ts"
import { Imports } from "../imports/Imports.ts"
import { type ConnectionBounds, CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import { toSafeText } from "./Vocabulary.ts"

/** URLs of the pages on which a person does what an agent cannot. */
export const pagesOf = (baseUrl: string) => ({
  stores: `${baseUrl}${pagePaths.stores}`,
  entities: `${baseUrl}${pagePaths.products}`,
  connections: `${baseUrl}${pagePaths.connections}`,
  entity: (id: string) => `${baseUrl}${pageOf(pagePaths.entity, id)}`,
  import: (id: string) => `${baseUrl}${pageOf(pagePaths.import, id)}`
})
export type Pages = ReturnType<typeof pagesOf>

const nameOf = ({ kind, name }: HistoryActor) =>
  kind === "cli" ? "The command line" : toSafeText(name ?? `A ${kind}`, 200)

const lockOf = (
  pages: Pages,
  bounds: ConnectionBounds,
  { actor, createdAt, id, isPaused, phase, source, storeId, storeName }: ImportRun
) => {
  const store = includes(bounds, storeId) ? toSafeText(storeName, 200) : "another store"
  const what = `${source === "csv" ? "an import of a file into" : "a refresh of"} ${store}`
  const page = pages.import(id)
  if (isPaused)
    return `${what}, started at ${createdAt}, is paused, and drafts are locked until a person resumes or cancels its job: see ${page}`
  return phase === "applying"
    ? `${what}, started at ${createdAt}, is being applied; it ends by itself, and its progress is at ${page}`
    : `${nameOf(actor)} started ${what} at ${createdAt}, and drafts are locked until ${phase === "fetching" ? "it is compared with the catalog and " : ""}a person accepts or discards it at ${page}`
}

/** Describes the import that locks the actor's account: who began it, when, and the page where a person ends the lock. */
export const makeFindLock = (pages: Pages) =>
  Effect.map(Imports, (imports) =>
    Effect.gen(function* () {
      const bounds = yield* CurrentBounds
      return Option.match(yield* imports.holder, {
        onNone: () => "an import had locked the account, but it has ended by now",
        onSome: (holder) => lockOf(pages, bounds, holder)
      })
    })
  )
