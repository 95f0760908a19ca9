import type { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect } from "effect"
import type { DirectQuery } from "../database/DirectQuery.ts"
import { oneServer } from "../database/PlannerHints.ts"

/** SQL that adds the accounts' versions to a look-up of credentials. */
interface AccountVersions {
  /** A column for the SELECT list, and a join for the FROM clause. Empty on a cluster. */
  readonly column: Fragment
  readonly join: (accountId: Fragment) => Fragment
  /** Adds the versions to the rows of the look-up. */
  readonly add: (rows: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<unknown>, SqlError>
}

/**
 * On one database server, the look-up joins `account_state`. On a cluster, credentials are on the coordinator and
 * versions on the nodes of the accounts. A join would query all nodes and take fourteen times as long as a look-up
 * followed by one statement per account.
 */
export const makeAccountVersions = (
  sql: SqlClient.SqlClient,
  direct: Context.Tag.Service<DirectQuery>,
  isDistributed: boolean
): AccountVersions => {
  if (!isDistributed)
    return {
      column: sql`, a.version AS "accountVersion"`,
      join: (accountId) => sql`JOIN account_state a ON a.account_id = ${accountId} ${sql.literal(oneServer)}`,
      add: Effect.succeed
    }
  const versionOf = (accountId: string) =>
    direct(sql`SELECT version AS "accountVersion" FROM account_state WHERE account_id = ${accountId}`)
  return {
    column: sql``,
    join: () => sql``,
    add: (rows) => {
      const credentials = rows as ReadonlyArray<{ readonly accountId: string }>
      const accountIds = [...new Set(credentials.map(({ accountId }) => accountId))]
      return Effect.map(Effect.forEach(accountIds, versionOf, { concurrency: "unbounded" }), (versions) => {
        const byAccount = new Map(accountIds.map((id, index) => [id, versions[index]?.[0]]))
        return credentials.map((credential) => ({ ...credential, ...(byAccount.get(credential.accountId) as object) }))
      })
    }
  }
}
