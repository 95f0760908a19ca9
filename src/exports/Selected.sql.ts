import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { makeMerchantConditions } from "../catalog/ListCandidates.sql.ts"
import { withNeedles } from "../catalog/MerchantLists.ts"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import type { ExportSelection } from "./ExportSelection.ts"

/** Some of the selected entities, in the order of their last change. `next`: the position after which the others come; null: these are the last. */
interface SelectedPage {
  readonly ids: ReadonlyArray<EntityId>
  readonly next: number | null
}

export interface Selected {
  readonly countSelected: (accountId: AccountId, selection: ExportSelection) => Effect.Effect<number>
  /** The number of selected products together with their variants. */
  readonly countWithVariants: (accountId: AccountId, selection: ExportSelection) => Effect.Effect<number>
  /** Whether the store has any of the selected entities. */
  readonly hasSelected: (accountId: AccountId, storeId: StoreId, selection: ExportSelection) => Effect.Effect<boolean>
  /** The numbers of selected entities that the stores have. A store without any has no number. */
  readonly countByStore: (
    accountId: AccountId,
    selection: ExportSelection
  ) => Effect.Effect<ReadonlyMap<StoreId, number>>
  /** The next selected entities after a position. `after` 0: from the first. */
  readonly selected: (
    accountId: AccountId,
    selection: ExportSelection,
    after: number,
    limit: number
  ) => Effect.Effect<SelectedPage>
}

/** How a statement about the selected entities, or all, is planned: filters may find all, and chosen entities are planned for their number. */
const hintOf = (sql: SqlClient, selection: ExportSelection | null) =>
  sql.literal(selection === null ? readsAll : "ids" in selection ? planCustom : `${planCustom} ${readsAll}`)

/** Makes the condition on an entity `e` that it is selected. */
const makeIsSelected = (sql: SqlClient) => {
  const { ofWindow } = makeMerchantConditions(sql)
  return (accountId: AccountId, selection: ExportSelection): Fragment =>
    sql.and([
      sql`e.account_id = ${accountId} AND e.kind = ${selection.kind}`,
      ...("ids" in selection
        ? [sql`e.id = ANY(${[...selection.ids]}::uuid[])`]
        : ofWindow(accountId, withNeedles(selection.filters)))
    ])
}

export const makeSelected = (sql: SqlClient): Selected => {
  const isSelected = makeIsSelected(sql)

  const countOf = (entitiesOf: (accountId: AccountId, selection: ExportSelection) => Fragment) => {
    const read = findSingle(Schema.Struct({ count: Schema.Number }))(
      (accountId: AccountId, selection: ExportSelection) =>
        sql`SELECT ${hintOf(sql, selection)} count(*)::float8 AS count FROM (${entitiesOf(accountId, selection)}) s`
    )
    return (accountId: AccountId, selection: ExportSelection) =>
      Effect.map(read(accountId, selection), ({ count }) => count)
  }

  const read = findAll(Schema.Struct({ id: EntityId, place: Schema.Number }))(
    (accountId: AccountId, selection: ExportSelection, after: number, limit: number) => sql`
      SELECT ${hintOf(sql, selection)} e.id, e.change_seq::float8 AS place
      FROM entity e
      WHERE ${isSelected(accountId, selection)} AND e.change_seq > ${after}
      ORDER BY e.change_seq LIMIT ${limit}`
  )

  // OFFSET 0: the versions of each entity are looked up by its key, also while PostgreSQL has no statistics.
  const readByStore = findAll(Schema.Struct({ storeId: StoreId, count: Schema.Number }))(
    (accountId: AccountId, selection: ExportSelection) => sql`
      SELECT ${hintOf(sql, selection)} v.store_id AS "storeId", count(*)::float8 AS count
      FROM entity e
      CROSS JOIN LATERAL (
        SELECT o.store_id FROM store_version o WHERE o.account_id = ${accountId} AND o.entity_id = e.id OFFSET 0
      ) v
      WHERE ${isSelected(accountId, selection)}
      GROUP BY v.store_id`
  )

  const readHas = findSingle(Schema.Struct({ has: Schema.Boolean }))(
    (accountId: AccountId, storeId: StoreId, selection: ExportSelection) => sql`
      SELECT ${hintOf(sql, selection)} EXISTS (
        SELECT FROM entity e
        CROSS JOIN LATERAL (
          SELECT FROM store_version o
          WHERE o.account_id = ${accountId} AND o.entity_id = e.id AND o.store_id = ${storeId} OFFSET 0
        ) v
        WHERE ${isSelected(accountId, selection)}
      ) AS has`
  )

  return {
    countSelected: countOf(
      (accountId, selection) => sql`SELECT e.id FROM entity e WHERE ${isSelected(accountId, selection)}`
    ),
    countWithVariants: countOf(
      (accountId, selection) => sql`
        SELECT e.id FROM entity e WHERE ${isSelected(accountId, selection)}
        UNION ALL
        SELECT c.id
        FROM entity e
        CROSS JOIN LATERAL (
          SELECT c.id FROM entity c WHERE c.account_id = ${accountId} AND c.parent_id = e.id OFFSET 0
        ) c
        WHERE ${isSelected(accountId, selection)}`
    ),
    hasSelected: (accountId, storeId, selection) =>
      Effect.map(readHas(accountId, storeId, selection), ({ has }) => has),
    countByStore: (accountId, selection) =>
      Effect.map(
        readByStore(accountId, selection),
        (rows) => new Map(rows.map(({ count, storeId }) => [storeId, count]))
      ),
    selected: (accountId, selection, after, limit) =>
      Effect.map(read(accountId, selection, after, limit), (rows) => ({
        ids: rows.map(({ id }) => id),
        next: rows.length < limit ? null : (rows.at(-1)?.place ?? null)
      }))
  }
}
