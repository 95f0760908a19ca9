import { RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { Job } from "../jobs/Job.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { anyAccountRpc } from "./AccountRpc.ts"

const aboutJob = { id: Schema.String }

/** Jobs of accounts that are being deleted are shown too. NotFound: the account has no such job. */
export const JobRpcs = RpcGroup.make(
  /** The newest 100, newest first. */
  anyAccountRpc("listJobs", {}, { success: Schema.Array(Job) }),
  anyAccountRpc("showJob", aboutJob, { success: Job, error: NotFound }),
  /** ValidationFailed: the command is not allowed in the job's state. */
  anyAccountRpc(
    "commandJob",
    { ...aboutJob, command: Schema.Literal("pause", "resume", "cancel") },
    { success: Job, error: Schema.Union(NotFound, ValidationFailed) }
  ),
  /**
   * Runs the job in this process until it has ended or is paused. Other workers may run at the same time. Streams the
   * job about twice a second.
   */
  anyAccountRpc("followJob", aboutJob, { success: Job, error: NotFound, stream: true })
)
