import type { HealthSection } from "../health/Health.ts"
import { importPath, storesPath, withId } from "../http/PagePaths.ts"
import type { StoreId } from "../model/Ids.ts"
import { stylesheetPath } from "./Style.ts"

/** Paths of the pages. */
export const paths = {
  home: "/",
  health: "/data-health",
  scanHealth: "/data-health/scan",
  healthIssues: "/data-health/issues",
  drops: "/drops",
  newDrop: "/drops/new",
  cancelDrop: "/drops/cancel",
  drop: "/drops/:id",
  signIn: "/sign-in",
  signOut: "/sign-out",
  setPassword: "/set-password",
  stores: storesPath,
  refreshStore: "/stores/refresh",
  publishStore: "/stores/publish",
  imports: "/imports",
  import: importPath,
  decideConflicts: "/import/decide",
  decideAllConflicts: "/import/decide-all",
  acceptImport: "/import/accept",
  discardImport: "/import/discard",
  entities: "/entities",
  entity: "/entity",
  publishEntity: "/entity/publish",
  keys: "/settings/keys",
  revokeKey: "/settings/keys/revoke",
  connections: "/settings/connections",
  disconnect: "/settings/connections/disconnect",
  disconnectAll: "/settings/connections/disconnect-all",
  stylesheet: stylesheetPath
} as const

/** The navigation of every page, in this order. A new section needs a line here and its routes in Console.ts. */
export const sections: ReadonlyArray<{ readonly name: string; readonly path: string }> = [
  { name: "Stores", path: paths.stores },
  { name: "Imports", path: paths.imports },
  { name: "Entities", path: paths.entities },
  { name: "Data health", path: paths.health },
  { name: "Drops", path: paths.drops },
  { name: "Connections", path: paths.connections },
  { name: "API keys", path: paths.keys }
]

/** The page of one record. */
export const pageOf = (path: typeof paths.import | typeof paths.entity, id: string): string => withId(path, id)

/** The page of one drop. */
export const dropPath = (id: string): string => `${paths.drops}/${id}`

/** The page that publishes all changes of a store. */
export const publishStoreOf = (storeId: string): string =>
  `${paths.publishStore}?${new URLSearchParams({ id: storeId })}`

/** The form of a new drop, filled in with an entity. */
export const newDropOf = (entityId: string): string => `${paths.newDrop}?${new URLSearchParams({ entity: entityId })}`

/** The one-time link that lets a user set a password. */
export const setPasswordLink = (baseUrl: string, token: string): string =>
  `${baseUrl}${paths.setPassword}?${new URLSearchParams({ token })}`

/** The list of a section's issues; by default of all stores and languages. */
export const issuesPath = (
  section: HealthSection,
  filters: {
    readonly storeId?: StoreId | undefined
    readonly locale?: string | undefined
    readonly page?: number | undefined
  } = {}
): string => {
  const { locale, page, storeId } = filters
  const query = new URLSearchParams({
    section,
    ...(storeId !== undefined && { store_id: storeId }),
    ...(locale !== undefined && { locale }),
    ...(page !== undefined && page > 1 && { page: String(page) })
  })
  return `${paths.healthIssues}?${query}`
}
