import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { account, Refusal } from "./Refusal.ts"

const aboutJob = { account, id: Schema.String }

/** Jobs of accounts that are being deleted are shown too. NotFound: the account has no such job. */
export const JobRpcs = RpcGroup.make(
  /** The newest 100, newest first. */
  Rpc.make("listJobs", { payload: { account }, success: Schema.Array(Job), error: Refusal }),
  Rpc.make("showJob", { payload: aboutJob, success: Job, error: Schema.Union(Refusal, NotFound) }),
  /** ValidationFailed: the command is not allowed in the job's state. */
  Rpc.make("commandJob", {
    payload: { ...aboutJob, command: Schema.Literal("pause", "resume", "cancel") },
    success: Job,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  }),
  /**
   * Runs the job in this process until it has ended or is paused. Other workers may run at the same time. Streams the
   * job about twice a second.
   */
  Rpc.make("followJob", {
    payload: aboutJob,
    success: Job,
    error: Schema.Union(Refusal, NotFound),
    stream: true
  })
)
