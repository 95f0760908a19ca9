import { Context } from "effect"

/**
 * Until when the current publish may write to its platform, in milliseconds of the monotonic clock. Later its lease has expired, and
 * another process may have sent this publication and newer ones. The holder renews it. Default: no limit.
 */
export class WriteDeadline extends Context.Reference<WriteDeadline>()("catalog/WriteDeadline", {
  defaultValue: (): { readonly millis: number } => ({ millis: Number.POSITIVE_INFINITY })
}) {}
