import { Rpc, RpcGroup } from "@effect/rpc"
import { Schema } from "effect"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { SetAside, Webhook, WebhookTest } from "../webhooks/Webhook.ts"
import { account, Refusal } from "./Refusal.ts"

const aboutWebhook = { account, id: Schema.String }

/** A webhook and its secret, which is sent in plain text, because only the owner of the process can read the socket. */
const WebhookSecret = Schema.Struct({ webhook: Webhook, secret: Schema.Redacted(Schema.String) })

/** NotFound: the account has no such webhook. */
export const WebhookRpcs = RpcGroup.make(
  /** `topics`: types of changes; none: all. ValidationFailed: see `Webhooks.create`. */
  Rpc.make("createWebhook", {
    payload: { account, url: Schema.String, topics: Schema.Array(Schema.String) },
    success: WebhookSecret,
    error: Schema.Union(Refusal, ValidationFailed)
  }),
  /** Oldest first. */
  Rpc.make("listWebhooks", { payload: { account }, success: Schema.Array(Webhook), error: Refusal }),
  /** A webhook and the first 100 of its changes that wait or are parked. */
  Rpc.make("showWebhook", {
    payload: aboutWebhook,
    success: Schema.Struct({ webhook: Webhook, setAside: Schema.Array(SetAside) }),
    error: Schema.Union(Refusal, NotFound)
  }),
  Rpc.make("testWebhook", { payload: aboutWebhook, success: WebhookTest, error: Schema.Union(Refusal, NotFound) }),
  /** `from`: see `Webhooks.replay`. */
  Rpc.make("replayWebhook", {
    payload: { ...aboutWebhook, from: Schema.optional(Schema.String) },
    success: Webhook,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  }),
  Rpc.make("rotateWebhook", {
    payload: aboutWebhook,
    success: WebhookSecret,
    error: Schema.Union(Refusal, NotFound, ValidationFailed)
  }),
  Rpc.make("deleteWebhook", { payload: aboutWebhook, error: Schema.Union(Refusal, NotFound) })
)
