export { Accounts } from "../access/Accounts.ts"
export { ApiKeys } from "../access/ApiKeys.ts"
export { RateBudget } from "../budgets/RateBudget.ts"
export { Catalog } from "../catalog/Catalog.ts"
export { CatalogChange } from "../drafts/CatalogChange.ts"
export { CatalogChanges } from "../drafts/CatalogChanges.ts"
export { Drafts } from "../drafts/Drafts.ts"
export { MetafieldDefinitions, OwnDefinitions } from "../drafts/MetafieldDefinitions.ts"
export { DataHealth } from "../health/DataHealth.ts"
export { Remediation } from "../health/Remediation.ts"
export { Programs } from "../programs/Programs.ts"
export { Publishing } from "../publishing/Publishing.ts"
export { Mirror } from "../storedata/Mirror.ts"
export { StoreData } from "../storedata/StoreData.ts"
export { Stores } from "../stores/Stores.ts"
export { actingAs, anAccount, anEntity, definedAs } from "./Builders.ts"
export { MemoryRepositories, TestServer, TestServices, testServer, testServices } from "./Layers.ts"
export { type ContractRule, platformContract } from "./platform/PlatformContract.ts"
export {
  ContractBroken,
  type PlatformUnderTest,
  type ShopFailure,
  type ShopSections,
  type StaffRecord,
  type TestShop
} from "./platform/PlatformUnderTest.ts"
