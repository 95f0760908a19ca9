import type { HealthSection } from "../health/Health.ts"
import { pagePaths } from "../http/PagePaths.ts"
import type { StoreId } from "../model/Ids.ts"
import type { Role } from "../model/Role.ts"
import type { IconName } from "./Icon.tsx"
import type { Sentence } from "./languages/Words.tsx"

export { pageOf } from "../http/PagePaths.ts"

/** Paths of the pages. */
export const paths = {
  ...pagePaths,
  home: "/",
  hideFirstSteps: "/first-steps/hide",
  newProduct: "/products/new",
  copyProduct: "/products/copy",
  variants: "/variants",
  newVariant: "/variants/new",
  collections: "/collections",
  newCollection: "/collections/new",
  collectionProducts: "/collections/products",
  moveProduct: "/collections/products/move",
  media: "/media",
  newMedia: "/media/new",
  saveView: "/views/save",
  deleteView: "/views/delete",
  health: "/data-health",
  scanHealth: "/data-health/scan",
  healthIssues: "/data-health/issues",
  fillIssues: "/data-health/issues/fill",
  equalIssues: "/data-health/issues/equal",
  retryIssues: "/data-health/issues/retry",
  drops: "/drops",
  newDrop: "/drops/new",
  cancelDrop: "/drops/cancel",
  drop: "/drops/:id",
  signIn: "/sign-in",
  signOut: "/sign-out",
  setPassword: "/set-password",
  refreshStore: "/stores/refresh",
  linkStore: "/stores/link",
  unlinkStore: "/stores/unlink",
  testStoreToken: "/stores/test-token",
  storeChannels: "/stores/channels",
  exportCsv: "/exports/products.csv",
  exportJsonl: "/exports/catalog.jsonl",
  publishStore: "/stores/publish",
  publishSelected: "/stores/publish-selected",
  cancelPublishes: "/stores/cancel-publishes",
  publishListed: "/selection/publish",
  cancelListed: "/selection/cancel-publishes",
  setSelected: "/selection/field",
  addSelected: "/selection/store",
  removeSelected: "/selection/store/remove",
  deleteSelected: "/selection/delete",
  exportSelected: "/selection/export",
  scheduleSelected: "/selection/schedule",
  jobs: "/jobs",
  commandJob: "/jobs/command",
  job: "/jobs/:id",
  imports: "/imports",
  decideConflicts: "/import/decide",
  decideAllConflicts: "/import/decide-all",
  acceptImport: "/import/accept",
  discardImport: "/import/discard",
  publishEntity: "/entity/publish",
  editEntity: "/entity/edit",
  undoEdit: "/entity/undo",
  editGallery: "/entity/gallery",
  moveVariant: "/entity/variants",
  reviewEntity: "/entity/review",
  keys: "/settings/keys",
  revokeKey: "/settings/keys/revoke",
  disconnect: "/settings/connections/disconnect",
  disconnectAll: "/settings/connections/disconnect-all",
  connection: "/settings/connections/:id",
  undoConnection: "/settings/connections/undo",
  webhooks: "/settings/webhooks",
  testWebhook: "/settings/webhooks/test",
  replayWebhook: "/settings/webhooks/replay",
  rotateWebhook: "/settings/webhooks/rotate",
  deleteWebhook: "/settings/webhooks/delete",
  webhook: "/settings/webhooks/:id",
  theme: "/settings/theme",
  events: "/events",
  team: "/settings/team",
  teamRole: "/settings/team/role",
  teamLink: "/settings/team/link",
  cancelInvitation: "/settings/team/cancel",
  disableUser: "/settings/team/disable",
  enableUser: "/settings/team/enable",
  resetSecondFactor: "/settings/team/reset-second-factor",
  requireSecondFactor: "/settings/team/require-second-factor",
  releaseSecondFactor: "/settings/team/release-second-factor",
  profile: "/settings/profile",
  ownPassword: "/settings/profile/password",
  endSession: "/settings/profile/end-session",
  endOtherSessions: "/settings/profile/end-other-sessions",
  secondFactor: "/settings/second-factor",
  confirmSecondFactor: "/settings/second-factor/confirm",
  disableSecondFactor: "/settings/second-factor/disable",
  renewRecoveryCodes: "/settings/second-factor/recovery-codes",
  signInCode: "/sign-in/code",
  forgotPassword: "/forgot-password"
} as const

export interface Section {
  readonly name: Sentence
  readonly path: string
  readonly icon: IconName
  /** The role that a visitor needs to see the section. Default: any role. */
  readonly needs?: Role
}

/** The navigation of every page, in this order. A new section is added here, and its routes in Console.ts. */
export const sections: ReadonlyArray<Section> = [
  { name: "Home", path: paths.home, icon: "house" },
  { name: "Products", path: paths.products, icon: "package" },
  { name: "Collections", path: paths.collections, icon: "layers" },
  { name: "Media", path: paths.media, icon: "image" },
  { name: "Imports", path: paths.imports, icon: "import" },
  { name: "Data health", path: paths.health, icon: "heart-pulse" },
  { name: "Drops", path: paths.drops, icon: "calendar-clock" },
  { name: "Jobs", path: paths.jobs, icon: "list-checks" }
]

