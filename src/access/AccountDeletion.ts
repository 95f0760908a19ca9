import { Context, Effect, Layer, Option, Schema } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import type { Job } from "../jobs/Job.ts"
import { anyKind } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { AccessRepo } from "./AccessRepo.ts"
import { AccountDeletionRepo } from "./AccountDeletionRepo.ts"

const make = Effect.gen(function* () {
  const access = yield* AccessRepo
  const importLock = yield* ImportLockRepo
  const jobs = yield* Jobs
  const repo = yield* AccountDeletionRepo
  const transaction = yield* Transaction

  return {
    /**
     * Starts to delete the actor's account. From now on, its keys, sessions and connections are refused, nothing is
     * published and no drop starts. A job deletes all rows. One record stays, with the account's id and name, the times
     * and the author.
     *
     * After a deletion that failed, it begins another job.
     *
     * `name`: the name of the account, as a confirmation. NotFound: no such account. ValidationFailed: `name` is wrong,
     * or a job deletes the account already. PimLocked: an import locks the account.
     */
    begin: Effect.fn("AccountDeletion.begin")(function* (name: string) {
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
          // Locks the jobs before the import lock, in the same order as a step of a job.
          // If an account is marked but has no open job, an earlier job failed; this job continues its work.
          if (!(yield* repo.begin(accountId))) {
            const open = Option.getOrUndefined(yield* jobs.openOn(accountId))
            if (open !== undefined) return yield* ValidationFailed.at("id", whyDeletedAlready(accountId, open))
          }
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

/** Deletes accounts. */
export class AccountDeletion extends Context.Tag("catalog/AccountDeletion")<
  AccountDeletion,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(AccountDeletion, make)
}

const whyDeletedAlready = (accountId: AccountId, { id, state }: Job): string =>
  `the account is being deleted already, and the job is ${state}: \`catalog jobs ${
    state === "paused" ? "resume" : "show"
  } ${id} --account ${accountId}\``

/** The table from which the next step deletes rows. */
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
        // If a newer version has removed the table, start with the first one again; tables without rows take little
        // time.
        const at = Math.max(0, tables.indexOf(cursor?.table ?? ""))
        let done = 0
        const again = (before: number) =>
          ({ _tag: "Progress", cursor: { table: tables[0] ?? "" }, done: before }) as const
        for (const table of tables.slice(at)) {
          const deleted = yield* repo.deleteSome(accountId, table, size - done)
          // A write that was running when the deletion started has added rows to an earlier table since.
          if (Option.isNone(deleted)) return again(done)
          done += deleted.value
          if (done >= size) return { _tag: "Progress", cursor: { table }, done } as const
        }
        if (done > 0) return { _tag: "Progress", cursor: { table: tables.at(-1) ?? "" }, done } as const
        // A write that was running when the deletion started may have left rows in an earlier table.
        yield* importLock.takeDuringImport(accountId)
        const job = yield* jobs.find(accountId, id)
        const by = Option.match(job, {
          onNone: () => ({ kind: "cli" as const, id: null, name: null }),
          onSome: ({ author }) => author
        })
        return (yield* repo.finish(accountId, by)) ? ({ _tag: "Deleted" } as const) : again(0)
      })
  })

  return [deletion]
})
