import { HashMap, Logger, Option } from "effect"

/** A span that was logged (`telemetry/SpanLog`). */
export interface LoggedSpan {
  readonly name: string
  readonly id: unknown
  readonly parentId: unknown
  readonly outcome: unknown
}

/** Records the spans that are logged. */
export const spanRecorder = () => {
  const spans: Array<LoggedSpan> = []
  const logger = Logger.make(({ annotations, message }) => {
    const [, name] = /^span (.*)$/.exec(String(message)) ?? []
    const annotation = (key: string) => Option.getOrUndefined(HashMap.get(annotations, key))
    if (name !== undefined)
      spans.push({ name, id: annotation("spanId"), parentId: annotation("parentId"), outcome: annotation("outcome") })
  })
  return { spans, logger }
}
