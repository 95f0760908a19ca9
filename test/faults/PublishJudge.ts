import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/** Contradictions between publications, versions and shops; all lists are empty if nothing went wrong. */
interface PublishVerdict {
  /** Effects at the platform without a request, or with more than one effect for a request. */
  readonly duplicates: ReadonlyArray<string>
  readonly failedButLive: ReadonlyArray<string>
  readonly publishedButNotLive: ReadonlyArray<string>
  readonly pending: ReadonlyArray<string>
  /** Publications that reached the store after a newer one. */
  readonly overtaken: ReadonlyArray<string>
  /** Versions whose accepted values differ from the newest publication, or from the shop. */
  readonly different: ReadonlyArray<string>
  readonly volume: {
    readonly publications: number
    readonly published: number
    readonly failed: number
    readonly attempts: Readonly<Record<string, number>>
  }
}

const names = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>) => rows.map(({ name }) => String(name))

/**
 * Checks the publications, versions and shops of an account. On a cluster, its statements need the account: each table
 * in each statement names it.
 */
export const judgePublishingOf = (
  accountId: string | undefined
): Effect.Effect<PublishVerdict, unknown, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ofAccount = (...aliases: ReadonlyArray<string>) =>
      accountId === undefined
        ? sql`true`
        : sql.and(aliases.map((alias) => sql`${sql(alias)}.account_id = ${accountId}`))
    const duplicates = yield* sql`
    SELECT e.entity_id || ' by ' || e.key AS name
    FROM demo_shop_effect e
    LEFT JOIN publication p ON p.account_id = e.account_id AND p.store_id = e.store_id AND p.id::text = e.key
      AND ${ofAccount("p")}
    WHERE p.id IS NULL AND ${ofAccount("e")}`
    const isLive = sql`EXISTS (
    SELECT FROM demo_shop_effect e WHERE e.account_id = p.account_id AND e.store_id = p.store_id AND e.key = p.id::text
      AND ${ofAccount("e")}
  )`
    const failedButLive =
      yield* sql`SELECT p.id::text AS name FROM publication p WHERE p.state = 'failed' AND ${ofAccount("p")} AND ${isLive}`
    const publishedButNotLive = yield* sql`
    SELECT p.id::text AS name FROM publication p WHERE p.state = 'published' AND ${ofAccount("p")} AND NOT ${isLive}`
    const pending = yield* sql`
    SELECT p.id::text AS name FROM publication p WHERE p.state = 'pending' AND ${ofAccount("p")}
    UNION ALL
    SELECT v.entity_id || ' on ' || v.store_id FROM store_version v WHERE v.last_publish_status = 'pending' AND ${ofAccount("v")}`
    const overtaken = yield* sql`
    SELECT p.id::text AS name
    FROM publication p
    JOIN demo_shop_effect e ON e.account_id = p.account_id AND e.store_id = p.store_id AND e.key = p.id::text
    WHERE ${ofAccount("p", "e")} AND EXISTS (
      SELECT FROM publication q
      JOIN demo_shop_effect f ON f.account_id = q.account_id AND f.store_id = q.store_id AND f.key = q.id::text
      WHERE q.account_id = p.account_id AND q.store_id = p.store_id AND q.entity_id = p.entity_id
        AND q.sequence > p.sequence AND f.applied_at <= e.applied_at AND ${ofAccount("q", "f")}
    )`
    const different = yield* sql`
    SELECT v.entity_id || ' on ' || v.store_id AS name
    FROM store_version v
    JOIN LATERAL (
      SELECT p.content #> '{values,attributes}' AS attributes FROM publication p
      WHERE p.account_id = v.account_id AND p.store_id = v.store_id AND p.entity_id = v.entity_id AND p.state = 'published'
        AND ${ofAccount("p")}
      ORDER BY p.sequence DESC LIMIT 1
    ) newest ON true
    LEFT JOIN demo_shop_record r
      ON r.account_id = v.account_id AND r.store_id = v.store_id AND r.platform_id = v.platform_id
      AND ${ofAccount("r")}
    WHERE ${ofAccount("v")}
      AND (v.accepted -> 'attributes' IS DISTINCT FROM newest.attributes OR r.attributes IS DISTINCT FROM newest.attributes)`
    const [counted] = yield* sql`
    SELECT count(*)::int AS publications, count(*) FILTER (WHERE state = 'published')::int AS published,
           count(*) FILTER (WHERE state = 'failed')::int AS failed
    FROM publication p WHERE ${ofAccount("p")}`
    const attempts = yield* sql`
    SELECT coalesce(outcome, 'open') AS outcome, count(*)::int AS count FROM publish_attempt p
    WHERE ${ofAccount("p")} GROUP BY 1 ORDER BY 1`
    return {
      duplicates: names(duplicates),
      failedButLive: names(failedButLive),
      publishedButNotLive: names(publishedButNotLive),
      pending: names(pending),
      overtaken: names(overtaken),
      different: names(different),
      volume: {
        publications: Number(counted?.publications),
        published: Number(counted?.published),
        failed: Number(counted?.failed),
        attempts: Object.fromEntries(attempts.map(({ count, outcome }) => [String(outcome), Number(count)]))
      }
    }
  })

/** Checks all publications, versions and shops in the database. */
export const judgePublishing = judgePublishingOf(undefined)
