import { Schema } from "effect"
import { errorCode } from "../model/ErrorCode.ts"

/** A command that cannot be carried out as given. `message` is one line for people. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  message: Schema.String,
  /** The error code of REST. */
  code: Schema.optionalWith(Schema.String, { default: () => errorCode.ValidationFailed })
}) {}
