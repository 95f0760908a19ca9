import { Cause, HashMap, Logger, LogLevel } from "effect"

/** Records logged errors with the request id of each. */
export const errorLog = () => {
  const entries: Array<{ readonly requestId: unknown; readonly text: string }> = []
  return {
    layer: Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, cause, logLevel, message }) => {
        if (LogLevel.lessThan(logLevel, LogLevel.Error)) return
        const [, requestId] = [...HashMap.toEntries(annotations)].find(([key]) => key === "requestId") ?? []
        entries.push({ requestId, text: `${String(message)}\n${Cause.pretty(cause)}` })
      })
    ),
    /** The texts that were logged under a request id. */
    of: (requestId: unknown): ReadonlyArray<string> =>
      entries.filter((entry) => entry.requestId === requestId).map(({ text }) => text)
  }
}
