import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { HealthIssuePage } from "../../health/Health.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import type { IssueFilters } from "./IssuesPage.tsx"
import type { FillRow } from "./RepairRows.ts"

/**
 * The content of the tables that repair. `rows`: number of issues on all pages; `typed`: the value in the common
 * control.
 */
export interface RepairContent {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly filters: IssueFilters
  readonly page: HealthIssuePage
  readonly rows: number
  readonly typed: string | undefined
  readonly pictures: ReadonlyMap<EntityId, ListedEntity>
  readonly address: PictureAddress
  /** The row whose control gets the focus. */
  readonly firstRefused: FillRow | undefined
}
