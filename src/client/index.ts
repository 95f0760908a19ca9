import type * as Branded from "./CatalogClient.ts"
import type { Plain } from "./Plain.ts"

export { type CatalogClient, type FollowOptions, type Kind, makeClient, type WalkParams } from "./CatalogClient.ts"
export { CatalogError, type CatalogErrorCode } from "./CatalogError.ts"
export { type Abortable, type Catalog, type ConnectSettings, connect, type Entities } from "./Connect.ts"
export type { Plain } from "./Plain.ts"
export type { ClientSettings, Endpoints } from "./Requests.ts"
export { verifyWebhook, type WebhookMessage, type WebhookRequest } from "./Webhook.ts"

// Without brands, as `connect` gives them. What `makeClient` gives fits too.
/** A page of changes. `next_cursor`: save it after the changes are handled, and follow from it later. */
export type ChangePage = Plain<Branded.ChangePage>
/** A change, and the cursor to save after it is handled. */
export type FollowedChange = Plain<Branded.FollowedChange>
/** A row of a walk: short, or with the members of the groups that `include` names. */
export type WalkRow<K extends Branded.Kind, Params = {}> = Plain<Branded.WalkRow<K, Params>>
