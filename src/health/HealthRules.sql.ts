import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { discardRows, findOne, findSingle } from "../database/Rows.ts"
import type { AccountId } from "../model/Ids.ts"
import { defaultRules, HealthRules } from "./Health.ts"
import type { HealthRepo } from "./HealthRepo.ts"

/** Reads, locks and saves the rules of data health that an account has chosen. */
export const makeHealthRules = (
  sql: SqlClient
): Pick<Context.Tag.Service<HealthRepo>, "keepRules" | "lockRules" | "rules"> => {
  const find = findOne(Schema.Struct({ rules: HealthRules }))(
    (accountId: AccountId) => sql`SELECT rules FROM completeness_rule WHERE account_id = ${accountId}`
  )

  /** An account without rules of its own gets the default rules: a missing row cannot be locked. */
  const lock = findSingle(Schema.Struct({ rules: HealthRules }))(
    (accountId: AccountId) => sql`
      INSERT INTO completeness_rule (account_id, rules) VALUES (${accountId}, ${JSON.stringify(defaultRules)}::jsonb)
      ON CONFLICT (account_id) DO UPDATE SET rules = completeness_rule.rules
      RETURNING rules`
  )

  return {
    rules: (accountId) =>
      Effect.map(find(accountId), Option.match({ onNone: () => defaultRules, onSome: ({ rules }) => rules })),
    lockRules: (accountId) => Effect.map(lock(accountId), ({ rules }) => rules),
    keepRules: (accountId, rules) =>
      sql`
        INSERT INTO completeness_rule (account_id, rules) VALUES (${accountId}, ${JSON.stringify(rules)}::jsonb)
        ON CONFLICT (account_id) DO UPDATE SET rules = excluded.rules`.pipe(discardRows)
  }
}
