import type { AccountId } from "../model/Ids.ts"

/** Accounts whose last turn is remembered. An older turn counts as none. */
const maxAccounts = 200

/** The accounts whose jobs this process ran last, so that accounts take turns, however many jobs each has. Not shared between processes. */
interface JobTurns {
  /** The turn of each account, from 1 on. The account of the newest turn has the greatest. */
  readonly latest: () => Readonly<Record<AccountId, number>>
  readonly add: (accountId: AccountId) => void
  /** Forgets all turns. For when no job is due: then no account waits for a turn. */
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
