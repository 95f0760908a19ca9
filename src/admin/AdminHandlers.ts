import { Effect, Layer } from "effect"
import * as Migrations from "../database/Migrations.ts"
import { AccountHandlers } from "./AccountHandlers.ts"
import { HelloRpcs } from "./AdminRpcs.ts"
import { BulkHandlers } from "./BulkHandlers.ts"
import { layerChosenAccounts } from "./ChosenAccount.ts"
import { ConnectionHandlers } from "./ConnectionHandlers.ts"
import { DefinitionHandlers } from "./DefinitionHandlers.ts"
import { DraftHandlers } from "./DraftHandlers.ts"
import { DropHandlers } from "./DropHandlers.ts"
import { ExportHandlers } from "./ExportHandlers.ts"
import { HealthHandlers } from "./HealthHandlers.ts"
import { ImportHandlers } from "./ImportHandlers.ts"
import { JobHandlers } from "./JobHandlers.ts"
import { KeyHandlers } from "./KeyHandlers.ts"
import { PlatformHandlers } from "./PlatformHandlers.ts"
import { PublishHandlers } from "./PublishHandlers.ts"
import { SecretHandlers } from "./SecretHandlers.ts"
import { StoreHandlers } from "./StoreHandlers.ts"
import { UserHandlers } from "./UserHandlers.ts"
import { WebhookHandlers } from "./WebhookHandlers.ts"

/** Reports all migrations, because the services start only after the database is migrated. */
const HelloHandlers = HelloRpcs.toLayer({
  hello: () => Effect.sync(() => ({ pid: process.pid, migrations: Migrations.names }))
})

/** Handlers of all commands in `AdminRpcs`, and their middleware. */
export const AdminHandlers = Layer.mergeAll(
  layerChosenAccounts,
  HelloHandlers,
  AccountHandlers,
  KeyHandlers,
  UserHandlers,
  StoreHandlers,
  PlatformHandlers,
  ImportHandlers,
  DraftHandlers,
  BulkHandlers,
  DropHandlers,
  PublishHandlers,
  ConnectionHandlers,
  DefinitionHandlers,
  HealthHandlers,
  JobHandlers,
  ExportHandlers,
  SecretHandlers,
  WebhookHandlers
)
