import { Effect } from "effect"
import { Users } from "../access/Users.ts"
import { Transaction } from "../database/Transaction.ts"
import { Demo } from "./Demo.ts"

/** Creates a demo account with a user. It is separate from Demo, because users exist only in a database and not in memory. */
export const makeDemoWithUser = Effect.map(Effect.all([Demo, Users, Transaction]), ([demo, users, transaction]) =>
  Effect.gen(function* () {
    const created = yield* demo.create
    // Each demo has an email address of its own, to which no mail of other people goes.
    const email = `demo-${created.account.id.slice(0, 8)}@catalog.example`
    return { ...created, invitation: yield* Effect.orDie(users.invite(created.account.id, email)) }
  }).pipe(transaction.run)
)
