import { Array as Arr, Effect, Schema } from "effect"
import { MetafieldDefinitions } from "../../drafts/MetafieldDefinitions.ts"
import { DataHealth } from "../../health/DataHealth.ts"
import type { HealthIssue } from "../../health/Health.ts"
import { type Filled, type Reconciled, Remediation } from "../../health/Remediation.ts"
import { type FillOperation, maxOperations, type ReconcileOperation } from "../../health/RemediationRules.ts"
import { withAccountId } from "../../model/Actor.ts"
import { type EntityKind, singleLineText } from "../../model/Attribute.ts"
import type { PimLocked } from "../../model/Errors.ts"
import { type EntityId, StoreId } from "../../model/Ids.ts"
import { fromTyped } from "../entities/CellInput.ts"
import type { RepairTarget, SentRow } from "./RepairRows.ts"

/** A row as a form sent it. `type`: of the field; `where`: the store or winner that was chosen. */
export interface CommonTarget extends RepairTarget {
  readonly revision: number
  readonly type: string
  readonly typed: string
  readonly where: string
}

/** The outcome of a form. `refused`: the rows that were not repaired. `isLocked`: an import refused all of them. */
export interface Outcome {
  readonly repaired: number
  readonly refused: ReadonlyArray<SentRow>
  readonly isLocked: boolean
}

const isStoreId = Schema.is(StoreId)

