import { distributedTables } from "../../src/database/Distribution.ts"
import { allAccounts, oneServer } from "../../src/database/PlannerHints.ts"

const keywords =
  "AS|WHERE|SET|ON|JOIN|LEFT|CROSS|INNER|ORDER|GROUP|LIMIT|FOR|USING|UNION|RETURNING|OFFSET|HAVING|WINDOW"

/** A table with its alias, as it follows FROM, JOIN, UPDATE, USING or a comma. */
const reference = new RegExp(
  `(?:\\b(?:FROM|JOIN|UPDATE|USING)|,)\\s+"?(${distributedTables.join("|")})"?(?![\\w."(]|\\s+(?:text|jsonb|uuid)\\b)(?:\\s+(?:AS\\s+)?(?!(?:${keywords})\\b)(\\w+))?`,
  "gi"
)

/** Statements that PostgreSQL itself or a function of the schema runs; on a cluster they run on the node of the row. */
const isInner = (text: string) => /OPERATOR\(pg_catalog|\b(NEW|OLD)\.|= account\b/.test(text)

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

/**
 * The distributed tables of a statement without a condition `alias.account_id = $1`: `x.account_id = y.account_id` is
 * not enough on a cluster. Conditions are counted by alias, because parts of a statement reuse aliases. An INSERT of a
 * list of values must take its account from a table.
 */
export const unnamedTables = (text: string): ReadonlyArray<string> => {
  if (text.includes(allAccounts) || text.includes(oneServer) || isInner(text)) return []
  const plain = text.replaceAll(/--[^\n]*/g, "")
  const references = new Map<string, { readonly table: string; readonly times: number }>()
  for (const [, table = "", alias = ""] of plain.matchAll(reference)) {
    const before = references.get(alias)
    references.set(alias, { table, times: (before?.times ?? 0) + 1 })
  }
  const [, target] = /^\s*INSERT INTO (\w+)/i.exec(plain) ?? []
  const isFromList = /\b(jsonb_to_recordset|unnest)\(/.test(plain) && references.size === 0
  if (isFromList && target !== undefined && distributedTables.includes(target)) return [`INSERT INTO ${target}`]
  return [...references].flatMap(([alias, { table, times }]) => {
    const name = alias === "" ? "(?<![.\\w])" : `\\b${alias}\\.`
    return count(plain, new RegExp(`${name}account_id = \\$\\d`, "g")) < times ? [`${table} ${alias}`.trim()] : []
  })
}
