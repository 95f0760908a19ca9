import { Context, Effect, Layer, Option, Schema } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import type { Job } from "../jobs/Job.ts"
import { anyKind } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { AccessRepo } from "./AccessRepo.ts"
import { AccountDeletionRepo } from "./AccountDeletionRepo.ts"

/** Deletes accounts. */
export class AccountDeletion extends Context.Tag("catalog/AccountDeletion")<
  AccountDeletion,
  {
    /**
     * Begins to delete the actor's account. From now on its keys, sessions and connections are refused, nothing is published and
     * no drop starts. A job deletes all rows; what stays is one record with id, name, times and author.
     *
     * `name`: the name of the account, which confirms the deletion. NotFound: no such account. ValidationFailed: another name, or
     * the account is being deleted already. PimLocked: an import is under review or being applied.
     */
    readonly begin: (name: string) => Effect.Effect<Job, NotFound | ValidationFailed | PimLocked, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    AccountDeletion,
    Effect.gen(function* () {
      const access = yield* AccessRepo
      const importLock = yield* ImportLockRepo
      const jobs = yield* Jobs
      const repo = yield* AccountDeletionRepo
      const transaction = yield* Transaction

      return {
        begin: Effect.fn("AccountDeletion.begin")(function* (name) {
          const { accountId } = yield* CurrentActor
          const account = (yield* access.accounts).find(({ id }) => id === accountId)
          if (account === undefined) return yield* new NotFound()
          if (account.name !== name.trim())
            return yield* ValidationFailed.at(
              "name",
              `is not the name of the account, which is ${JSON.stringify(account.name)}`
            )
          return yield* transaction.run(
            Effect.gen(function* () {
              // First the jobs, then the import lock: a step of a job locks them in this order.
              if (!(yield* repo.begin(accountId)))
                return yield* ValidationFailed.at("id", "the account is being deleted already: see `catalog jobs list`")
              if (Option.isSome(yield* importLock.take(accountId))) return yield* new PimLocked()
              return yield* jobs.begin({
                kind: "account_deletion",
                title: `Delete the account ${account.name}`,
                subject: accountId,
                input: {},
                total: null
              })
            })
          )
        })
      }
    })
  )
}

/** The table that the next step deletes from. */
const Cursor = Schema.Struct({ table: Schema.String })

/** The kind of jobs that delete the rows of an account, in bounded steps, table by table. */
export const makeDeletionKinds = Effect.gen(function* () {
  const importLock = yield* ImportLockRepo
  const jobs = yield* JobsRepo
  const repo = yield* AccountDeletionRepo

  const deletion = anyKind({
    name: "account_deletion",
    input: Schema.Struct({}),
    cursor: Cursor,
    sizes: { first: 500, max: 10_000 },
    step: ({ accountId, cursor, id, size }) =>
      Effect.gen(function* () {
        const tables = yield* repo.tables
        // A table that a newer version removed: begin again, which costs little.
        const at = Math.max(0, tables.indexOf(cursor?.table ?? ""))
        let done = 0
        for (const table of tables.slice(at)) {
          done += yield* repo.deleteSome(accountId, table, size - done)
          if (done >= size) return { _tag: "Progress", cursor: { table }, done } as const
        }
        if (done > 0) return { _tag: "Progress", cursor: { table: tables.at(-1) ?? "" }, done } as const
        // A write that was under way when the deletion began can have left rows in an earlier table.
        yield* importLock.take(accountId)
        const job = yield* jobs.find(accountId, id)
        const by = Option.match(job, {
          onNone: () => ({ kind: "cli" as const, id: null, name: null }),
          onSome: ({ author }) => author
        })
        return (yield* repo.finish(accountId, by))
          ? ({ _tag: "Deleted" } as const)
          : ({ _tag: "Progress", cursor: { table: tables[0] ?? "" }, done: 0 } as const)
      })
  })

  return [deletion]
})
