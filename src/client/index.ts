export {
  type CatalogClient,
  type ChangePage,
  type FollowedChange,
  type FollowOptions,
  type Kind,
  makeClient,
  type WalkParams,
  type WalkRow
} from "./CatalogClient.ts"
export { CatalogError, type CatalogErrorCode } from "./CatalogError.ts"
export { type Abortable, type Catalog, type ConnectSettings, connect, type Entities } from "./Connect.ts"
export type { Plain } from "./Plain.ts"
export type { ClientSettings, Endpoints } from "./Requests.ts"
export { verifyWebhook, type WebhookMessage, type WebhookRequest } from "./Webhook.ts"
