import { Context, Data, Effect, Schedule } from "effect"
import type pg from "pg"
import { WatchedClient, type WatchedConfig } from "./WatchedClient.ts"

/** The connection that listens is lost, or cannot be opened. */
export class ListeningLost extends Data.TaggedError("ListeningLost")<{ readonly reason: string }> {}

/**
 * Listens to a channel until it is interrupted. `onNotification` is called with the payload of each notification,
 * `onListening` runs when notifications of later commits arrive.
 */
export type Listen = (
  channel: string,
  onNotification: (payload: string) => void,
  onListening: Effect.Effect<void>
) => Effect.Effect<never, ListeningLost>

/** Receives NOTIFY messages. Undefined: the database cannot be listened to, because a pooler gives each transaction another connection. */
export class Notifications extends Context.Tag("catalog/Notifications")<Notifications, Listen | undefined>() {}

/** Interval and deadline of a statement that finds out whether the connection still works. */
const probe = { interval: "15 seconds", deadlineMillis: 5_000 } as const

const toListeningLost = (reason: unknown) =>
  new ListeningLost({ reason: reason instanceof Error ? reason.message : String(reason) })

/** Listens on a connection of its own, outside all pools. */
export const listenOnServer =
  (config: WatchedConfig): Listen =>
  (channel, onNotification, onListening) =>
    Effect.acquireUseRelease(
      Effect.sync(() => new WatchedClient(config)),
      (client) => {
        const ended = Effect.async<never, ListeningLost>((resume) => {
          client.once("error", (error) => resume(Effect.fail(toListeningLost(error))))
          client.once("end", () => resume(Effect.fail(toListeningLost("the server closed the connection"))))
        })
        client.deadlineMillis = probe.deadlineMillis
        client.on("notification", ({ payload = "" }) => onNotification(payload))
        const query = (text: string) => Effect.tryPromise({ try: () => client.query(text), catch: toListeningLost })
        return Effect.tryPromise({ try: () => client.connect(), catch: toListeningLost }).pipe(
          Effect.zipRight(query(`LISTEN ${channel}`)),
          Effect.zipRight(onListening),
          Effect.zipRight(Effect.repeat(query("SELECT 1"), Schedule.spaced(probe.interval))),
          Effect.zipRight(Effect.never),
          Effect.raceFirst(ended)
        )
      },
      (client) =>
        Effect.sync(() => {
          // A broken connection reports its error once more while it is closed; without a listener it would end the process.
          client.on("error", () => {})
          void client.end().catch(() => {})
        })
    )

/** Listens on the one connection of the embedded engine. If the pool replaces it, the new one listens too. */
export const listenOnPool =
  (pool: pg.Pool): Listen =>
  (channel, onNotification, onListening) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const listening = new WeakSet<pg.PoolClient>()
        const listenOn = (client: pg.PoolClient) => {
          if (listening.has(client)) return
          listening.add(client)
          client.on("notification", ({ payload = "" }) => onNotification(payload))
          client.query(`LISTEN ${channel}`, () => {})
        }
        pool.on("connect", listenOn)
        return listenOn
      }),
      (listenOn) =>
        Effect.tryPromise({
          try: async () => {
            const client = await pool.connect()
            listenOn(client)
            // Statements of a connection run in order, so LISTEN has taken effect when this one is answered.
            await client.query("SELECT 1").finally(() => client.release())
          },
          catch: toListeningLost
        }).pipe(Effect.zipRight(onListening), Effect.zipRight(Effect.never)),
      (listenOn) => Effect.sync(() => pool.off("connect", listenOn))
    )
