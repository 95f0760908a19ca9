import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { discardRows, findAll } from "../database/Rows.ts"
import { HistoryActor } from "../drafts/History.ts"
import { AccountId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { TeamAction } from "./TeamLog.ts"
import { Reader } from "./Users.sql.ts"

/** The changes of the team about which the user gets a mail: those of how the user signs in. */
const MailedAction = Schema.Literal(
  "password_set",
  "second_factor_on",
  "second_factor_off",
  "second_factor_reset",
  "recovery_codes_renewed"
)
type MailedAction = typeof MailedAction.Type

export const isMailed: (action: TeamAction) => action is MailedAction = Schema.is(MailedAction)

/** What a mail tells. `codes_guessed`: somebody with the user's password has entered wrong codes of the second factor. */
const MailKind = Schema.Literal(...MailedAction.literals, "codes_guessed")

/** A mail that this process sends until its lease expires. Its language and zone are those of the user now. */
export const ClaimedMail = Schema.Struct({
  accountId: AccountId,
  id: Schema.String,
  kind: MailKind,
  at: Timestamp,
  /** Null for `codes_guessed`. */
  actor: Schema.NullOr(HistoryActor.pick("kind", "name")),
  email: Schema.String,
  ...Reader.fields,
  /** Attempts, with the one that begins now. */
  attempts: Schema.Int,
  ageSeconds: Schema.Number
})
export type ClaimedMail = typeof ClaimedMail.Type

/** SQL statements for the mails about how users sign in. */
export const makeSecurityMailStatements = (sql: SqlClient) => {
  const claimMails = findAll(ClaimedMail)(
    (limit: number, leaseSeconds: number) => sql`
      WITH due AS (
        SELECT m.account_id, m.id, u.email, u.language, u.time_zone
        FROM security_mail m JOIN app_user u ON u.account_id = m.account_id AND u.id = m.user_id
        WHERE m.due_at <= app_now() AND m.kind = ANY(${[...MailKind.literals]}::text[])
        ORDER BY m.due_at, m.at LIMIT ${limit}
        FOR UPDATE OF m SKIP LOCKED
      )
      UPDATE security_mail m
      SET attempts = m.attempts + 1, due_at = app_now() + make_interval(secs => ${leaseSeconds})
      FROM due d
      WHERE m.account_id = d.account_id AND m.id = d.id
      RETURNING m.account_id AS "accountId", m.id, m.kind, rfc3339(m.at) AS at, d.email, d.language,
        d.time_zone AS "timeZone", m.attempts, extract(epoch FROM app_now() - m.at)::float8 AS "ageSeconds",
        CASE WHEN m.actor_kind IS NOT NULL THEN json_build_object('kind', m.actor_kind, 'name', m.actor_name) END AS actor`
  )

  return {
    /** Stores a mail to the user with this e-mail. The caller runs it in the transaction of the change that the mail reports. */
    addMail: (
      accountId: AccountId,
      email: string,
      kind: typeof MailKind.Type,
      actor: Pick<HistoryActor, "kind" | "name"> | null
    ) =>
      sql`
        INSERT INTO security_mail (account_id, user_id, kind, actor_kind, actor_name)
        SELECT u.account_id, u.id, ${kind}, ${actor?.kind ?? null}::text, ${actor?.name ?? null}::text FROM app_user u
        WHERE u.account_id = ${accountId} AND u.email = ${email}`.pipe(discardRows),
    /**
     * Claims up to `limit` mails that are due, of any account, those that have waited longest first. No other process claims them for
     * `leaseSeconds`. Kinds that only a newer version knows are left to it.
     */
    claimMails,
    /** Deletes a mail that was sent, or that is not sent again. */
    deleteMail: ({ accountId, id }: ClaimedMail) =>
      sql`DELETE FROM security_mail WHERE account_id = ${accountId} AND id = ${id}`.pipe(discardRows),
    /** Lets a mail be sent again after a pause, unless its lease has expired and another process has claimed it. */
    postponeMail: ({ accountId, attempts, id }: ClaimedMail, pauseSeconds: number) =>
      sql`
        UPDATE security_mail SET due_at = app_now() + make_interval(secs => ${pauseSeconds})
        WHERE account_id = ${accountId} AND id = ${id} AND attempts = ${attempts}`.pipe(discardRows)
  }
}