export const settings: ReadonlyArray<Section> = [
  { name: "Stores", path: paths.stores, icon: "store" },
  { name: "Team", path: paths.team, icon: "users", needs: "admin" },
  { name: "Profile", path: paths.profile, icon: "circle-user" },
  { name: "Agents", path: paths.connections, icon: "bot" },
  { name: "API keys", path: paths.keys, icon: "key-round", needs: "admin" },
  { name: "Webhooks", path: paths.webhooks, icon: "send", needs: "admin" },
  { name: "Docs", path: "/docs", icon: "book-open" }
]

/** The page that changes the products of a collection. `more`: other parameters. */
export const collectionProductsOf = (
  id: string,
  more: ReadonlyArray<readonly [name: string, value: string]> = []
): string => `${paths.collectionProducts}?${new URLSearchParams(Object.fromEntries([["id", id], ...more]))}`

/** The page of one drop. */
export const dropPath = (id: string): string => `${paths.drops}/${id}`

/** The page of one job. */
export const jobPath = (id: string): string => `${paths.jobs}/${id}`

/** The page of one webhook. */
export const webhookPath = (id: string): string => `${paths.webhooks}/${id}`

/** The page of a connection: what it changed, and the form that undoes it. */
export const connectionPath = (id: string): string => `${paths.connections}/${id}`

/** The page of a connection with the changes that are older than the given one. */
export const olderChangesPath = (
  id: string,
  { at, entityId, sequence }: { readonly at: string; readonly sequence: number; readonly entityId: string }
): string => `${connectionPath(id)}?${new URLSearchParams({ at, sequence: String(sequence), entityId })}`

/** The page that shows what an undo would change, starting after the entity `after`. */
export const undoReviewPath = (
  id: string,
  { since, until }: { readonly since: string; readonly until: string },
  after: string
): string => `${paths.undoConnection}?${new URLSearchParams({ id, since, until, after })}`

/** The page that publishes all changes of a store. */
export const publishStoreOf = (storeId: string): string =>
  `${paths.publishStore}?${new URLSearchParams({ id: storeId })}`

/** The page that chooses the sales channels of a store for new products and collections. */
export const storeChannelsOf = (storeId: string): string =>
  `${paths.storeChannels}?${new URLSearchParams({ id: storeId })}`

/** The download of a store's products. */
export const exportCsvOf = (storeId: string): string => `${paths.exportCsv}?${new URLSearchParams({ id: storeId })}`

/** The form for a new drop, with the entity filled in. */
export const newDropOf = (entityId: string): string => `${paths.newDrop}?${new URLSearchParams({ entity: entityId })}`

/** The one-time link that lets a user set a password. */
export const setPasswordLink = (baseUrl: string, token: string): string =>
  `${baseUrl}${paths.setPassword}?${new URLSearchParams({ token })}`

/** The list of issues of a section. Without filters: on all stores and in all languages. */
export const issuesPath = (
  section: HealthSection,
  filters: {
    readonly storeId?: StoreId | undefined
    readonly locale?: string | undefined
    readonly field?: string | undefined
    readonly page?: number | undefined
  } = {}
): string => {
  const { field, locale, page, storeId } = filters
  const query = new URLSearchParams({
    section,
    ...(storeId !== undefined && { store_id: storeId }),
    ...(locale !== undefined && { locale }),
    ...(field !== undefined && { field }),
    ...(page !== undefined && page > 1 && { page: String(page) })
  })
  return `${paths.healthIssues}?${query}`
}

/** The page that shows what a publish of an entity would change. */
export const reviewPath = (entityId: string): string => `${paths.reviewEntity}?${new URLSearchParams({ id: entityId })}`

/** A form that the command palette leads to. */
interface Command extends Section {
  /** The role that the form needs. */
  readonly needs: Role
}

/** The commands of the palette that are not pages of the navigation. */
export const commands: ReadonlyArray<Command> = [
  { name: "New drop", path: paths.newDrop, icon: "calendar-clock", needs: "publish" },
  { name: "Refresh a store", path: `${paths.stores}#linked`, icon: "store", needs: "edit" },
  { name: "Start an import", path: `${paths.imports}#upload`, icon: "import", needs: "edit" },
  { name: "Scan data health", path: paths.health, icon: "heart-pulse", needs: "edit" },
  { name: "Link a store", path: paths.linkStore, icon: "store", needs: "admin" },
  { name: "Invite a colleague", path: `${paths.team}#invite`, icon: "users", needs: "admin" },
  { name: "Create an API key", path: `${paths.keys}#create`, icon: "key-round", needs: "admin" },
  { name: "Retry failed publishes", path: issuesPath("sync-failed"), icon: "send", needs: "publish" }
]
