/** What an adapter of another platform is written with (`docs/platforms.md`). */
export { EntityId } from "../model/Ids.ts"
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
export { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "./PlatformErrors.ts"
export { PlatformRecord } from "./PlatformRecord.ts"
export { Publication, type Published } from "./Publication.ts"
export { RecordsOfOthers } from "./RecordsOfOthers.ts"
export { EntityChannel, SalesChannel } from "./SalesChannel.ts"
export { WriteDeadline } from "./WriteDeadline.ts"
