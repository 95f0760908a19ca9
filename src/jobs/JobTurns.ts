import type { AccountId } from "../model/Ids.ts"

/** Accounts whose last turn is remembered. An older turn counts as none. */
const maxAccounts = 200

/**
 * The accounts to whose jobs this process gave the last turns. So accounts take turns, however many jobs each of them has. Each process
 * remembers its own turns only.
 */
export interface JobTurns {
  /** The turn of each account, from 1 on. The account of the newest turn has the greatest. */
  readonly latest: () => Readonly<Record<AccountId, number>>
  readonly add: (accountId: AccountId) => void
  /** For a moment at which no job is due, so nobody waits for a turn. */
  readonly forget: () => void
}

export const makeJobTurns = (): JobTurns => {
  let accounts: ReadonlyArray<AccountId> = []
  return {
    latest: () => Object.fromEntries(accounts.map((accountId, index) => [accountId, index + 1])),
    add: (accountId) => {
      accounts = [...accounts.filter((other) => other !== accountId), accountId].slice(-maxAccounts)
    },
    forget: () => {
      accounts = []
    }
  }
}
