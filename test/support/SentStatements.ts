import { Effect } from "effect"
import { WatchedClient } from "../../src/database/WatchedClient.ts"

/** Calls `see` with the client and the text of each statement that this process sends, until the scope closes. */
export const watchStatements = (see: (client: WatchedClient, text: string) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { query } = WatchedClient.prototype
      // biome-ignore lint/suspicious/noExplicitAny: query has several overloads, and all pass.
      WatchedClient.prototype.query = function (this: WatchedClient, ...args: ReadonlyArray<any>): any {
        see(this, typeof args[0] === "string" ? args[0] : args[0].text)
        return query.apply(this, args as never)
      }
      return query
    }),
    (query) =>
      Effect.sync(() => {
        WatchedClient.prototype.query = query
      })
  )

/** The texts of all statements that this process sends during `work`. */
export const statementsDuring = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const texts: Array<string> = []
    return watchStatements((_, text) => texts.push(text)).pipe(
      Effect.zipRight(work),
      Effect.map((answer) => ({ answer, texts })),
      Effect.scoped
    )
  })