const sentence = (text: string) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}.`

/** Why a row was refused, in the words of the page. */
const wordsOf = ({ code, message }: { readonly code: string; readonly message: string }): string => {
  if (code === "not_found") return "It is gone, or no longer on this store."
  if (message.startsWith("draft_revision"))
    return "Somebody changed it meanwhile, so nothing was overwritten. This is its new state: check it, then send it again."
  return sentence(message.replace(/^value: /, "this value "))
}

const filledMeanwhile = "Somebody filled it meanwhile. Nothing was overwritten."
const equalAlready = "The stores that are compared with the chosen one agree already."
const lockedWords = "Not saved: an import has locked the catalog. Accept or discard it, then send the form again."

const toSentRow = (row: CommonTarget, refusal: string): SentRow => ({
  target: { entityId: row.entityId, kind: row.kind, field: row.field },
  typed: row.typed,
  where: row.where,
  refusal
})

type Refusals = ReadonlyArray<string | undefined>

/**
 * Divides rows into batches. The rows of an entity stay together: a batch raises the revision of its draft, so a later batch would refuse
 * the rest of them.
 */
const batchesOf = (rows: ReadonlyArray<CommonTarget>): ReadonlyArray<ReadonlyArray<CommonTarget>> => {
  const batches: Array<Array<CommonTarget>> = []
  for (const ofEntity of Object.values(Arr.groupBy(rows, ({ entityId }) => entityId))) {
    const last = batches.at(-1)
    if (last !== undefined && last.length + ofEntity.length <= maxOperations) last.push(...ofEntity)
    else batches.push(ofEntity)
  }
  return batches
}

/** Runs one batch for each kind, and returns the refusal of each row. */
const inBatches = <R>(
  rows: ReadonlyArray<CommonTarget>,
  run: (kind: EntityKind, rows: ReadonlyArray<CommonTarget>) => Effect.Effect<Refusals, never, R>
) =>
  Effect.gen(function* () {
    const refusals = new Map<CommonTarget, string>()
    for (const [first, ...others] of Object.values(Arr.groupBy(rows, ({ kind }) => kind)))
      for (const some of batchesOf([first, ...others])) {
        const found = yield* run(first.kind, some)
        some.forEach((row, index) => {
          const refusal = found[index]
          if (refusal !== undefined) refusals.set(row, refusal)
        })
      }
    const refused = rows.flatMap((row) => {
      const refusal = refusals.get(row)
      return refusal === undefined ? [] : [toSentRow(row, refusal)]
    })
    const outcome: Outcome = {
      repaired: rows.length - refused.length,
      refused,
      isLocked: refused.some(({ refusal }) => refusal === lockedWords)
    }
    return outcome
  })

const fillRefusals = ({ results }: Filled): Refusals =>
  results.map(({ error, filled }) => (error !== undefined ? wordsOf(error) : filled ? undefined : filledMeanwhile))

const equalRefusals = ({ results }: Reconciled): Refusals =>
  results.map(({ error, unchanged }) => (error !== undefined ? wordsOf(error) : unchanged ? equalAlready : undefined))

const storeIn = (where: string) => (isStoreId(where) ? { store_id: where } : {})

const basedOn = (rows: ReadonlyArray<CommonTarget>) =>
  new Map(rows.map(({ entityId, revision }) => [entityId, revision]))

/** Number of issues that one form repairs of a whole list. */
export const maxRepaired = maxOperations
const pageSize = 100

/** Repairs what the forms of the issues send, by the same batches as REST and agents. All repairs are drafts. */
export const makeRepairs = Effect.gen(function* () {
  const dataHealth = yield* DataHealth
  const definitions = yield* MetafieldDefinitions
  const remediation = yield* Remediation

  const orLocked = <A, R>(
    count: number,
    batch: Effect.Effect<A, PimLocked, R>,
    read: (found: A) => Refusals
  ): Effect.Effect<Refusals, never, R> =>
    batch.pipe(
      Effect.map(read),
      Effect.orElseSucceed((): Refusals => Array.from({ length: count }, () => lockedWords))
    )

  /** The first issues of a list, up to `maxRepaired`. */
  const firstIssues = (filter: Omit<Parameters<typeof dataHealth.issues>[0], "page" | "page_size">) =>
    Effect.gen(function* () {
      const issues: Array<HealthIssue> = []
      for (let page = 1; issues.length < maxRepaired; page++) {
        const { data, has_next } = yield* dataHealth.issues({ ...filter, page, page_size: pageSize })
        issues.push(...data)
        if (!has_next) break
      }
      return issues.slice(0, maxRepaired)
    })

  return {
    firstIssues,
    /** Fills the rows in which something was typed. A row that changed since the form was opened is refused. */
    fill: (rows: ReadonlyArray<CommonTarget>) =>
      inBatches(rows, (kind, some) => {
        const operations = some.map(
          ({ entityId, field, type, typed, where }): FillOperation => ({
            entity_id: entityId,
            field,
            value: fromTyped({ key: field, type }, typed),
            ...storeIn(where)
          })
        )
        return orLocked(some.length, remediation.fill(kind, operations, basedOn(some)), fillRefusals)
      }),
    /** Makes the rows equal in which a store was chosen. A row that changed since the form was opened is refused. */
    equal: (rows: ReadonlyArray<CommonTarget>) =>
      inBatches(rows, (kind, some) => {
        const operations = some.map(
          ({ entityId, field, where }): ReconcileOperation => ({
            entity_id: entityId,
            field,
            winner_store_id: StoreId.make(where)
          })
        )
        return orLocked(some.length, remediation.reconcile(kind, operations, basedOn(some)), equalRefusals)
      }),
    /**
     * Fills one field of many issues with one value: in the catalog where it is empty there, otherwise on the store. The form showed
     * no single drafts, so only emptiness is checked.
     */
    fillAll: (issues: ReadonlyArray<HealthIssue>, field: string, typed: string) => {
      const rows = issues.map(
        ({ entity_id, entity_type, store_id }): CommonTarget => ({
          entityId: entity_id,
          kind: entity_type,
          field,
          revision: 0,
          type: "",
          typed,
          where: store_id
        })
      )
      return inBatches(rows, (kind, some) =>
        Effect.gen(function* () {
          const rules = yield* withAccountId((accountId) => definitions.rulesFor(accountId, kind, [field]))
          const value = fromTyped({ key: field, type: rules.typeOf(kind, field, []) ?? singleLineText }, typed)
          const ids = [...new Set(some.map(({ entityId }) => entityId))]
          const canonical = ids.map((entity_id): FillOperation => ({ entity_id, field, value }))
          const [first, second] = yield* remediation.fillCanonicalThenStores(
            kind,
            canonical,
            some.map(({ entityId, where }) => ({ entity_id: entityId, field, value, ...storeIn(where) }))
          )
          const filled = new Set<EntityId>(first.results.flatMap((each) => (each.filled ? [each.entity_id] : [])))
          return fillRefusals(second).map((refusal, index) => {
            const row = some[index]
            return refusal === filledMeanwhile && row !== undefined && filled.has(row.entityId) ? undefined : refusal
          })
        }).pipe((batch) => orLocked(some.length, batch, (found) => found))
      )
    },
    /** Makes each field of many issues equal to what one store has. `only`: the field that the list is limited to. */
    equalAll: (issues: ReadonlyArray<HealthIssue>, winner: StoreId, only: string | undefined) => {
      const targets = new Map<string, CommonTarget>()
      for (const { entity_id, entity_type, fields } of issues)
        for (const field of fields.filter((each) => only === undefined || each === only))
          targets.set(`${entity_id} ${field}`, {
            entityId: entity_id,
            kind: entity_type,
            field,
            revision: 0,
            type: "",
            typed: "",
            where: winner
          })
      return inBatches([...targets.values()], (kind, some) =>
        orLocked(
          some.length,
          remediation.reconcile(
            kind,
            some.map(({ entityId, field }) => ({ entity_id: entityId, field, winner_store_id: winner }))
          ),
          equalRefusals
        )
      )
    }
  }
})
