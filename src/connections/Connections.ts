import { Context, Effect, FiberSet, Layer, Option } from "effect"
import { makeCoalesced } from "../access/Coalesced.ts"
import { isOfKind } from "../access/OpaqueToken.ts"
import { hashOf } from "../access/Secrets.ts"
import { Transaction } from "../database/Transaction.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, ConnectionId } from "../model/Ids.ts"
import type { Connection, ConnectionCredential } from "./Connection.ts"
import { ConnectionsRepo } from "./ConnectionsRepo.ts"

/** What agents were granted: the merchant sees each, and ends it at any moment. */
export class Connections extends Context.Tag("catalog/Connections")<
  Connections,
  {
    /**
     * The bearer of an access token that was issued for this resource (`{base}/mcp`); none when it is malformed, no access
     * token, unknown, expired, for another resource, or when its connection has ended or its user is disabled. One query,
     * which began after the question: what ended before is seen in every process.
     */
    readonly authenticate: (token: string, resource: string) => Effect.Effect<Option.Option<ConnectionCredential>>
    /** Ended ones too, newest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Connection>>
    /** Its tokens open nothing from now on. NotFound: the account has no such connection. Twice is fine. */
    readonly disconnect: (accountId: AccountId, id: ConnectionId) => Effect.Effect<void, NotFound>
    /** Disconnects every connection of the account, and what was consented to and is on its way; how many had not been. */
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
      // One write a connection and minute from this process, however many calls come before the first one is through.
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
