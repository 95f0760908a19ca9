import type { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect, Schema } from "effect"
import type { NodeStates } from "../database/ClusterNodes.ts"
import { ofAccount } from "../database/ClusterNodes.ts"
import type { DirectQuery } from "../database/DirectQuery.ts"
import { oneServer } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId } from "../model/Ids.ts"

/** Reads the versions of accounts on a cluster. Accounts with the same `laneOf` are on the same node. */
export interface FindVersions {
  readonly laneOf: (accountId: AccountId) => string
  readonly find: (accountIds: ReadonlyArray<AccountId>) => Effect.Effect<ReadonlyMap<AccountId, number>>
}

/** SQL that adds the accounts' versions to a look-up of credentials. */
interface AccountVersions {
  /** A column for the SELECT list, and a join for the FROM clause. */
  readonly column: Fragment
  readonly join: (accountId: Fragment) => Fragment
  /** Undefined: the look-up returns the versions. Otherwise it returns null. */
  readonly findVersions: FindVersions | undefined
}

const decodeVersions = Schema.decodeUnknown(Schema.Array(Schema.Struct({ version: Schema.Number })))

/**
 * On one database server, the look-up joins `account_state`. On a cluster, credentials are on the coordinator and
 * versions on the nodes of the accounts. A join would query all nodes and take fourteen times as long as a look-up
 * followed by one statement per account.
 */
export const makeAccountVersions = (
  sql: SqlClient.SqlClient,
  direct: Context.Tag.Service<DirectQuery>,
  isDistributed: boolean,
  nodes: NodeStates
): AccountVersions => {
  if (!isDistributed)
    return {
      column: sql`, a.version AS "accountVersion"`,
      join: (accountId) => sql`JOIN account_state a ON a.account_id = ${accountId} ${sql.literal(oneServer)}`,
      findVersions: undefined
    }
  const versionOf = (accountId: AccountId) =>
    direct(sql`SELECT version FROM account_state WHERE account_id = ${accountId}`, accountId).pipe(
      ofAccount(accountId),
      Effect.flatMap(decodeVersions),
      Effect.map((rows) => rows.map(({ version }) => [accountId, version] as const))
    )
  return {
    column: sql`, NULL AS "accountVersion"`,
    join: () => sql``,
    findVersions: {
      laneOf: (accountId) => nodes.nodeOf(accountId) ?? accountId,
      find: (accountIds) =>
        Effect.map(
          orDie(Effect.forEach(accountIds, versionOf, { concurrency: "unbounded" })),
          (versions) => new Map(versions.flat())
        )
    }
  }
}
