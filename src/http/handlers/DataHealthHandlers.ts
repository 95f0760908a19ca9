import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"
import { sent } from "../Sent.ts"

export const DataHealthHandlers = HttpApiBuilder.group(RestApi, "dataHealth", (handlers) =>
  Effect.map(Programs, (programs) =>
    handlers
      .handle("getDataHealth", (request) => sent(programs.getDataHealth(request)))
      .handle("runDataHealthScan", (request) => sent(programs.runDataHealthScan(request)))
      .handle("listDataHealthIssues", programs.listDataHealthIssues)
      .handle("fillCompletenessGaps", programs.fillCompletenessGaps)
      .handle("reconcileValueDivergence", programs.reconcileValueDivergence)
      .handle("deleteUnused", programs.deleteUnused)
  )
)
