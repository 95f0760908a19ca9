import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { whyLocked } from "../imports/Import.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { Refused } from "./Output.ts"

/** The refusal that names the import that locks the account. The lock may have ended by now. */
export const lockedBy = (account: Option.Option<string>) =>
  Effect.flatMap(
    Effect.flatMap(AdminClient, (client) => client.findLockingImport({ account })),
    (holder) => {
      const why = Option.match(holder, {
        onNone: () => "an import had locked the account: try again",
        onSome: whyLocked
      })
      return new Refused({ message: `Nothing was written: ${why}`, code: errorCode.PimLocked })
    }
  )
