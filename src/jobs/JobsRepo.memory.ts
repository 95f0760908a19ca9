import { randomUUID } from "node:crypto"
import { Clock, type Context, Effect, Layer, Option, Ref } from "effect"
import type { MemorySlices, MemoryState } from "../database/MemoryStore.memory.ts"
import { type MemoryAccount, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId, JobId } from "../model/Ids.ts"
import { fromMillis } from "../model/Timestamp.ts"
import {
  automaticKinds,
  isForgotten,
  isListed,
  isOpen,
  type Job,
  type JobClaim,
  maxJobItems,
  ownedKinds
} from "./Job.ts"
import { JobsRepo } from "./JobsRepo.ts"
import { makeJobTurns } from "./JobTurns.ts"

interface MemoryJob {
  readonly job: Job
  readonly subject: string | null
  readonly input: unknown
  readonly cursor: unknown
  readonly actor: Actor
  /** Milliseconds. */
  readonly dueAt: number
  readonly claim: string | null
  readonly attempts: number
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** In the order of their creation. */
    readonly jobs: ReadonlyMap<JobId, MemoryJob>
  }
}

export const emptyJobs: Pick<MemorySlices, "jobs"> = { jobs: new Map() }

/** Copies a value through JSON, as a database would. */
const asStoredJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

type Repo = Context.Tag.Service<JobsRepo>

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerJobsRepoMemory = Layer.effect(
  JobsRepo,
  Effect.map(MemoryStore, (store) => ({ ...makeRows(store), ...makeLeases(store) }))
)

const now = Clock.currentTimeMillis

const makeAccess = (store: Ref.Ref<MemoryState>) => {
  const jobsOf = (accountId: AccountId) =>
    Effect.map(Ref.get(store), (state) => [...(state.get(accountId)?.jobs.values() ?? [])])
  const found = (accountId: AccountId, id: JobId) =>
    Effect.map(jobsOf(accountId), (all) => all.find(({ job }) => job.id === id))
  const put = (accountId: AccountId, changed: MemoryJob) =>
    updateAccount(store, accountId, (account) => ({
      ...account,
      jobs: new Map(account.jobs).set(changed.job.id, changed)
    }))
  return { jobsOf, found, put }
}

const isAutomatic = ({ job }: MemoryJob) => automaticKinds.includes(job.kind)

const makeLeases = (
  store: Ref.Ref<MemoryState>
): Pick<Repo, "claim" | "claimOwned" | "fail" | "lockClaimed" | "release" | "save"> => {
  const turns = makeJobTurns()
  const { found, put } = makeAccess(store)

  /** Changes a job that is still claimed. */
  const change = (claimed: JobClaim, to: (before: MemoryJob, millis: number) => MemoryJob) =>
    Effect.gen(function* () {
      const before = yield* found(claimed.accountId, claimed.id)
      if (before !== undefined && before.claim === claimed.claim) yield* put(claimed.accountId, to(before, yield* now))
    })

  const take = (account: MemoryAccount, due: MemoryJob, millis: number, leaseSeconds: number) =>
    Effect.gen(function* () {
      const claim = randomUUID()
      const attempts = due.attempts + 1
      const started_at = due.job.started_at ?? fromMillis(millis)
      const job: Job = { ...due.job, state: "running", started_at }
      yield* put(account.id, { ...due, job, claim, attempts, dueAt: millis + leaseSeconds * 1_000 })
      return { accountId: account.id, id: job.id, kind: job.kind, claim, attempts, actor: due.actor }
    })

  return {
    claim: (only, leaseSeconds) =>
      Effect.gen(function* () {
        const millis = yield* now
        const latest = turns.latest()
        const due = [...(yield* Ref.get(store)).values()]
          .flatMap((account) => [...account.jobs.values()].map((each) => ({ account, each })))
          .filter(
            ({ account, each: { dueAt, job } }) =>
              (job.state === "queued" || job.state === "running") &&
              dueAt <= millis &&
              !ownedKinds.includes(job.kind) &&
              (only === null || (only.accountId === account.id && only.id === job.id))
          )
          .sort(
            (left, right) =>
              Number(isAutomatic(left.each)) - Number(isAutomatic(right.each)) ||
              (latest[left.account.id] ?? 0) - (latest[right.account.id] ?? 0) ||
              left.each.dueAt - right.each.dueAt
          )
        const [first] = due
        if (first === undefined) {
          if (only === null) turns.forget()
          return Option.none()
        }
        if (only === null) turns.add(first.account.id)
        return Option.some(yield* take(first.account, first.each, millis, leaseSeconds))
      }),
    claimOwned: ({ accountId, claim, id }) =>
      Effect.gen(function* () {
        const each = yield* found(accountId, id)
        if (each === undefined || !ownedKinds.includes(each.job.kind)) return false
        if (each.job.state !== "queued" && each.job.state !== "running") return false
        const started_at = each.job.started_at ?? fromMillis(yield* now)
        yield* put(accountId, { ...each, claim, job: { ...each.job, state: "running", started_at } })
        return true
      }),
    lockClaimed: ({ accountId, claim, id }) =>
      Effect.map(found(accountId, id), (each) =>
        each?.claim === claim ? Option.some({ input: each.input, cursor: each.cursor }) : Option.none()
      ),
    save: (claimed, { counts, cursor, deleted = [], done, errors, total }, leaseSeconds) =>
      change(claimed, (before, millis) => ({
        ...before,
        cursor: asStoredJson(cursor),
        attempts: 0,
        claim: cursor === null ? null : before.claim,
        dueAt: millis + leaseSeconds * 1_000,
        job: {
          ...before.job,
          state: cursor === null ? "done" : "running",
          done: total === undefined ? before.job.done + done : done,
          total: total ?? before.job.total,
          waiting_for: null,
          waits_for_platform: false,
          result: {
            ...before.job.result,
            ...Object.fromEntries(
              Object.entries(counts).map(([name, count]) => [name, count + (before.job.result[name] ?? 0)])
            )
          },
          errors: [...before.job.errors, ...errors].slice(0, maxJobItems),
          deleted: [...before.job.deleted, ...deleted].slice(0, maxJobItems),
          error_count: before.job.error_count + errors.length,
          ended_at: cursor === null ? fromMillis(millis) : null
        }
      })),
    release: (claimed, { delaySeconds, isAttempt, isForPlatform = false, waitingFor }) =>
      change(claimed, (before, millis) => ({
        ...before,
        claim: null,
        attempts: isAttempt ? before.attempts : 0,
        dueAt: millis + delaySeconds * 1_000,
        job: { ...before.job, state: "queued", waiting_for: waitingFor, waits_for_platform: isForPlatform }
      })),
    fail: (claimed, problem) =>
      change(claimed, (before, millis) => ({
        ...before,
        claim: null,
        job: {
          ...before.job,
          state: "failed",
          problem,
          waiting_for: null,
          waits_for_platform: false,
          ended_at: fromMillis(millis)
        }
      }))
  }
}

