import { RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { SetAside, Webhook, WebhookTest } from "../webhooks/Webhook.ts"
import { accountRpc } from "./AccountRpc.ts"

const aboutWebhook = { id: Schema.String }

/** A webhook and its secret, which is sent in plain text, because only the owner of the process can read the socket. */
const WebhookSecret = Schema.Struct({ webhook: Webhook, secret: Schema.Redacted(Schema.String) })

/** NotFound: the account has no such webhook. */
export const WebhookRpcs = RpcGroup.make(
  /** `topics`: types of changes; none: all. ValidationFailed: see `Webhooks.create`. */
  accountRpc(
    "createWebhook",
    { url: Schema.String, topics: Schema.Array(Schema.String) },
    { success: WebhookSecret, error: ValidationFailed }
  ),
  /** Oldest first. */
  accountRpc("listWebhooks", {}, { success: Schema.Array(Webhook) }),
  /** A webhook and the first 100 of its changes that wait or are parked. */
  accountRpc("showWebhook", aboutWebhook, {
    success: Schema.Struct({ webhook: Webhook, setAside: Schema.Array(SetAside) }),
    error: NotFound
  }),
  accountRpc("testWebhook", aboutWebhook, { success: WebhookTest, error: NotFound }),
  /** `from`: see `Webhooks.replay`. */
  accountRpc(
    "replayWebhook",
    { ...aboutWebhook, from: Schema.optional(Schema.String) },
    { success: Webhook, error: Schema.Union(NotFound, ValidationFailed) }
  ),
  accountRpc("rotateWebhook", aboutWebhook, {
    success: WebhookSecret,
    error: Schema.Union(NotFound, ValidationFailed)
  }),
  accountRpc("deleteWebhook", aboutWebhook, { error: NotFound })
)
