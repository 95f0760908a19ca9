import type { EntityId } from "../model/Ids.ts"
import type { BlockedList } from "./HealthBases.sql.ts"
import type { BlockCount } from "./HealthScanRows.sql.ts"

/** The rows of a scanned range of entities, divided into blocks. */
export interface DividedRows {
  /** The first entity of each block. */
  readonly starts: ReadonlyArray<EntityId>
  /** Number of rows of each list in each block. The first block of the range is number 1. */
  readonly blocks: ReadonlyArray<BlockCount>
}

export const noBlocks: DividedRows = { starts: [], blocks: [] }

const keyOf = ({ locale, section, storeId }: Pick<BlockedList, "locale" | "section" | "storeId">) =>
  `${section} ${storeId} ${locale}`

/** The number of rows in each block. */
const rowsOf = ({ firsts, total }: Pick<BlockedList, "firsts" | "total">) =>
  firsts.map((first, index) => (firsts[index + 1] ?? total) - first)

/**
 * Returns the lists that change: adds `changes` to the counts of their existing blocks and appends the blocks of a new
 * range. `count`: number of blocks before the new range.
 */
export const addBlocks = (
  before: ReadonlyArray<BlockedList>,
  changes: ReadonlyArray<BlockCount>,
  range: DividedRows,
  count = 0
): ReadonlyArray<BlockedList> => {
  const lists = new Map(before.map((list) => [keyOf(list), list]))
  const changed = new Map<
    string,
    { readonly list: Pick<BlockedList, "locale" | "section" | "storeId">; rows: Array<number> }
  >()
  const add = (block: number, { locale, rows, section, storeId }: BlockCount) => {
    const key = keyOf({ locale, section, storeId })
    const list = changed.get(key) ?? {
      list: { locale, section, storeId },
      rows: rowsOf(lists.get(key) ?? { firsts: [], total: 0 })
    }
    while (list.rows.length < block) list.rows.push(0)
    list.rows[block - 1] = (list.rows[block - 1] ?? 0) + rows
    changed.set(key, list)
  }
  for (const change of changes) add(change.block, change)
  for (const added of range.blocks) add(count + added.block, added)
  return [...changed.values()].map(({ list, rows }) => {
    let total = 0
    const firsts = rows.map((inBlock) => {
      const first = total
      total += inBlock
      return first
    })
    return { ...list, firsts, total }
  })
}

/** The number of rows in the fullest block of these lists. */
export const fullestBlock = (lists: ReadonlyArray<BlockedList>): number =>
  lists.reduce((maximum, list) => rowsOf(list).reduce((fullest, rows) => Math.max(fullest, rows), maximum), 0)
