import { Effect, Option, type Scope } from "effect"
import type { AccountId } from "../model/Ids.ts"
import type { FindVersions } from "./AccountVersions.sql.ts"
import { makeCoalesced } from "./Coalesced.ts"

/** The part of a credential that the look-up needs. */
interface OfAccount {
  readonly accountId: AccountId
  readonly accountVersion: number | null
}

interface CredentialLookUp<Credential extends OfAccount> {
  /** None: no valid credential has this hash. */
  readonly find: (hash: string) => Effect.Effect<Option.Option<Credential>>
  /** The version of a credential's account, no older than the credential. None: the account is gone. */
  readonly versionOf: (credential: OfAccount) => Effect.Effect<Option.Option<number>>
}

/**
 * Looks up credentials by their hashes in shared runs. On a cluster, the version of the account is read only for requests that need it,
 * in runs that only the accounts of one node share: a node that does not answer delays no other accounts.
 */
export const makeCredentialLookUp = <Credential extends OfAccount>({
  findCredentials,
  findVersions
}: {
  readonly findCredentials: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Credential>>
  readonly findVersions: FindVersions | undefined
}): Effect.Effect<CredentialLookUp<Credential>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const find = yield* makeCoalesced(findCredentials)
    if (findVersions === undefined)
      return { find, versionOf: ({ accountVersion }) => Effect.succeed(Option.fromNullable(accountVersion)) }
    const findVersion = yield* makeCoalesced(findVersions.find, findVersions)
    return { find, versionOf: ({ accountId }) => findVersion(accountId) }
  })
