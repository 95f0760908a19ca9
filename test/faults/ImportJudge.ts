import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { AccountId, ImportId } from "../../src/model/Ids.ts"

/** An account's catalog without ids: entities by their names in the file, with everything that an import writes. */
export interface ImportedCatalog {
  /** The account's counters. */
  readonly version: number
  readonly changeSeq: number
  readonly entities: ReadonlyArray<readonly [name: string, content: string]>
}

const Rows = Schema.Array(
  Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    content: Schema.String
  })
)

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/**
 * Reads the content of an account's catalog. With `counters`, it includes revisions and positions in the change order.
 */
export const catalogOf = (accountId: AccountId, { counters }: { readonly counters: boolean }) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [account] = yield* sql`SELECT version, change_seq FROM account_state WHERE account_id = ${accountId}`
    const rows = yield* Schema.decodeUnknown(Rows)(
      yield* sql`
        SELECT e.id,
               concat_ws(' ', e.kind, p.attributes #>> '{handle,value}',
                         coalesce(e.attributes #>> '{handle,value}', e.attributes #>> '{sku,value}',
                                  e.attributes #>> '{url,value}')) AS name,
               json_build_object(
                 'parent', e.parent_id, 'position', e.position, 'attributes', e.attributes,
                 'pending', e.pending_publish, 'status', e.last_publish_status, 'stores', e.store_ids,
                 'search', e.search_text,
                 'counters', CASE WHEN ${counters} THEN ARRAY[e.draft_revision::bigint, e.change_seq] END,
                 'versions', (
                   SELECT json_agg(json_build_object('store', v.store_id, 'overrides', v.overrides, 'accepted', v.accepted,
                                                     'pending', v.pending_publish, 'status', v.last_publish_status)
                                   ORDER BY s.domain)
                   FROM store_version v JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id
                   WHERE v.account_id = e.account_id AND v.entity_id = e.id
                 ),
                 'gallery', (
                   SELECT json_agg(json_build_object('media', g.media_id, 'stores', g.store_ids) ORDER BY g.position)
                   FROM entity_media g WHERE g.account_id = e.account_id AND g.entity_id = e.id
                 )
               )::text AS content
        FROM entity e LEFT JOIN entity p ON p.account_id = e.account_id AND p.id = e.parent_id
        WHERE e.account_id = ${accountId}
        ORDER BY 2, 3`
    )
    const stores = yield* sql`SELECT id, domain FROM store WHERE account_id = ${accountId}`
    const names = new Map([
      ...rows.map(({ id, name }) => [id, name] as const),
      ...stores.map(({ domain, id }) => [String(id), String(domain)] as const)
    ])
    return {
      version: Number(account?.version),
      changeSeq: Number(account?.change_seq),
      entities: rows.map(({ content, name }) => [name, content.replace(uuid, (id) => names.get(id) ?? id)] as const)
    }
  })

interface ImportVerdict {
  /** Entities of the undisturbed import that are missing. */
  readonly lost: ReadonlyArray<string>
  /** Entities that exist more than once. */
  readonly twice: ReadonlyArray<string>
  /** Entities that do not exist in the undisturbed import, or have other content there. */
  readonly different: ReadonlyArray<string>
}

/** The errors of a disturbed import, compared with an undisturbed import of the same files. */
export const judgeImport = (found: ImportedCatalog, undisturbed: ImportedCatalog): ImportVerdict => {
  const expected = new Map(undisturbed.entities)
  const there = new Map(found.entities)
  const names = found.entities.map(([name]) => name)
  return {
    lost: [...expected.keys()].filter((name) => !there.has(name)),
    twice: names.filter((name, index) => name === names[index - 1]),
    different: found.entities.filter(([name, content]) => expected.get(name) !== content).map(([name]) => name)
  }
}

/** Checks that an import that was taken over wrote the same as an undisturbed import of the same source, and each change once. */
export const assertWroteTheSame = (accountId: AccountId, id: ImportId, expected: ImportedCatalog) =>
  Effect.gen(function* () {
    const found = yield* catalogOf(accountId, { counters: true })
    assert.deepStrictEqual(judgeImport(found, expected), { lost: [], twice: [], different: [] })
    assert.strictEqual(found.changeSeq, expected.changeSeq)
    // Each takeover begins with a smaller batch, which may make one transaction more.
    const [{ takeovers = 0 } = {}] = yield* (yield* SqlClient.SqlClient)<{ readonly takeovers: number }>`
      SELECT takeovers FROM import_run WHERE account_id = ${accountId} AND id = ${id}`
    assert.isAtLeast(found.version, expected.version)
    assert.isAtMost(found.version, expected.version + takeovers)
  })