const newestFirst = (left: Job, right: Job) =>
  left.created_at < right.created_at ? 1 : left.created_at > right.created_at ? -1 : 0

const makeRows = (
  store: Ref.Ref<MemoryState>
): Pick<Repo, "accountsWithout" | "find" | "forget" | "insert" | "list" | "move" | "newestOn" | "openOn"> => {
  const { found, jobsOf, put } = makeAccess(store)
  return {
    insert: (accountId, { actor, author, id, input, kind, subject, title, total }) =>
      Effect.gen(function* () {
        const all = yield* jobsOf(accountId)
        if (all.some((other) => other.job.id === id)) return false
        if (subject !== null && all.some((other) => other.subject === subject && isOpen(other.job))) return false
        const millis = yield* now
        yield* put(accountId, {
          subject,
          input: asStoredJson(input),
          cursor: null,
          actor,
          dueAt: millis,
          claim: null,
          attempts: 0,
          job: {
            id,
            kind,
            title,
            state: "queued",
            done: 0,
            total,
            result: {},
            errors: [],
            error_count: 0,
            deleted: [],
            problem: null,
            waiting_for: null,
            waits_for_platform: false,
            author,
            created_at: fromMillis(millis),
            started_at: null,
            ended_at: null
          }
        })
        return true
      }),
    accountsWithout: (subject, after, limit) =>
      Effect.map(Ref.get(store), (state) => {
        const next = [...state.values()]
          .filter(({ deletingSince, id }) => deletingSince === null && id > after)
          .sort((left, right) => (left.id < right.id ? -1 : 1))
          .slice(0, limit)
        const isWithout = ({ jobs }: MemoryAccount) =>
          ![...jobs.values()].some(({ job, subject: own }) => own === subject && isOpen(job))
        return {
          accounts: next.filter(isWithout).map(({ id }) => id),
          last: next.length < limit ? null : (next.at(-1)?.id ?? null)
        }
      }),
    find: (accountId, id) =>
      Effect.map(found(accountId, id), (each) => Option.map(Option.fromNullable(each), ({ job }) => job)),
    openOn: (accountId, subject) =>
      Effect.map(jobsOf(accountId), (all) =>
        Option.map(
          Option.fromNullable(all.find((each) => each.subject === subject && isOpen(each.job))),
          ({ job }) => job
        )
      ),
    newestOn: (accountId, subject, kinds) =>
      Effect.map(jobsOf(accountId), (all) =>
        Option.fromNullable(
          all
            .filter((each) => each.subject === subject)
            .map(({ job }) => job)
            .filter(({ kind }) => kinds.includes(kind))
            .sort(newestFirst)[0]
        )
      ),
    list: (accountId, limit) =>
      Effect.map(jobsOf(accountId), (all) =>
        all
          .map(({ job }) => job)
          .filter(isListed)
          .sort(newestFirst)
          .slice(0, limit)
      ),
    move: (accountId, id, from, to) =>
      Effect.gen(function* () {
        const each = yield* found(accountId, id)
        if (each === undefined || !from.includes(each.job.state)) return false
        const isTaken = (yield* jobsOf(accountId)).some(
          (other) => other.subject === each.subject && other.job.id !== id && isOpen(other.job)
        )
        if (to === "queued" && each.subject !== null && isTaken) return false
        const millis = yield* now
        if (to === "queued" && isForgotten(each.job, millis)) return false
        yield* put(accountId, {
          ...each,
          claim: null,
          attempts: 0,
          dueAt: millis,
          job: {
            ...each.job,
            state: to,
            problem: null,
            waiting_for: null,
            waits_for_platform: false,
            ended_at: to === "cancelled" ? fromMillis(millis) : null
          }
        })
        return true
      }),
    forget: Effect.gen(function* () {
      const millis = yield* now
      let count = 0
      for (const account of (yield* Ref.get(store)).values()) {
        const remaining = [...account.jobs].filter(([, { job }]) => !isForgotten(job, millis))
        count += account.jobs.size - remaining.length
        yield* updateAccount(store, account.id, (each) => ({ ...each, jobs: new Map(remaining) }))
      }
      return count
    })
  }
}
