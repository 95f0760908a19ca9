import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import { orDie } from "./SqlErrors.ts"

type Statement<Args extends ReadonlyArray<unknown>> = (...args: Args) => Effect.Effect<ReadonlyArray<unknown>, SqlError>

/**
 * Declares the type of a schema without decoding the rows. Use it only for rows that this service alone writes, and for schemas
 * without transformations. For thousands of rows, decoding took longer than the statements.
 */
export const withoutChecks = <A extends object, I>(_schema: Schema.Schema<A, I>): Schema.Schema<A> =>
  Schema.declare((value): value is A => typeof value === "object" && value !== null)

/** Turns a statement into a function that returns all its rows, decoded. Failures are defects, as for `orDie`. */
export const findAll = <A, I>(row: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(Schema.Array(row))
  return <Args extends ReadonlyArray<unknown>>(statement: Statement<Args>) =>
    (...args: Args) =>
      orDie(Effect.flatMap(statement(...args), decode))
}

/** As `findAll`, for the first row. None: there are no rows. */
export const findOne = <A, I>(row: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(row)
  return <Args extends ReadonlyArray<unknown>>(statement: Statement<Args>) =>
    (...args: Args) =>
      orDie(
        Effect.flatMap(statement(...args), ([first]) =>
          first === undefined ? Effect.succeedNone : Effect.asSome(decode(first))
        )
      )
}

/** As `findAll`, for a statement that always returns one row. */
export const findSingle = <A, I>(row: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(row)
  return <Args extends ReadonlyArray<unknown>>(statement: Statement<Args>) =>
    (...args: Args) =>
      orDie(Effect.flatMap(statement(...args), ([first]) => decode(first)))
}

/** Runs a statement, and returns whether it has rows. */
export const hasRows = <E, R>(statement: Effect.Effect<ReadonlyArray<unknown>, E | SqlError, R>) =>
  orDie(Effect.map(statement, (rows) => rows.length > 0))

/** Runs a statement, and returns the number of its rows. */
export const countOf = <E, R>(statement: Effect.Effect<ReadonlyArray<unknown>, E | SqlError, R>) =>
  orDie(Effect.map(statement, (rows) => rows.length))

/** Runs a statement whose rows do not matter. */
export const discardRows = <A, E, R>(statement: Effect.Effect<A, E | SqlError, R>) => orDie(Effect.asVoid(statement))

/**
 * The values by their keys. `values`: the value of each key, in the order of the keys; a key whose value is null is left out. A statement
 * that returns a list of values for a million keys takes much less memory than one that returns a row for each.
 */
export const mapByKey = <Key, Value>(
  keys: ReadonlyArray<Key>,
  values: ReadonlyArray<Value | null>
): ReadonlyMap<Key, Value> => {
  const map = new Map<Key, Value>()
  for (const [place, key] of keys.entries()) {
    const value = values[place] ?? null
    if (value !== null) map.set(key, value)
  }
  return map
}
