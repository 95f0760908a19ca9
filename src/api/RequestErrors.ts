import { Data } from "effect"

/** Errors of HTTP requests, which do not depend on the catalog. */
export type RequestError =
  | MethodNotAllowed
  | RequestTimeout
  | PayloadTooLarge
  | UriTooLong
  | UnsupportedMediaType
  | ExpectationFailed
  | HeadersTooLarge
  | InternalError

/** The path exists, but not with this method. */
export class MethodNotAllowed extends Data.TaggedError("MethodNotAllowed")<{ readonly allow: ReadonlyArray<string> }> {
  override get message() {
    return `This path supports only ${this.allow.join(" and ")}.`
  }
}

/** The head or the body did not arrive in time. */
export class RequestTimeout extends Data.TaggedError("RequestTimeout") {
  override get message() {
    return "The request was not received in time."
  }
}

export class PayloadTooLarge extends Data.TaggedError("PayloadTooLarge")<{ readonly limitBytes: number }> {
  override get message() {
    return `The body is larger than ${this.limitBytes} bytes.`
  }
}

export class UriTooLong extends Data.TaggedError("UriTooLong")<{ readonly limitBytes: number }> {
  override get message() {
    return `The request target is longer than ${this.limitBytes} bytes.`
  }
}

export class UnsupportedMediaType extends Data.TaggedError("UnsupportedMediaType") {
  override get message() {
    return "Send the body as UTF-8 JSON with `Content-Type: application/json`."
  }
}

/** An `Expect` header other than 100-continue. */
export class ExpectationFailed extends Data.TaggedError("ExpectationFailed") {
  override get message() {
    return "Only `Expect: 100-continue` is supported."
  }
}

export class HeadersTooLarge extends Data.TaggedError("HeadersTooLarge")<{ readonly limitBytes: number }> {
  override get message() {
    return `The request head is larger than ${this.limitBytes} bytes.`
  }
}

/** A defect. Its cause is in the log with the request's id, never in the response. */
export class InternalError extends Data.TaggedError("InternalError") {
  override get message() {
    return "Something went wrong on our side. The log has the cause under this request id."
  }
}
