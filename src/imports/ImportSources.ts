import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { temporaryFolder } from "../runtime/TemporaryFolder.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { inspectShopifyCsv } from "./csv/ShopifyCsvInspection.ts"
import { makeImportComparison } from "./ImportComparison.ts"
import type { SourceError } from "./ImportFailures.ts"
import type { Compared, ReportProgress } from "./ImportStaging.ts"
import { makeRefreshComparison } from "./refresh/RefreshComparison.ts"
import { makeStoreReading } from "./refresh/StoreReading.ts"

/** Reads the source of an import. While the scope is open, `compare` can run several times. */
export type ReadSource = Effect.Effect<
  { readonly compare: Effect.Effect<Compared, SourceError> },
  SourceError,
  Scope.Scope
>

/** Writes an uploaded export to a temporary file, because it is read twice. */
export const writeTemporaryFile = (content: Uint8Array) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder("catalog-import-")
    const path = join(folder, "export.csv")
    yield* Effect.promise(() => writeFile(path, content))
    return path
  })

/** Finds the store of an import, and reads an export file or the store's platform. */
export const makeImportSources = Effect.gen(function* () {
  const faults = yield* FaultInjector
  const stores = yield* StoresRepo
  const { whyMissing } = yield* PlatformRegistry
  const stageFile = yield* makeImportComparison
  const compareStore = yield* makeRefreshComparison
  const { fetch } = yield* makeStoreReading

  const findStore = (accountId: AccountId, storeDomain: string) =>
    Effect.gen(function* () {
      const store = (yield* stores.list(accountId)).find(({ domain }) => domain === storeDomain)
      return store === undefined
        ? yield* ValidationFailed.at("store", `no store ${storeDomain} is linked; see \`catalog store list\``)
        : store
    })

  const findPlatformStore = (accountId: AccountId, storeDomain: string) =>
    Effect.gen(function* () {
      const store = yield* findStore(accountId, storeDomain)
      const why = store.platform === filesOnly ? "has no platform" : whyMissing(store.platform)
      if (why !== undefined)
        return yield* ValidationFailed.at("store", `${storeDomain} ${why}: import its product export instead`)
      return store
    })

  const readFile = (accountId: AccountId, store: Store, id: ImportId, path: string, report: ReportProgress) =>
    Effect.gen(function* () {
      const inspected = yield* inspectShopifyCsv(path, ({ bytesRead, totalBytes }) =>
        report({ step: "checking", done: bytesRead, total: totalBytes })
      )
      yield* faults.at("checked")
      return { compare: stageFile(accountId, store, id, { ...inspected, path }, report) }
    }) satisfies ReadSource

  const readStore = (accountId: AccountId, store: Store, id: ImportId, report: ReportProgress) =>
    Effect.gen(function* () {
      const fetched = yield* fetch(accountId, store, id, report)
      yield* faults.at("fetched")
      return { compare: compareStore(accountId, store, id, fetched, report) }
    }).pipe(
      Effect.catchTag("NotFound", () => ValidationFailed.at("store", `${store.domain} was unlinked while it was read`))
    ) satisfies ReadSource

  return { findStore, findPlatformStore, readFile, readStore }
})
