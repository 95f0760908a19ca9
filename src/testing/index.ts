export { AccountDeletion } from "../access/AccountDeletion.ts"
export { Accounts } from "../access/Accounts.ts"
export { ApiKeys, type NewKey } from "../access/ApiKeys.ts"
export { RateBudget } from "../budgets/RateBudget.ts"
export type { BulkChange } from "../bulk/BulkChange.ts"
export { BulkJobs, type BulkSelection } from "../bulk/BulkJobs.ts"
export { Catalog, type ListQuery } from "../catalog/Catalog.ts"
export { Undo } from "../connections/Undo.ts"
export type { UndoWindow } from "../connections/UndoRules.ts"
export { DemoEdits } from "../demo/DemoEdits.ts"
export { DemoFailures } from "../demo/DemoFailures.ts"
export { CatalogChange } from "../drafts/CatalogChange.ts"
export { CatalogChanges } from "../drafts/CatalogChanges.ts"
export { NewEntity } from "../drafts/Creation.ts"
export { Drafts } from "../drafts/Drafts.ts"
export type { AttributesUpdate, Draft, DraftState } from "../drafts/DraftWrite.ts"
export type { HistoryEntry } from "../drafts/History.ts"
export { MetafieldDefinitions, OwnDefinitions } from "../drafts/MetafieldDefinitions.ts"
export type { Drop, NewDrop } from "../drops/Drop.ts"
export { Drops } from "../drops/Drops.ts"
export { ChangeFeed } from "../feed/ChangeFeed.ts"
export type { FeedChange } from "../feed/FeedChange.ts"
export { DataHealth } from "../health/DataHealth.ts"
export type { HealthDimension, HealthRules, HealthSection } from "../health/Health.ts"
export { Remediation } from "../health/Remediation.ts"
export type { FillOperation, ReconcileOperation } from "../health/RemediationRules.ts"
export type { ImportConflict, ImportRun } from "../imports/Import.ts"
export { Imports } from "../imports/Imports.ts"
export type { Job } from "../jobs/Job.ts"
export { Jobs } from "../jobs/Jobs.ts"
export { type Actor, CurrentActor } from "../model/Actor.ts"
export type { Attributes, EntityKind } from "../model/Attribute.ts"
export {
  CursorExpired,
  type DomainError,
  Forbidden,
  LiveReadFailed,
  NotFound,
  PimLocked,
  RateLimited,
  RevisionConflict,
  Unauthorized,
  Unavailable,
  ValidationFailed
} from "../model/Errors.ts"
export {
  AccountId,
  ApiKeyId,
  ConnectionId,
  DropId,
  EntityId,
  ImportId,
  JobId,
  PublicationId,
  StoreId,
  WebhookId
} from "../model/Ids.ts"
export { JsonText } from "../model/JsonText.ts"
export type { PublishError, PublishStatus } from "../model/PublishState.ts"
export type { Store } from "../model/Store.ts"
export type { Timestamp } from "../model/Timestamp.ts"
export type { DemoFailure } from "../platform/demo/DemoShop.ts"
export { JobWorker } from "../programs/JobWorker.ts"
export { Programs } from "../programs/Programs.ts"
export type { PublicationRecord } from "../publishing/PublicationRecord.ts"
export { Publishing } from "../publishing/Publishing.ts"
export type { RequestAnswer } from "../publishing/PublishRequests.ts"
export { Mirror } from "../storedata/Mirror.ts"
export { StoreData } from "../storedata/StoreData.ts"
export { Stores } from "../stores/Stores.ts"
export { Webhooks } from "../webhooks/Webhooks.ts"
export { actingAs, anAccount, anEntity, definedAs } from "./Builders.ts"
export { runDueWork } from "./DueWork.ts"
export { MemoryRepositories, TestServer, TestServices, type TestSettings, testServer, testServices } from "./Layers.ts"
export { type ContractRule, platformContract } from "./platform/PlatformContract.ts"
export {
  ContractBroken,
  type PlatformUnderTest,
  type ShopFailure,
  type ShopSections,
  type StaffRecord,
  type TestShop
} from "./platform/PlatformUnderTest.ts"
