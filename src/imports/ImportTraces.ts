import type { AccountId, ImportId } from "../model/Ids.ts"
import { traceWork } from "../telemetry/Tracing.ts"

/** Gives a part of an import a trace of its own, if it is sampled. `answer`: the store is read after a file was imported into it. */
export const traceImport = (part: "reading" | "comparison" | "batch" | "answer", accountId: AccountId, id: ImportId) =>
  traceWork(`import ${part}`, { "catalog.account_id": accountId, "catalog.import_id": id })
