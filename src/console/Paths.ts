import { stylesheetPath } from "./Style.ts"

/** Where the pages are. */
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
  stores: "/stores",
  refreshStore: "/stores/refresh",
  publishStore: "/stores/publish",
  imports: "/imports",
  import: "/import",
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

/** What the navigation of every page names, in this order: a new section is a line here and its routes in Console.ts. */
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
export const pageOf = (path: typeof paths.import | typeof paths.entity, id: string): string =>
  `${path}?${new URLSearchParams({ id })}`

/** The page of one drop. */
export const dropPath = (id: string): string => `${paths.drops}/${id}`

/** What a store waits for, before it is published. */
export const publishStoreOf = (storeId: string): string =>
  `${paths.publishStore}?${new URLSearchParams({ id: storeId })}`

/** The form of a new drop, filled in with what it changes. */
export const newDropOf = (entityId: string): string => `${paths.newDrop}?${new URLSearchParams({ entity: entityId })}`

/** The one-time link by which a user sets a password. */
export const setPasswordLink = (baseUrl: string, token: string): string =>
  `${baseUrl}${paths.setPassword}?${new URLSearchParams({ token })}`
