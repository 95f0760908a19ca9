import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Number as Num, Schema } from "effect"
import { findSingle } from "../database/Rows.ts"
import { type EntityId, nilUuid } from "../model/Ids.ts"
import { makeDefinitionWrites } from "./DefinitionWrites.ts"
import { jsonOf, type MergedImport, type MirrorKind, makeMirrorItems, type Span, textsOf } from "./MirrorItems.sql.ts"
import type { TakenOver } from "./MirrorRepo.ts"
import { fieldRows, makeEntityRowWrites, translationRows } from "./TranslationWrites.ts"

/** Maximum number of items that one statement merges, or of rows that it checks, so that it stays far below its deadline. */
const maxRows = 1_000

const Last = Schema.Struct({ last: Schema.NullOr(Schema.String) })

/**
 * Merges the data that an import has staged outside the catalog (markets, definitions, metaobject entries, translations) into
 * the tables of the store.
 */
export const makeMirrorWrites = (sql: SqlClient) => {
  const items = makeMirrorItems(sql)
  const { inSpan, mergeSet, ofKind, planned } = items
  const mergeDefinitions = makeDefinitionWrites(sql, items)
  const fields = makeEntityRowWrites(sql, items, fieldRows)
  const translations = makeEntityRowWrites(sql, items, translationRows)
  const { isStaged, overItems, overRows, total } = makeSpans(sql, planned)

  const deleteEntriesOfOthers = (span: Span) => sql`
    DELETE FROM metaobject_entry e
    WHERE e.account_id = ${span.accountId} AND e.store_id = ${span.storeId}
      AND e.platform_id > ${span.after} AND e.platform_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM mirror_item i
        WHERE ${ofKind(span, "metaobject_entry")} AND i.name = e.platform_id COLLATE "C" OFFSET 0
      )
    RETURNING e.id ${planned}`

  const mergeEntries = (span: Span) =>
    mergeSet({
      accountId: span.accountId,
      table: "metaobject_entry",
      keys: {
        store_id: sql`${span.storeId}::uuid`,
        platform_id: "i.content ->> 'platform_id'"
      },
      insertOnly: { id: "i.id" },
      values: {
        definition_id: "d.id",
        ...textsOf("handle", "display_name", "status"),
        ...jsonOf("fields"),
        updated_at: "(i.content ->> 'updated_at')::timestamptz"
      },
      source: sql`
        FROM mirror_item i
        JOIN metaobject_definition d ON d.account_id = ${span.accountId} AND d.type = i.content ->> 'type'
        WHERE ${inSpan(span, "metaobject_entry")}`
    })

  return (merged: MergedImport) =>
    Effect.gen(function* () {
      const counts = [
        (yield* total(mergeDefinitions(merged))).length,
        yield* overRows(merged, "metaobject_entry", (span) => [deleteEntriesOfOthers(span)]),
        yield* overItems(merged, "metaobject_entry", (span) => [mergeEntries(span)])
      ]
      const translated = new Set<EntityId>()
      const note = (row: unknown) => {
        translated.add((row as { readonly entity_id: EntityId }).entity_id)
      }
      yield* overRows(merged, "translatable_field", (span) => [fields.deleteOfOthers(span)], note)
      yield* overRows(merged, "translation", (span) => [translations.deleteOfOthers(span)], note)
      // Reading the store versions of 1,000,000 products takes minutes, so they are read only if the import has fields or translations to
      // merge. An import of a store with one language has none.
      const staged = yield* Effect.filter([fields, translations], ({ kind }) => isStaged(merged, kind))
      if (staged.length > 0)
        yield* overRows(merged, "store_version", (span) => staged.flatMap(({ merge }) => merge(span)), note)
      return {
        isChanged: translated.size + Num.sumAll(counts) > 0,
        isDefined: Num.sumAll(counts) > 0,
        translated: [...translated]
      } satisfies TakenOver
    })
}

type Written = Effect.Effect<ReadonlyArray<unknown>, SqlError>

/** Tables that are processed in ranges of rows: the column that orders a store's rows, and a value below every key. */
const spanKeys = {
  metaobject_entry: { key: "platform_id", first: "" },
  store_version: { key: "entity_id", first: nilUuid },
  translatable_field: { key: "entity_id", first: nilUuid },
  translation: { key: "entity_id", first: nilUuid }
} as const

/** Runs statements over all items of an import, or over all rows of its store in a table, `maxRows` at a time. */
const makeSpans = (sql: SqlClient, planned: Fragment) => {
  const limit = sql.literal(String(maxRows))

  /** Runs the statements one after another. Returns the rows that they wrote. */
  const total = (statements: ReadonlyArray<Written>) =>
    Effect.map(
      Effect.forEach(statements, (statement) => statement),
      (rows) => rows.flat()
    )

  const nextItem = findSingle(Last)(
    ({ accountId, importId }: MergedImport, kind: MirrorKind, after: string) => sql`
      SELECT max(n.name) AS last
      FROM (
        SELECT i.name FROM mirror_item i
        WHERE i.account_id = ${accountId} AND i.import_id = ${importId} AND i.kind = ${kind} AND i.name > ${after}
        ORDER BY i.name LIMIT ${limit}
      ) n ${planned}`
  )

  const nextRowOf = (table: keyof typeof spanKeys) =>
    findSingle(Last)(
      ({ accountId, storeId }: MergedImport, after: string) => sql`
        SELECT max(n.key::text) AS last
        FROM (
          SELECT t.${sql.literal(spanKeys[table].key)} AS key FROM ${sql(table)} t
          WHERE t.account_id = ${accountId} AND t.store_id = ${storeId} AND t.${sql.literal(spanKeys[table].key)} > ${after}
          ORDER BY t.${sql.literal(spanKeys[table].key)} LIMIT ${limit}
        ) n ${planned}`
    )

  const walkSpans = (
    merged: MergedImport,
    first: string,
    next: (after: string) => Effect.Effect<typeof Last.Type>,
    statements: (span: Span) => ReadonlyArray<Written>,
    onRow: (row: unknown) => void = () => undefined
  ) =>
    Effect.gen(function* () {
      let written = 0
      for (let after = first; ; ) {
        const { last }: typeof Last.Type = yield* next(after)
        if (last === null) return written
        const rows = yield* total(statements({ ...merged, after, last }))
        rows.forEach(onRow)
        written += rows.length
        after = last
      }
    })

  return {
    total,
    /** Whether the import has items of a kind. */
    isStaged: (merged: MergedImport, kind: MirrorKind) =>
      Effect.map(nextItem(merged, kind, ""), ({ last }) => last !== null),
    overItems: (merged: MergedImport, kind: MirrorKind, statements: (span: Span) => ReadonlyArray<Written>) =>
      walkSpans(merged, "", (after) => nextItem(merged, kind, after), statements),
    overRows: (
      merged: MergedImport,
      table: keyof typeof spanKeys,
      statements: (span: Span) => ReadonlyArray<Written>,
      onRow?: (row: unknown) => void
    ) => {
      const nextRow = nextRowOf(table)
      return walkSpans(merged, spanKeys[table].first, (after) => nextRow(merged, after), statements, onRow)
    }
  }
}
