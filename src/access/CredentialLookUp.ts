import { Effect, Option, type Scope } from "effect"
import type { AccountId } from "../model/Ids.ts"
import type { FindVersions } from "./AccountVersions.sql.ts"
import { makeCoalesced } from "./Coalesced.ts"

/**
 * Looks up credentials by their hashes in shared runs. On a cluster, the version of the account is read afterwards, in runs that only
 * the accounts of one node share: a node that does not answer delays no other accounts.
 */
export const makeCredentialLookUp = <Credential extends { readonly accountId: AccountId }>({
  findCredentials,
  findVersions
}: {
  readonly findCredentials: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Credential>>
  readonly findVersions: FindVersions | undefined
}): Effect.Effect<(hash: string) => Effect.Effect<Option.Option<Credential>>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const findCredential = yield* makeCoalesced(findCredentials)
    if (findVersions === undefined) return findCredential
    const findVersion = yield* makeCoalesced(findVersions.find, findVersions)
    return (hash) =>
      Effect.flatMap(
        findCredential(hash),
        Option.match({
          onNone: () => Effect.succeedNone,
          onSome: (credential) =>
            Effect.map(
              findVersion(credential.accountId),
              Option.map((accountVersion) => ({ ...credential, accountVersion }))
            )
        })
      )
  })
