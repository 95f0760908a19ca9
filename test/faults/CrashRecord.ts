import { Schema } from "effect"
import { EntityId } from "../../src/model/Ids.ts"

/** Entities that a crashing writer makes and renames together: each has the same number in a value of its own. */
export const Bundle = Schema.Struct({
  product: EntityId,
  variant: EntityId,
  media: EntityId,
  collection: EntityId,
  number: Schema.Int
})
export type Bundle = typeof Bundle.Type

/** What a writer says of itself, one line each. */
export const Line = Schema.parseJson(
  Schema.Union(
    Schema.TaggedStruct("Begun", { product: EntityId, number: Schema.Int }),
    Schema.TaggedStruct("Done", { bundle: Bundle })
  )
)
export type Line = typeof Line.Type

/** What the judge reads of a line. */
export type Said =
  | { readonly _tag: "Begun"; readonly product: EntityId; readonly number: number }
  | { readonly _tag: "Done"; readonly bundle: { readonly product: EntityId; readonly number: number } }

/** The bundle of a product as the database has it: the number in each part, null where there is none. */
export interface Found {
  readonly product: EntityId
  readonly numbers: { readonly product: number | null } & Readonly<Record<string, number | null>>
}

export interface CrashVerdict {
  /** Were acknowledged, and are gone or back at an earlier number. */
  readonly lost: ReadonlyArray<EntityId>
  /** Are there in part, or with parts of different numbers. */
  readonly half: ReadonlyArray<EntityId>
  /** Are there with a number that nobody had begun. */
  readonly unexplained: ReadonlyArray<EntityId>
}

/** What kills did to the writers' work, from what they said before and what the database holds after. */
export const judge = (said: ReadonlyArray<Said>, found: ReadonlyArray<Found>): CrashVerdict => {
  const acknowledged = new Map<EntityId, number>()
  const begun = new Set<string>()
  for (const line of said) {
    if (line._tag === "Done") acknowledged.set(line.bundle.product, line.bundle.number)
    else begun.add(`${line.product} ${line.number}`)
  }
  const there = new Map(found.map(({ numbers, product }) => [product, numbers]))
  return {
    lost: [...acknowledged].filter(([id, number]) => (there.get(id)?.product ?? -1) < number).map(([id]) => id),
    half: found.filter(({ numbers }) => new Set(Object.values(numbers)).size !== 1).map(({ product }) => product),
    unexplained: found
      .filter(({ numbers, product }) => !begun.has(`${product} ${numbers.product}`))
      .map(({ product }) => product)
  }
}
