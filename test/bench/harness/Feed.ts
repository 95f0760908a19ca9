import { type BenchCatalog, connected } from "./Catalog.ts"
import { progress } from "./Progress.ts"

/** The server deletes changes after 30 days, so a feed that is nearly that old is created again. */
const maxAge = "20 days"

/**
 * The feed of a catalog: one change for each product, each in its own row, as after edits of single products. No other
 * feed has more rows for a page.
 */
export const fillFeed = ({ accountId, products, url }: BenchCatalog): Promise<void> =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly whole: boolean }>(
      `SELECT count(*) = $2 AND min(n.at) > now() - $3::interval AND max(n.last_seq) = $2 AS whole
       FROM change_note n WHERE n.account_id = $1`,
      [accountId, products, maxAge]
    )
    if (rows[0]?.whole === true) return
    progress(`Filling the feed: ${products} changes`)
    await client.query("BEGIN")
    await client.query("DELETE FROM change_note WHERE account_id = $1", [accountId])
    await client.query(
      `INSERT INTO change_note (account_id, version, entities, skus, moved, last_seq, rows, at, groups, ids)
       SELECT e.account_id, e.change_seq, ARRAY[e.id], '{}', '[]', e.change_seq, 1,
              now() - interval '1 hour' + e.change_seq * interval '1 millisecond',
              '[{"type": "entity.updated", "kind": "product", "store": null, "what": ["title", "vendor"], "count": 1}]', ARRAY[e.id]
       FROM entity e WHERE e.account_id = $1 AND e.kind = 'product' ORDER BY e.change_seq`,
      [accountId]
    )
    await client.query("UPDATE account_state SET feed_seq = $2, feed_floor = 0 WHERE account_id = $1", [
      accountId,
      products
    ])
    await client.query("COMMIT")
    await client.query("VACUUM (ANALYZE) change_note")
    await client.query("CHECKPOINT")
  })
