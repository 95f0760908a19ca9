import { Effect } from "effect"
import pg from "pg"

/** Pause between two writes. */
const pauseMillis = 250

/**
 * Writes a row to a server repeatedly until the scope ends, without the service. So a test can tell a machine that is too slow from a
 * fault of the service. Returns the longest write, in milliseconds, that ended after a moment or has not ended.
 */
export const directWrites = (connectionString: string) =>
  Effect.gen(function* () {
    const writes: Array<{ readonly endedAt: number; readonly millis: number }> = []
    let begunAt: number | undefined
    const write = Effect.acquireUseRelease(
      Effect.promise(async () => {
        const client = new pg.Client({ connectionString })
        client.on("error", () => {})
        await client.connect()
        return client
      }),
      (client) =>
        Effect.gen(function* () {
          yield* Effect.promise(() => client.query("CREATE TABLE IF NOT EXISTS direct_write (at timestamptz)"))
          while (true) {
            const begun = performance.now()
            begunAt = begun
            yield* Effect.promise(() => client.query("INSERT INTO direct_write VALUES (now())"))
            begunAt = undefined
            const endedAt = performance.now()
            writes.push({ endedAt, millis: endedAt - begun })
            yield* Effect.sleep(pauseMillis)
          }
        }),
      (client) => Effect.promise(() => client.end().catch(() => {}))
    )
    // While the server is down, it is tried again.
    yield* Effect.forkScoped(
      write.pipe(
        Effect.catchAllCause(() => {
          begunAt = undefined
          return Effect.sleep(pauseMillis)
        }),
        Effect.forever
      )
    )
    return (moment: number) =>
      Math.max(
        0,
        begunAt === undefined ? 0 : performance.now() - begunAt,
        ...writes.filter(({ endedAt }) => endedAt >= moment).map(({ millis }) => millis)
      )
  })
