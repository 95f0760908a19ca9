import { Effect, Layer } from "effect"
import { makeReadDropBacklog } from "../drops/DropBacklog.sql.ts"
import { makeReadImportBacklog } from "../imports/ImportBacklog.sql.ts"
import { makeReadJobBacklog } from "../jobs/JobBacklog.sql.ts"
import { makeReadPublishBacklog } from "../publishing/PublishBacklog.sql.ts"
import { Backlog } from "../telemetry/Backlog.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { makeReadWebhookBacklog } from "../webhooks/WebhookBacklog.sql.ts"

/** The gauges of work that waits in the database: publishes, drops, imports, jobs and webhooks of all processes, and of all accounts whose node answers. */
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
