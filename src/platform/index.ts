/** What an adapter of another platform is written with (`docs/platforms.md`). */
export type { Attributes, AttributeValue, EntityKind } from "../model/Attribute.ts"
export type {
  OwnerType,
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../model/Definition.ts"
export { AccountId, EntityId, StoreId } from "../model/Ids.ts"
export type { FirstOption } from "../model/ProductOptions.ts"
export type { PublishError } from "../model/PublishState.ts"
export type { PlatformMarket } from "./Market.ts"
export type {
  CredentialField,
  Permission,
  PlatformAdapter,
  PlatformCapability,
  PlatformDescription,
  PlatformServices
} from "./PlatformAdapter.ts"
export { PlatformAnswers } from "./PlatformAnswers.ts"
export { PlatformClient, type PlatformStore, type StoreFacts } from "./PlatformClient.ts"
export {
  type PlatformFailure,
  PlatformOutcomeUnknown,
  type PlatformReadError,
  PlatformRefused,
  PlatformUnavailable,
  type PlatformWriteError
} from "./PlatformErrors.ts"
export { PlatformRecord } from "./PlatformRecord.ts"
export { Publication, type Published, type PublishedEntity, type PublishedVariant } from "./Publication.ts"
export { RecordsOfOthers } from "./RecordsOfOthers.ts"
export { EntityChannel, SalesChannel } from "./SalesChannel.ts"
export type { PlatformTranslations } from "./Translation.ts"
export { failIfUnread, identified, type SameRecord } from "./UnreadRecord.ts"
export { WriteDeadline } from "./WriteDeadline.ts"
