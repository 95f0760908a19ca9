import { Array as Arr, Context, Effect, FiberSet, Layer, Option } from "effect"
import { makeCoalesced } from "../access/Coalesced.ts"
import { isOfKind } from "../access/OpaqueToken.ts"
import { hashOf } from "../access/Secrets.ts"
import { Transaction } from "../database/Transaction.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, ConnectionId } from "../model/Ids.ts"
import type { Connection, ConnectionCredential } from "./Connection.ts"
import { ConnectionsRepo } from "./ConnectionsRepo.ts"

/** Connections of agents: authenticates access tokens, and lists and ends connections for merchants. */
export class Connections extends Context.Tag("catalog/Connections")<
  Connections,
  {
    /**
     * The bearer of an access token for this resource (`{base}/mcp`). None: the token is malformed, unknown, expired or for
     * another resource, or its connection has ended, or its user is disabled. Every call queries the database and starts no
     * earlier than the call, so a connection that ended before it is refused in every process.
     */
    readonly authenticate: (token: string, resource: string) => Effect.Effect<Option.Option<ConnectionCredential>>
    /** All connections, also ended ones, newest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Connection>>
    /** One connection. NotFound: the account has no such connection. */
    readonly find: (accountId: AccountId, id: ConnectionId) => Effect.Effect<Connection, NotFound>
    /** Ends a connection. Its tokens are refused from now on. Ending it twice succeeds. */
    readonly disconnect: (accountId: AccountId, id: ConnectionId) => Effect.Effect<void, NotFound>
    /** Ends all connections of the account, and codes that are not redeemed yet. Returns the number of ended connections. */
    readonly disconnectAll: (accountId: AccountId) => Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.scoped(
    Connections,
    Effect.gen(function* () {
      const connections = yield* ConnectionsRepo
      const transaction = yield* Transaction
      const findCredential = yield* makeCoalesced(connections.findCredentials)
      const inBackground = yield* FiberSet.makeRuntime<never>()
      // Connections whose use is being recorded: concurrent calls record it once.
      const recording = new Set<ConnectionId>()

      const recordUse = ({ accountId, connectionId, useUnrecorded }: ConnectionCredential) =>
        Effect.sync(() => {
          if (!useUnrecorded || recording.has(connectionId)) return
          recording.add(connectionId)
          inBackground(
            connections.recordUse(accountId, connectionId).pipe(
              Effect.catchAllCause((cause) =>
                Effect.logWarning("The last use of a connection could not be recorded", cause)
              ),
              Effect.ensuring(Effect.sync(() => recording.delete(connectionId)))
            )
          )
        })

      return {
        authenticate: (token, resource) =>
          isOfKind("access", token)
            ? findCredential(hashOf(token)).pipe(
                Effect.map(Option.filter((credential) => credential.resource === resource)),
                Effect.tap(Option.match({ onNone: () => Effect.void, onSome: recordUse }))
              )
            : Effect.succeedNone,
        list: connections.list,
        find: (accountId, id) =>
          Effect.flatMap(connections.list(accountId), (all) =>
            Effect.mapError(
              Arr.findFirst(all, (each) => each.id === id),
              () => new NotFound()
            )
          ),
        disconnect: Effect.fn("Connections.disconnect")(function* (accountId, id) {
          if (!(yield* connections.end(accountId, id, "disconnected"))) return yield* new NotFound()
        }),
        disconnectAll: Effect.fn("Connections.disconnectAll")((accountId: AccountId) =>
          transaction.run(
            Effect.zipRight(connections.withdrawCodes(accountId), connections.endAll(accountId, "disconnected"))
          )
        )
      }
    })
  )
}
