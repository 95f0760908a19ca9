import { Effect } from "effect"
import { Users } from "../access/Users.ts"
import { Transaction } from "../database/Transaction.ts"
import { Demo } from "./Demo.ts"

/** Creates another demo account with a user. Separate from Demo, because users exist only in a database. */
export const makeDemoWithUser = Effect.map(Effect.all([Demo, Users, Transaction]), ([demo, users, transaction]) =>
  Effect.gen(function* () {
    const created = yield* demo.create
    // Each demo has an address of its own, which nobody else's mail goes to.
    const email = `demo-${created.account.id.slice(0, 8)}@catalog.example`
    return { ...created, invitation: yield* Effect.orDie(users.invite(created.account.id, email)) }
  }).pipe(transaction.run)
)
