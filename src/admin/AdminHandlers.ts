import { SqlClient } from "@effect/sql"
import { Effect, Layer } from "effect"
import * as Migrations from "../database/Migrations.ts"
import { AccessHandlers } from "./AccessHandlers.ts"
import { HelloRpcs } from "./AdminRpcs.ts"
import { layerChosenAccounts } from "./ChosenAccount.ts"
import { ConnectionHandlers } from "./ConnectionHandlers.ts"
import { DraftHandlers } from "./DraftHandlers.ts"
import { ExportHandlers } from "./ExportHandlers.ts"
import { HealthHandlers } from "./HealthHandlers.ts"
import { ImportHandlers } from "./ImportHandlers.ts"
import { JobHandlers } from "./JobHandlers.ts"
import { PublishHandlers } from "./PublishHandlers.ts"
import { StoreHandlers } from "./StoreHandlers.ts"
import { WebhookHandlers } from "./WebhookHandlers.ts"

/** Reports the migrations of the database: a newer version may have run others than this process has. */
const HelloHandlers = HelloRpcs.toLayer(
  Effect.map(SqlClient.SqlClient, (sql) => ({
    hello: () =>
      Migrations.applied.pipe(
        Effect.map((migrations) => ({ pid: process.pid, migrations })),
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.orDie
      )
  }))
)

/** Handlers of all commands in `AdminRpcs`, and their middleware. */
export const AdminHandlers = Layer.mergeAll(
  layerChosenAccounts,
  HelloHandlers,
  AccessHandlers,
  StoreHandlers,
  ImportHandlers,
  DraftHandlers,
  PublishHandlers,
  ConnectionHandlers,
  HealthHandlers,
  JobHandlers,
  ExportHandlers,
  WebhookHandlers
)
