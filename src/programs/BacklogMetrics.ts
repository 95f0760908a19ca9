import { Effect, Layer } from "effect"
import { makeReadDropBacklog } from "../drops/DropBacklog.sql.ts"
import { makeReadImportBacklog } from "../imports/ImportBacklog.sql.ts"
import { makeReadJobBacklog } from "../jobs/JobBacklog.sql.ts"
import { makeReadPublishBacklog } from "../publishing/PublishBacklog.sql.ts"
import { Backlog } from "../telemetry/Backlog.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { makeReadWebhookBacklog } from "../webhooks/WebhookBacklog.sql.ts"

/**
 * The gauges of work that waits in the database, for all processes together: publishes, drops, imports, jobs and webhooks. Accounts on a
 * node that does not answer are left out.
 */
export const layer = Layer.unwrapEffect(
  Effect.map(
    Effect.all([
      makeReadPublishBacklog,
      makeReadDropBacklog,
      makeReadImportBacklog,
      makeReadJobBacklog,
      makeReadWebhookBacklog
    ]),
    (reads) =>
      Backlog.layer(Effect.all(reads, { discard: true }), (isRead) => metrics.backlogRead.of().add(isRead ? 1 : 0))
  )
)
