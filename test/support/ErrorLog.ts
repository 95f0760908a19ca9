import { Cause, HashMap, Logger, LogLevel } from "effect"

/** Records logged errors and warnings with the request id of each. */
export const errorLog = () => {
  const entries: Array<{ readonly level: LogLevel.LogLevel; readonly requestId: unknown; readonly text: string }> = []
  return {
    layer: Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, cause, logLevel, message }) => {
        if (LogLevel.lessThan(logLevel, LogLevel.Warning)) return
        const [, requestId] = [...HashMap.toEntries(annotations)].find(([key]) => key === "requestId") ?? []
        entries.push({ level: logLevel, requestId, text: `${String(message)}\n${Cause.pretty(cause)}` })
      })
    ),
    /** The texts of errors (or of another level) that were logged under a request id. */
    of: (requestId: unknown, level: LogLevel.LogLevel = LogLevel.Error): ReadonlyArray<string> =>
      entries.filter((entry) => entry.requestId === requestId && entry.level === level).map(({ text }) => text)
  }
}

/** Records the texts of logged warnings and errors. */
export const warningLog = () => {
  const warnings: Array<string> = []
  return {
    warnings,
    layer: Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ logLevel, message }) => {
        if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) warnings.push(String(message))
      })
    )
  }
}
