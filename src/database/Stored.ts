import { Schema } from "effect"

/**
 * Rows, or JSON in them, that only this service writes, as a schema that transforms nothing describes them. What was checked
 * when it was written is not looked through again at every read: for the thousands of rows of a batch that took longer than
 * the statements.
 */
export const stored = <A extends object, I>(_kept: Schema.Schema<A, I>): Schema.Schema<A> =>
  Schema.declare((value): value is A => typeof value === "object" && value !== null)
