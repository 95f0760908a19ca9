import { Effect } from "effect"
import { ValidationFailed } from "../../model/Errors.ts"
import type { AccountId, ImportId, StoreId } from "../../model/Ids.ts"
import { makePause } from "../../runtime/Pause.ts"
import type { FoundEntity, MatchedBy } from "../PulledRecord.ts"
import { PulledRecordsRepo } from "../PulledRecordsRepo.ts"
import { describeRecord, type Write } from "./StoreReading.ts"

/** Number of records that one statement matches. */
const recordsPerStatement = 2_000

/** The rules by which a record matches an entity, strongest first. The first rule that finds an entity decides. */
const rules: ReadonlyArray<MatchedBy> = ["platformId", "saidId", "variants", "sku", "handle", "address"]

/** Finds the entities that the records of a store match. */
export const makeRecordMatching = Effect.gen(function* () {
  const pulled = yield* PulledRecordsRepo

  /** Refuses a product whose SKUs belong to several products of the catalog. */
  const refuseAmbiguous = (accountId: AccountId, id: ImportId, matches: ReadonlyArray<FoundEntity>) =>
    Effect.gen(function* () {
      const second = matches.find(({ root }, index) => matches[index - 1]?.root === root)
      if (second === undefined) return
      const [record] = yield* pulled.page(accountId, id, { root: second.root - 1, ordinal: second.ordinal }, 1)
      const product =
        record === undefined ? "a product" : `the ${describeRecord("product", record.platformId, record.attributes)}`
      const ids = matches.filter(({ root }) => root === second.root).map(({ entityId }) => entityId)
      return yield* ValidationFailed.at(
        "store",
        `has ${product} whose SKUs belong to different products here: ${ids.join(", ")}; give all of them to one product, or to none`
      )
    })

  /** Matches every record. Each rule sees all records before the next rule does, so a weaker match never takes an entity first. */
  return <E>(accountId: AccountId, storeId: StoreId, id: ImportId, count: number, write: Write<E>) =>
    Effect.gen(function* () {
      const pause = yield* makePause
      const ranges = Array.from({ length: Math.ceil(count / recordsPerStatement) }, (_, index) => ({
        accountId,
        id,
        from: index * recordsPerStatement,
        through: (index + 1) * recordsPerStatement
      }))
      for (const rule of rules)
        for (const range of ranges) {
          const matches = yield* pulled.find(rule, range, storeId)
          if (rule === "sku") yield* refuseAmbiguous(accountId, id, matches)
          yield* write(pulled.claim(range, matches))
          yield* pause
        }
      yield* Effect.forEach(ranges, (range) => write(pulled.disown(range)), { discard: true })
    })
})
