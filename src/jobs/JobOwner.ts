import { Context, Effect } from "effect"
import type { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import type { Job } from "./Job.ts"
import type { JobCommand } from "./Jobs.ts"

/**
 * The feature that carries out the jobs of `ownedKinds`. `follow` runs in the transaction of a command, before the job's row is locked:
 * it lets the command take effect on the feature's own rows. ValidationFailed: the command is refused.
 */
export class JobOwner extends Context.Reference<JobOwner>()("catalog/JobOwner", {
  defaultValue: () => ({
    follow: (_command: JobCommand, _accountId: AccountId, _job: Job): Effect.Effect<void, ValidationFailed> =>
      Effect.void
  })
}) {}
