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

const clock = "\\b(?:app_now|now|clock_timestamp|statement_timestamp)\\(\\)"
const clockInBranch = new RegExp(`\\bCASE\\b(?:(?!\\bEND\\b)[\\s\\S])*${clock}|\\bcoalesce\\([^()]*${clock}`, "i")
const clockInReturning = new RegExp(`\\bRETURNING\\b[\\s\\S]*(?:${clock}|\\brfc3339\\()`, "i")
/** Arithmetic of a time with a column, which depends on the session's time zone. */
const columnOfInterval = /\b[a-z]\w*\.(?:\w+|"\w+")\s*[-+*][^,]*\binterval\b/i
const writeOfAccount = new RegExp(
  `\\b(?:UPDATE|DELETE FROM|INSERT INTO)\\s+(?:${distributedTables.join("|")})\\b`,
  "gi"
)

/** The text up to the parenthesis that closes the part of a WITH. */
const upToClosing = (text: string): string => {
  let depth = 0
  for (const { 0: parenthesis, index } of text.matchAll(/[()]/g)) {
    depth += parenthesis === "(" ? 1 : -1
    if (depth < 0) return text.slice(0, index)
  }
  return text
}

const refusedIn = (write: string): ReadonlyArray<string> => {
  if (clockInReturning.test(write)) return ["RETURNING"]
  const [, assignments = ""] = /^UPDATE\s[\s\S]*?\bSET\b([\s\S]*?)(?:\bFROM\b|\bWHERE\b|$)/i.exec(write) ?? []
  if (clockInBranch.test(assignments)) return ["CASE or COALESCE"]
  return columnOfInterval.test(assignments) ? ["interval"] : []
}

/**
 * What Citus refuses about times in writes of distributed tables: the clock in RETURNING, the clock in CASE or COALESCE of an UPDATE,
 * and an interval with a column there. In a sub-select of the statement they are allowed.
 */
export const refusedTimes = (text: string): ReadonlyArray<string> =>
  text.includes(oneServer) || isInner(text)
    ? []
    : [...text.matchAll(writeOfAccount)].flatMap(({ index }) => refusedIn(upToClosing(text.slice(index))))
