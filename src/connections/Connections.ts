import { Array as Arr, Context, Effect, FiberSet, Layer, Option } from "effect"
import { makeCredentialLookUp } from "../access/CredentialLookUp.ts"
import { isOfKind } from "../access/OpaqueToken.ts"
import { hashOf } from "../access/Secrets.ts"
import { Transaction } from "../database/Transaction.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, ConnectionId } from "../model/Ids.ts"
import type { ConnectionCredential } from "./Connection.ts"
import { ConnectionsRepo } from "./ConnectionsRepo.ts"

const make = Effect.gen(function* () {
  const connections = yield* ConnectionsRepo
  const transaction = yield* Transaction
  const { find: findCredential, versionOf } = yield* makeCredentialLookUp(connections)
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
    /**
     * The bearer of an access token for this resource (`{base}/mcp`). None: the token is malformed, unknown, expired or for
     * another resource, or its connection has ended, or its user is disabled. Every call queries the database and starts no
     * earlier than the call, so a connection that ended before it is refused in every process.
     */
    authenticate: (token: string, resource: string) =>
      isOfKind("access", token)
        ? findCredential(hashOf(token)).pipe(
            Effect.map(Option.filter((credential) => credential.resource === resource)),
            Effect.tap(Option.match({ onNone: () => Effect.void, onSome: recordUse }))
          )
        : Effect.succeedNone,
    versionOf,
    /** All connections, also ended ones, newest first. */
    list: connections.list,
    /** One connection. NotFound: the account has no such connection. */
    find: (accountId: AccountId, id: ConnectionId) =>
      Effect.flatMap(connections.list(accountId), (all) =>
        Effect.mapError(
          Arr.findFirst(all, (each) => each.id === id),
          () => new NotFound()
        )
      ),
    /** Ends a connection. Its tokens are refused from now on. Ending it twice succeeds. */
    disconnect: Effect.fn("Connections.disconnect")(function* (accountId: AccountId, id: ConnectionId) {
      if (!(yield* connections.end(accountId, id, "disconnected"))) return yield* new NotFound()
    }),
    /** Ends all connections of the account, and codes that are not redeemed yet. Returns the number of ended connections. */
    disconnectAll: Effect.fn("Connections.disconnectAll")((accountId: AccountId) =>
      transaction.run(
        Effect.zipRight(connections.withdrawCodes(accountId), connections.endAll(accountId, "disconnected"))
      )
    )
  }
})

/** Connections of agents: authenticates access tokens, and lists and ends connections for merchants. */
export class Connections extends Context.Tag("catalog/Connections")<Connections, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.scoped(Connections, make)
}
