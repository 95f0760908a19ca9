import { Schema } from "effect"
import { errorCode } from "../model/ErrorCode.ts"

/** A command that cannot be carried out as given. `message` is one line for people. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  message: Schema.String,
  /** The error code of REST. */
  code: Schema.optionalWith(Schema.String, { default: () => errorCode.ValidationFailed })
}) {}

/** Id of the account, as typed; not needed if there is only one. Refusal: the account is missing or unknown. */
export const account = Schema.optionalWith(Schema.String, { as: "Option" })
