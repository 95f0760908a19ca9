import { Context } from "effect"

/** Id of the request being answered; a Reference, so that encoding an error needs no environment. */
export class RequestId extends Context.Reference<RequestId>()("catalog/RequestId", {
  defaultValue: () => "req_none"
}) {}
