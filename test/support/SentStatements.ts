import { Effect } from "effect"
import { WatchedClient } from "../../src/database/WatchedClient.ts"

/** The texts of all statements that this process sends during `work`. */
export const statementsDuring = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const { query } = WatchedClient.prototype
      const texts: Array<string> = []
      // biome-ignore lint/suspicious/noExplicitAny: query has several overloads, and all pass.
      WatchedClient.prototype.query = function (this: WatchedClient, ...args: ReadonlyArray<any>): any {
        texts.push(typeof args[0] === "string" ? args[0] : args[0].text)
        return query.apply(this, args as never)
      }
      return { query, texts }
    }),
    ({ texts }) => Effect.map(work, (answer) => ({ answer, texts })),
    ({ query }) =>
      Effect.sync(() => {
        WatchedClient.prototype.query = query
      })
  )
