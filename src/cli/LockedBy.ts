import { Effect, type Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { holderOf, whyLocked } from "../imports/Import.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { Refused } from "./Output.ts"

/** The refusal that names the import that locks the account. The lock may have ended by now. */
export const lockedBy = (account: Option.Option<string>) =>
  Effect.flatMap(
    Effect.flatMap(AdminClient, (client) => client.listImports({ account })),
    (runs) => {
      const holder = holderOf(runs)
      const why = holder === undefined ? "an import had locked the account: try again" : whyLocked(holder)
      return new Refused({ message: `Nothing was written: ${why}`, code: errorCode.PimLocked })
    }
  )
