import { Schema } from "effect"
import { EntityId } from "../../src/model/Ids.ts"

/** Entities that a crashing writer creates and renames together. Each has the same number in one of its values. */
const Bundle = Schema.Struct({
  product: EntityId,
  variant: EntityId,
  media: EntityId,
  collection: EntityId,
  number: Schema.Int
})
export type Bundle = typeof Bundle.Type

/** The lines that a writer prints. */
export const Line = Schema.parseJson(
  Schema.Union(
    Schema.TaggedStruct("Begun", { product: EntityId, number: Schema.Int }),
    Schema.TaggedStruct("Done", { bundle: Bundle })
  )
)
export type Line = typeof Line.Type

/** The parsed form of a line. */
export type Said =
  | { readonly _tag: "Begun"; readonly product: EntityId; readonly number: number }
  | { readonly _tag: "Done"; readonly bundle: { readonly product: EntityId; readonly number: number } }

/** A product with its parts as the database has them: the number in each part, null if the part is missing. */
interface Found {
  readonly product: EntityId
  readonly numbers: { readonly product: number | null } & Readonly<Record<string, number | null>>
}

export interface CrashVerdict {
  /** Bundles that were acknowledged, but are missing or have an earlier number. */
  readonly lost: ReadonlyArray<EntityId>
  /** Bundles that are incomplete, or whose parts have different numbers. */
  readonly half: ReadonlyArray<EntityId>
  /** Bundles with a number that no writer had begun. */
  readonly unexplained: ReadonlyArray<EntityId>
}

/** The effect of kills, computed from the writers' output and the content of the database. */
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
